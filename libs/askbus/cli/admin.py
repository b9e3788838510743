"""`askbus admin …`: the operator's hand on workspaces, projects, people and tokens, straight on the database.

What a command makes is printed alone on standard output, so that scripts can use it. Sign-in links and tokens are secrets for
the terminal: they are printed once, and neither stored nor logged.
"""

from typing import TYPE_CHECKING

import click

from askbus.access.model import TOKEN_SCOPES, Role, Scope
from askbus.cli.database import WORKSPACE, on_the_database
from askbus.cli.deployment import password_address, public_url, sign_in_link
from askbus.cli.webhooks import webhook
from askbus.cli.workspace import workspace

if TYPE_CHECKING:
    from uuid import UUID

    from askbus.db.pool import Connection


@click.group
def admin() -> None:
    """Workspaces, projects, people and tokens, by name or id.

    ASKBUS_DATABASE_URL names the administrator's database; without it, that of the `askbus up` on the --data directory is used.
    """


admin.add_command(webhook)
admin.add_command(workspace)


@admin.group
def project() -> None:
    """The units of access inside a workspace."""


@project.command("create")
@click.argument("name")
@WORKSPACE
@on_the_database
async def create_project(db: "Connection", name: str, workspace: str) -> None:
    """Make a project and print its id."""
    from askbus.access import directory, verbs

    click.echo(await verbs.create_project(db, await directory.find_workspace(db, workspace), name))


@project.command("add")
@click.argument("project")
@click.argument("email")
@WORKSPACE
@on_the_database
async def add_to_project(db: "Connection", project: str, email: str, workspace: str) -> None:
    """Let a member or viewer see a project. Owners and admins see all."""
    from askbus.access import directory, verbs

    workspace_id = await directory.find_workspace(db, workspace)
    project_id = await directory.find_project(db, workspace_id, project)
    await verbs.add_to_project(db, workspace_id, project_id, await directory.find_user(db, email))


@project.command("remove")
@click.argument("project")
@click.argument("email")
@WORKSPACE
@on_the_database
async def remove_from_project(db: "Connection", project: str, email: str, workspace: str) -> None:
    """Take a project away from a member or viewer."""
    from askbus.access import directory, verbs

    workspace_id = await directory.find_workspace(db, workspace)
    project_id = await directory.find_project(db, workspace_id, project)
    await verbs.remove_from_project(db, workspace_id, project_id, await directory.find_user(db, email))


@admin.group
def user() -> None:
    """People."""


@user.command("create")
@click.argument("email")
@click.argument("name")
@on_the_database
async def create_user(db: "Connection", email: str, name: str) -> None:
    """Make a person, or find the one with this address, and print their id. They see nothing until they are a member."""
    from askbus.access import verbs

    click.echo(await verbs.create_user(db, email, name))


@user.command("unlink")
@click.argument("email")
@on_the_database
async def unlink_user(db: "Connection", email: str) -> None:
    """Take back who a person is at issuers elsewhere; their next sign-in there links anew, by their verified address."""
    from askbus.access import directory, identities

    count = await identities.remove_identities(db, await directory.find_user(db, email))
    click.echo(f"{count} {'identity' if count == 1 else 'identities'} unlinked.")


@admin.group
def member() -> None:
    """Who belongs to a workspace, and as what."""


@member.command("set")
@click.argument("workspace")
@click.argument("email")
@click.argument("role", type=click.Choice([role.value for role in Role]))
@click.option("--demo", is_flag=True, help="They see everything of their projects and change nothing.")
@on_the_database
async def set_member(db: "Connection", workspace: str, email: str, role: str, demo: bool) -> None:
    """Make somebody a member of a workspace, or change what they are there."""
    from askbus.access import directory, verbs

    workspace_id = await directory.find_workspace(db, workspace)
    await verbs.set_member(db, workspace_id, await directory.find_user(db, email), Role(role), demo=demo)


@member.command("remove")
@click.argument("workspace")
@click.argument("email")
@on_the_database
async def remove_member(db: "Connection", workspace: str, email: str) -> None:
    """Remove somebody from a workspace; their sessions and tokens there end."""
    from askbus.access import directory, verbs

    await verbs.remove_member(db, await directory.find_workspace(db, workspace), await directory.find_user(db, email))


@admin.command("login-link")
@click.argument("email")
@WORKSPACE
@on_the_database
async def login_link(db: "Connection", email: str, workspace: str) -> None:
    """Print a link that signs a member in, once and within 15 minutes."""
    from askbus.access import directory, verbs

    address = public_url(click.get_current_context().params["data"])
    workspace_id = await directory.find_workspace(db, workspace)
    click.echo(sign_in_link(address, await verbs.create_login_code(db, workspace_id, await directory.find_user(db, email))))


@admin.command("password-link")
@click.argument("email")
@WORKSPACE
@on_the_database
async def password_link(db: "Connection", email: str, workspace: str) -> None:
    """Print a link by which a member sets their password, new or forgotten, once and within 15 minutes."""
    from askbus.access import directory, verbs

    address = public_url(click.get_current_context().params["data"])
    workspace_id = await directory.find_workspace(db, workspace)
    user_id = await directory.find_user(db, email)
    click.echo(password_address(address, await verbs.create_login_code(db, workspace_id, user_id, purpose="password")))


@admin.group
def token() -> None:
    """API tokens of agents."""


@token.command("create")
@click.argument("email")
@WORKSPACE
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(sorted(scope.value for scope in TOKEN_SCOPES)),
    default=[Scope.DATA_READ.value],
    show_default=True,
    help="What it may do; give it once for each.",
)
@click.option("--project", "projects", multiple=True, metavar="NAME", help="Only these projects; all of the member's by default.")
@click.option("--name", default="made at the command line", show_default=True, help="What people see beside its questions.")
@on_the_database
async def create_token(
    db: "Connection", *, email: str, workspace: str, scopes: tuple[str, ...], projects: tuple[str, ...], name: str
) -> None:
    """Make an API token that acts for a member, and print it: this once, it is not stored."""
    from askbus.access import directory, verbs

    workspace_id = await directory.find_workspace(db, workspace)
    secret, _row = await verbs.issue_token(
        db,
        workspace_id,
        await directory.find_user(db, email),
        name=name,
        scopes=[Scope(scope) for scope in scopes],
        projects=[await directory.find_project(db, workspace_id, one) for one in projects] or None,
    )
    click.echo(secret)


@token.command("list")
@WORKSPACE
@on_the_database
async def list_tokens(db: "Connection", workspace: str) -> None:
    """Show every API token of a workspace's members: whose, what it may, where, until when, and when it was used."""
    from askbus.access import directory

    for each in await directory.tokens(db, await directory.find_workspace(db, workspace)):
        where = f"in {', '.join(each.projects)}" if each.projects else "everywhere"
        until = f"until {each.expires_at:%Y-%m-%d}" if each.expires_at else "for ever"
        used = f"used {each.last_used_at:%Y-%m-%d %H:%M}" if each.last_used_at else "never used"
        scopes = ", ".join(scope.value for scope in each.scopes)
        click.echo(f"{each.state}  {each.email}  {each.name}  {each.prefix}…  {each.id}  {scopes}  {where}, {until}, {used}")


@token.command("revoke")
@click.argument("token_id", metavar="ID", type=click.UUID)
@WORKSPACE
@on_the_database
async def revoke_token(db: "Connection", token_id: "UUID", workspace: str) -> None:
    """Revoke an API token by the id that `token list` shows: what uses it is refused from now on, and open streams and connections end."""
    from askbus.access import directory

    await directory.revoke_token(db, await directory.find_workspace(db, workspace), token_id)


@admin.command("time-zone")
@click.argument("whose", metavar="WORKSPACE|EMAIL")
@click.argument("zone", required=False)
@on_the_database
async def set_time_zone(db: "Connection", whose: str, zone: str | None) -> None:
    """Say where somebody is, such as Europe/Berlin, or all of a workspace who do not say; without a zone, take it back."""
    from askbus.access import directory, verbs

    if "@" in whose:
        await verbs.set_user_time_zone(db, await directory.find_user(db, whose), zone)
    else:
        await verbs.set_time_zone(db, await directory.find_workspace(db, whose), zone)


@admin.command("locale")
@click.argument("email")
@click.argument("locale", required=False)
@on_the_database
async def set_locale(db: "Connection", email: str, locale: str | None) -> None:
    """Say in which language values are shown to somebody, such as de or en-GB; without one, the deployment's own choice again."""
    from askbus.access import directory, preferences

    await preferences.set_user_locale(db, await directory.find_user(db, email), locale)


@admin.command("list")
@on_the_database
async def show_directory(db: "Connection") -> None:
    """Show every workspace with its projects and members."""
    from askbus.access import directory

    for team in await directory.directory(db):
        click.echo(f"{team.name}  {team.id}")
        for project in team.projects:
            click.echo(f"  project  {project.name}  {project.id}")
        for member in team.members:
            kind = f"{member.role.value}, demo" if member.demo else member.role.value
            click.echo(f"  {kind}  {member.email}  {member.name}  {member.id}  sees {', '.join(member.projects) or 'nothing'}")


@admin.group
def feed() -> None:
    """The log of changes that streams and services follow."""


@feed.command("new-epoch")
@on_the_database
async def begin_epoch(db: "Connection") -> None:
    """Begin a new lineage of the log: after a restore of the database, before the services start. Clients start over."""
    from askbus.feed.lineage import new_epoch

    click.echo(await new_epoch(db))

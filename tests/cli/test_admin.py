"""`askbus admin`, as an operator runs it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner, Result

from askbus.access import identities, passwords, reads, verbs
from askbus.access.model import Role, Scope
from askbus.cli import main
from askbus.db.pool import Pool, open_pool
from askbus.identity.model import Identity
from askbus.questions.model import Ask, AskQuestion
from askbus.questions.verbs import ask
from askbus.stack.options import Options
from askbus.stack.supervisor import Stack
from askbus.testing.people import Company, found_company
from askbus.testing.servers import Server, TestDatabase

Admin = Callable[..., Awaitable[Result]]


@pytest.fixture
def admin(database: TestDatabase, tmp_path: Path) -> Admin:
    """Runs `askbus admin …` on the test's database."""
    environment = {
        "ASKBUS_DATABASE_URL": database.url,
        "ASKBUS_PUBLIC_URL": "https://askbus.example/",
        "ASKBUS_DATA": str(tmp_path),
    }

    async def run(*arguments: str, **more: str | None) -> Result:
        runner = CliRunner(env={**environment, **more})
        return await asyncio.to_thread(runner.invoke, main, ["admin", *arguments])

    return run


@pytest.fixture
async def pool(database: TestDatabase) -> AsyncIterator[Pool]:
    """The administrator's connections, to look at what the commands did."""
    async with open_pool(database.url, size=2, name="tests") as pool:
        yield pool


async def done(result: Awaitable[Result]) -> str:
    """What a command that succeeds prints."""
    finished = await result
    assert finished.exit_code == 0, finished.output
    return finished.stdout.strip()


@pytest.mark.requirement("I2", "I10")
async def test_a_password_link_and_taking_identities_back(admin: Admin, pool: Pool) -> None:
    """The link's code is in the fragment and sets a password; who somebody is elsewhere is forgotten, and that is in the audit."""
    company = await found_company(pool)
    email = await pool.fetchval("SELECT email FROM users WHERE id = $1", company["mia"].id)
    link = await done(admin("password-link", email, "--workspace", "Nordlicht"))
    assert link.startswith("https://askbus.example/#password=")
    account = await passwords.code(pool, link.partition("#password=")[2])
    assert account.user_id == company["mia"].id
    known = Identity(issuer="https://id.example", subject="1", email=email, name=None)
    assert await identities.person_of(pool, known) == company["mia"].id
    assert await done(admin("user", "unlink", email)) == "1 identity unlinked."
    assert await identities.person_of(pool, known.model_copy(update={"email": None})) is None
    event = "SELECT count(*) FROM audit_log WHERE event = 'identity.removed' AND user_id = $1"
    assert await pool.fetchval(event, company["mia"].id) == 1


@pytest.mark.requirement("I1", "I2", "I3")
async def test_a_team_is_made_from_nothing_and_its_members_sign_in(admin: Admin, pool: Pool) -> None:
    """Workspace, project, two people, a link for each, a token: everything by name, each command printing what it made."""
    workspace_id = UUID(await done(admin("workspace", "create", "Nordlicht")))
    project_id = UUID(await done(admin("project", "create", "north", "--workspace", "Nordlicht")))
    for email, name, role in (("ada@nord.example", "Ada", "owner"), ("mia@nord.example", "Mia", "member")):
        UUID(await done(admin("user", "create", email, name)))
        await done(admin("member", "set", "Nordlicht", email, role))
    await done(admin("project", "add", "north", "mia@nord.example", "-w", "Nordlicht"))

    link = await done(admin("login-link", "MIA@nord.example", "-w", str(workspace_id)))
    address, _, code = link.partition("/#login=")
    assert address == "https://askbus.example"
    session = await verbs.sign_in(pool, code)
    mia = await reads.principal_of_session(pool, session.cookie)
    assert mia is not None
    assert (mia.role, [project.id for project in await reads.projects_of(pool, mia)]) == (Role.MEMBER, [project_id])

    secret = await done(
        admin("token", "create", "mia@nord.example", "-w", "Nordlicht", "--scope", "questions:ask", "--project", "north")
    )
    agent = await reads.principal_of_token(pool, secret)
    assert agent is not None
    assert agent.scopes == frozenset({Scope.QUESTIONS_ASK})
    assert agent.projects == (project_id,)
    listed = await done(admin("token", "list", "-w", "Nordlicht"))
    assert listed.startswith("active  mia@nord.example  made at the command line  askbus_")
    assert listed.endswith("questions:ask  in north, for ever, used " + listed.rpartition("used ")[2])
    assert secret not in listed

    revoke = ("token", "revoke", str(agent.id), "-w")
    assert await done(admin(*revoke, "Nordlicht")) == ""
    assert await reads.principal_of_token(pool, secret) is None
    assert (await done(admin("token", "list", "-w", "Nordlicht"))).startswith("revoked  ")
    audited = await pool.fetch("SELECT via, user_id FROM audit_log WHERE event = 'token.revoked' AND entity_id = $1", agent.id)
    assert [tuple(row) for row in audited] == [("command-line", None)]


@pytest.mark.requirement("I3")
async def test_a_member_is_changed_and_removed(admin: Admin, pool: Pool) -> None:
    """To a demo member, who may look and not touch; away from a project; away from the workspace, with their tokens."""
    company = await found_company(pool)
    mia = company["mia"]
    named = ("-w", "Nordlicht")
    email = await pool.fetchval("SELECT email FROM users WHERE id = $1", mia.id)
    secret = await done(admin("token", "create", str(mia.id), *named, "--scope", "questions:ask"))

    await done(admin("member", "set", "Nordlicht", email, "member", "--demo"))
    agent = await reads.principal_of_token(pool, secret)
    assert agent is not None
    assert agent.demo
    assert not agent.scopes
    await done(admin("project", "remove", "north", email, *named))
    assert await reads.projects_of(pool, mia.principal) == ()
    await done(admin("member", "remove", "Nordlicht", email))
    assert await reads.principal_of_token(pool, secret) is None


async def test_the_list_shows_who_sees_what(admin: Admin, pool: Pool) -> None:
    """Every workspace, project and member with names and ids."""
    company = await found_company(pool)
    shown = await done(admin("list"))
    assert f"Nordlicht  {company.workspace_id}" in shown
    assert f"  project  south  {company.south}" in shown
    line = next(line for line in shown.splitlines() if str(company["demo"].id) in line)
    assert line.startswith("  member, demo  demo@")
    assert line.endswith("sees north")
    assert next(line for line in shown.splitlines() if str(company["owner"].id) in line).endswith("sees north, south")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("workspace", "create", "Nordlicht"), 1, "a workspace named 'Nordlicht' already"),
        (("workspace", "create", ""), 1, "refused"),
        (("project", "create", "north", "-w", "Nordlicht"), 1, "a project named 'north' already"),
        (("project", "create", "west", "-w", "Nordlich"), 1, "no workspace 'Nordlich'"),
        (("project", "create", "west"), 2, "--workspace"),
        (("user", "create", "nobody", "Nobody"), 1, "not an e-mail address"),
        (("member", "set", "Nordlicht", "who@else.example", "owner"), 1, "askbus admin user create"),
        (("member", "set", "Nordlicht", "{owner}", "viewer"), 1, "last owner"),
        (("member", "set", "Nordlicht", "{mia}", "admin", "--demo"), 1, "A demo user is a member or a viewer"),
        (("member", "set", "Nordlicht", "{mia}", "king"), 2, "'king' is not one of"),
        (("member", "remove", "Nordlicht", "{owner}"), 1, "last owner"),
        (("project", "add", "north", "{stranger}", "-w", "Nordlicht"), 1, "not a member"),
        (("login-link", "{stranger}", "-w", "Nordlicht"), 1, "no such member"),
        (("token", "create", "{mia}", "-w", "Nordlicht", "--scope", "actions:confirm"), 2, "is not one of"),
        (("token", "create", "{mia}", "-w", "Nordlicht", "--project", "south"), 1, "does not see one of the projects"),
        (("token", "create", "{stranger}", "-w", "Nordlicht"), 1, "not a member"),
        (("token", "revoke", "{mia}", "-w", "Nordlicht"), 1, "has no API token"),
    ],
)
async def test_what_cannot_be_done_is_explained(
    admin: Admin, pool: Pool, arguments: tuple[str, ...], code: int, words: str
) -> None:
    """One line that says what is wrong, exit code 1 (or 2 for the command line itself), and nothing changed."""
    company = await found_company(pool)
    people = {name: str(person.id) for name, person in company.people.items()}
    before = await _rows(pool)
    result = await admin(*(argument.format(**people) for argument in arguments))
    assert (result.exit_code, words in result.output, "Traceback" in result.output) == (code, True, False), result.output
    assert await _rows(pool) == before


async def _rows(pool: Pool) -> object:
    tables = ("workspaces", "projects", "users", "memberships", "project_members", "tokens", "login_links")
    return [await pool.fetchval(f"SELECT jsonb_agg(t ORDER BY t::text) FROM {table} t") for table in tables]


async def test_a_stack_on_this_machine_is_found_by_its_data_directory(tmp_path: Path, admin: Admin) -> None:
    """`askbus up` keeps there what the commands need; nothing has to be set."""
    async with Stack(Options(data=tmp_path / "data", services=(), durable=False)):
        made = await done(admin("workspace", "create", "Here", "--data", str(tmp_path / "data"), ASKBUS_DATABASE_URL=None))
        shown = await done(admin("list", "--data", str(tmp_path / "data"), ASKBUS_DATABASE_URL=None))
    assert shown == f"Here  {made}"


async def test_a_database_that_is_not_there_is_said_to_be_so(admin: Admin) -> None:
    """No server, no schema, no address: each with what to do."""
    nowhere = await admin("list", ASKBUS_DATABASE_URL="postgresql://nobody:x@127.0.0.1:9/askbus")
    assert (nowhere.exit_code, "Postgres cannot be reached" in nowhere.output) == (1, True)
    unknown = await admin("list", ASKBUS_DATABASE_URL=None)
    assert (unknown.exit_code, "Set ASKBUS_DATABASE_URL" in unknown.output) == (2, True)


async def test_a_database_without_askbus_is_said_to_be_so(admin: Admin, postgres_server: Server) -> None:
    """The operator learns which command comes first."""
    result = await admin("list", ASKBUS_DATABASE_URL=postgres_server.url)
    assert (result.exit_code, "askbus migrate" in result.output) == (1, True)


async def test_a_new_epoch_begins_a_lineage(admin: Admin, pool: Pool) -> None:
    """After a restore old positions mean nothing: the log is empty, relays start here, and clients will start over."""
    company: Company = await found_company(pool)
    by = company["mia"].principal
    command = AskQuestion(
        command_id=company.north, by=by, question_id=company.north, ask=Ask(project_id=company.north, text="Before?")
    )
    await ask(pool, command, trace=None)
    old = await pool.fetchval("SELECT epoch FROM feed")
    await pool.execute("UPDATE relays SET cursor = '900000:900000:', holder = gen_random_uuid(), lease_until = now()")
    new = await done(admin("feed", "new-epoch"))
    assert new != old
    assert await pool.fetchval("SELECT epoch FROM feed") == new
    assert await pool.fetchval("SELECT count(*) FROM change_log") == 0
    assert await pool.fetchval("SELECT bool_and(holder IS NULL AND cursor <> '900000:900000:') FROM relays")
    assert await pool.fetchval("SELECT state FROM questions") == "open"


@pytest.mark.requirement("C15")
async def test_a_workspace_gets_a_model_of_its_own_and_an_unknown_one_is_refused(admin: Admin, pool: Pool) -> None:
    """By its name in ASKBUS_MODELS; who mistypes it is told what there is."""
    models = '{"claude": {"provider": "anthropic", "model": "m"}}'
    workspace_id = UUID(await done(admin("workspace", "create", "Nordlicht")))

    async def chosen() -> object:
        return await pool.fetchval("SELECT model FROM workspaces WHERE id = $1", workspace_id)

    await done(admin("workspace", "model", "Nordlicht", "claude", ASKBUS_MODELS=models))
    assert await chosen() == "claude"
    refused = await admin("workspace", "model", "Nordlicht", "cluade", ASKBUS_MODELS=models)
    assert refused.exit_code == 1
    assert "known are claude, default" in refused.output
    assert await chosen() == "claude"
    await done(admin("workspace", "model", "Nordlicht"))
    assert await chosen() is None


@pytest.mark.requirement("C23")
async def test_a_workspace_tells_the_model_what_a_file_says(admin: Admin, pool: Pool, tmp_path: Path) -> None:
    """At most 4,000 characters; without a file it tells nothing any more."""
    workspace_id = UUID(await done(admin("workspace", "create", "Nordlicht")))

    async def told() -> object:
        return await pool.fetchval("SELECT instructions FROM workspaces WHERE id = $1", workspace_id)

    file = tmp_path / "instructions.txt"
    file.write_text("Say ships, not boats. Größe in Metern.\n", "utf-8")
    await done(admin("workspace", "instructions", "Nordlicht", str(file)))
    assert await told() == "Say ships, not boats. Größe in Metern."
    file.write_text("x" * 4_001, "utf-8")
    refused = await admin("workspace", "instructions", "Nordlicht", str(file))
    assert (refused.exit_code, "more than 4,000 characters" in refused.output, "xxx" in refused.output) == (1, True, False)
    assert await told() == "Say ships, not boats. Größe in Metern."
    await done(admin("workspace", "instructions", "Nordlicht"))
    assert await told() is None


@pytest.mark.requirement("R3")
async def test_people_have_a_language(admin: Admin, pool: Pool) -> None:
    """One that there is; without one it is the deployment's again."""
    await done(admin("user", "create", "mia@example.org", "Mia"))
    await done(admin("locale", "mia@example.org", "pt-BR"))
    refused = await admin("locale", "mia@example.org", "klingon!")
    assert "'klingon!' is not the name of a language, such as de or en-GB." in refused.output
    assert await pool.fetchval("SELECT locale FROM users") == "pt-BR"
    await done(admin("locale", "mia@example.org"))
    assert await pool.fetchval("SELECT locale FROM users") is None


@pytest.mark.requirement("C23")
async def test_people_and_workspaces_have_a_time_zone(admin: Admin, pool: Pool) -> None:
    """By its IANA name; a name that is none is refused."""
    await done(admin("workspace", "create", "Nordlicht"))
    await done(admin("user", "create", "mia@example.org", "Mia"))
    await done(admin("time-zone", "Nordlicht", "Europe/Berlin"))
    await done(admin("time-zone", "mia@example.org", "Asia/Tokyo"))
    refused = await admin("time-zone", "Nordlicht", "Europe/Atlantis")
    assert (refused.exit_code, "not the name of a time zone" in refused.output) == (1, True)
    assert await pool.fetchval("SELECT time_zone FROM workspaces") == "Europe/Berlin"
    assert await pool.fetchval("SELECT time_zone FROM users") == "Asia/Tokyo"
    await done(admin("time-zone", "mia@example.org"))
    assert await pool.fetchval("SELECT time_zone FROM users") is None

"""Signing in where `askbus up` runs: somebody has to be the owner."""

from askbus.cli.deployment import sign_in_link


async def first_owner(database_url: str, public_url: str) -> str | None:
    """A one-time sign-in link for the first owner; None where there are people and no owner among them.

    The first call makes the owner, with a workspace and a project to begin with. `database_url` is the administrator's. The link
    is for the terminal, never for a log.
    """
    import asyncpg

    from askbus.access import verbs
    from askbus.access.model import Role
    from askbus.db.pool import SETTINGS
    from askbus.db.statements import Statement

    db = await asyncpg.connect(database_url, server_settings=SETTINGS)
    try:
        async with db.transaction():
            first = await Statement("askbus.cli", "sql/first_owner.sql").one(db)
            workspace, user = first["workspace_id"], first["user_id"]
            if first["nobody"]:
                workspace = await verbs.create_workspace(db, "My team")
                await verbs.create_project(db, workspace, "Main")
                user = await verbs.create_user(db, "owner@localhost.example", "Owner")
                await verbs.set_member(db, workspace, user, Role.OWNER)
            elif user is None:
                return None
            code = await verbs.create_login_code(db, workspace, user)
    finally:
        await db.close()
    return sign_in_link(public_url, code)

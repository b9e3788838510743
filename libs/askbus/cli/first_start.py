"""The first start of a deployment: somebody has to be the owner."""


async def sign_in_link(database_url: str, public_url: str) -> str | None:
    """A one-time link for the owner of a deployment that nobody has signed in to yet, else None.

    The first call makes the owner, with a workspace and a project to begin with. `database_url` is the administrator's. The
    link is for the terminal, never for a log.
    """
    import asyncpg

    from askbus.access import verbs
    from askbus.access.model import Role
    from askbus.db.pool import SETTINGS
    from askbus.db.statements import Statement

    db = await asyncpg.connect(database_url, server_settings=SETTINGS)
    try:
        async with db.transaction():
            owner = await Statement("askbus.cli", "sql/first_owner.sql").row(db)
            if owner is not None and owner["signed_in"]:
                return None
            if owner is not None:
                workspace, user = owner["workspace_id"], owner["user_id"]
            else:
                workspace = await verbs.create_workspace(db, "Home")
                await verbs.create_project(db, workspace, "General")
                user = await verbs.create_user(db, "owner@localhost", "Owner")
                await verbs.set_member(db, workspace, user, Role.OWNER)
            code = await verbs.create_login_code(db, workspace, user)
    finally:
        await db.close()
    return f"{public_url}/#login={code}"

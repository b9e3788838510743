"""Who may write which table, read from the tables' own comments and granted to one Postgres role per service.

A comment starts `writer: <service>[, <service>…][; expiry (column, …)].`; `writer: triggers.` and `writer: all, INSERT only.` are the
two exceptions. Every service may read everything but the hashes of credentials, which are the gateway's alone.
"""

import re
from dataclasses import dataclass

import asyncpg

from askbus.bus.envelope import Service
from askbus.db.pool import Connection

_COMMENT = re.compile(
    r"writer: (?P<writers>[a-z, -]+?)(?P<insert_only>, INSERT only)?(?:; expiry \((?P<columns>[a-z_, ]+)\))?\.(?: |$)"
)
HASHED = (
    "sessions", "login_links", "tokens", "frontends", "invitations", "passwords", "sign_in_attempts", "mcp_states",
    "oauth_clients", "oauth_requests", "oauth_codes", "oauth_access_tokens", "oauth_refresh_tokens",
)  # fmt: skip
DELETED_BY_EXPIRY = (
    "change_log", "login_links", "sign_in_attempts", "threads", "attachments", "webhook_deliveries", "rate_limits",
    "mcp_states", "oauth_clients", "oauth_requests", "oauth_access_tokens", "oauth_refresh_tokens",
)  # fmt: skip


@dataclass(frozen=True)
class Writers:
    """What a table's comment says."""

    services: tuple[Service, ...]
    insert_only: bool
    expiry_columns: tuple[str, ...]


def writers_of(table: str, comment: str | None) -> Writers:
    """Parses a table's comment. ValueError where it does not say who writes it."""
    match = _COMMENT.match(comment or "")
    if match is None:
        raise ValueError(f"COMMENT ON TABLE {table} must start with 'writer: <service>.'; it is {comment!r}")
    names = [name.strip() for name in match["writers"].split(",")]
    services: tuple[Service, ...]
    if names == ["triggers"]:
        services = ()
    elif names == ["all"]:
        services = tuple(Service)
    else:
        services = tuple(Service(name) for name in names)
    columns = tuple(column.strip() for column in (match["columns"] or "").split(",") if column.strip())
    return Writers(services, match["insert_only"] is not None, columns)


async def grant(admin: Connection) -> None:
    """Grants every service's role exactly what the comments say, and takes back anything else. Runs in the caller's transaction."""
    roles = ", ".join(service.role for service in Service)
    await admin.execute(
        f"""
        REVOKE ALL ON ALL TABLES IN SCHEMA askbus FROM PUBLIC, {roles};
        REVOKE ALL ON ALL FUNCTIONS IN SCHEMA askbus FROM PUBLIC, {roles};
        GRANT USAGE ON SCHEMA askbus TO {roles};
        GRANT SELECT ON ALL TABLES IN SCHEMA askbus TO {roles};
        """
    )
    for table in await admin.fetch(
        "SELECT relname AS name, obj_description(oid, 'pg_class') AS comment FROM pg_class "
        "WHERE relnamespace = 'askbus'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1"
    ):
        await _grant_table(admin, table["name"], writers_of(table["name"], table["comment"]))
    # Parts of a table are emptied by whoever may delete from it.
    for part in await admin.fetch(
        "SELECT relname AS name FROM pg_class WHERE relnamespace = 'askbus'::regnamespace AND relispartition AND relkind = 'r'"
    ):
        await admin.execute(f"GRANT DELETE, TRUNCATE ON askbus.{part['name']} TO {Service.EXPIRY.role}")
    for name in HASHED:
        await _hide_hash(admin, name)


async def _grant_table(admin: Connection, table: str, writers: Writers) -> None:
    rights = "INSERT" if writers.insert_only else "INSERT, UPDATE, DELETE"
    for service in writers.services:
        await admin.execute(f"GRANT {rights} ON askbus.{table} TO {service.role}")
    if writers.expiry_columns:
        await admin.execute(f"GRANT UPDATE ({', '.join(writers.expiry_columns)}) ON askbus.{table} TO {Service.EXPIRY.role}")
    if table in DELETED_BY_EXPIRY:
        await admin.execute(f"GRANT DELETE ON askbus.{table} TO {Service.EXPIRY.role}")


async def _hide_hash(admin: Connection, table: str) -> None:
    columns = await admin.fetch(
        "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped "
        "AND attname NOT IN ('hash', 'browser_hash', 'bearer')",
        f"askbus.{table}",
    )
    if not columns:
        return  # a database on its way: the migration that makes this table is still to come
    names = ", ".join(column["attname"] for column in columns)
    for service in Service:
        if service is not Service.GATEWAY:
            await admin.execute(
                f"REVOKE SELECT ON askbus.{table} FROM {service.role}; GRANT SELECT ({names}) ON askbus.{table} TO {service.role}"  # noqa: S608
            )


async def provision_roles(admin: Connection, passwords: dict[Service, str]) -> None:
    """Makes the NOLOGIN owner and one login role per service, and sets the services' passwords anew (an advisory lock is the caller's).

    Role names are the cluster's: two deployments in one cluster need one secret, or databases of their own in clusters of their own.
    """
    await _create_role(admin, "askbus_owner NOLOGIN")
    await admin.execute("GRANT askbus_owner TO CURRENT_USER WITH INHERIT TRUE, SET TRUE")
    for service, password in passwords.items():
        await _create_role(admin, f"{service.role} LOGIN")
        quoted = await admin.fetchval("SELECT quote_literal($1::text)", password)
        await admin.execute(f"ALTER ROLE {service.role} PASSWORD {quoted}")


async def _create_role(admin: Connection, definition: str) -> None:
    name = definition.partition(" ")[0]
    if await admin.fetchval("SELECT true FROM pg_roles WHERE rolname = $1", name):
        return
    try:
        async with admin.transaction():
            await admin.execute(f"CREATE ROLE {definition}")
    except (asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
        return  # another database's migration in this cluster made it in the same moment

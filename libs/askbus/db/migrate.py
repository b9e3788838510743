"""Migrations: forward-only numbered SQL files, applied under an advisory lock, each once, in one transaction.

Safe to run twice and from two processes at once: the second waits and finds nothing left to do. What was applied is kept with its
digest: a file that was changed afterwards is refused, since the database would lack what this release takes to be there.
"""

from hashlib import sha256
from importlib.resources import files

import asyncpg

from askbus.bus.envelope import Service
from askbus.db import grants
from askbus.db.pool import SETTINGS, Connection
from askbus.errors import AskbusError
from askbus.runtime.secrets import postgres_password

LOCK = 7236002601
"""Advisory lock of everybody who migrates: a random number, ours alone."""


class MigrationRefused(AskbusError):
    """The database is not one that these migrations may touch; the message says why and what to do."""


def shipped() -> dict[str, str]:
    """The migrations of this release: name to SQL, in the order in which they are applied."""
    folder = files("askbus.db").joinpath("migrations")
    return {
        entry.name: entry.read_text("utf-8")
        for entry in sorted(folder.iterdir(), key=lambda e: e.name)
        if entry.name.endswith(".sql")
    }


async def migrate(database_url: str, secret: str) -> list[str]:
    """Brings the database to this release and returns the names of the migrations that this call applied.

    `database_url` is an administrator's (may create roles and schemas); `secret` is the deployment's, from which the services' passwords
    derive. Raises MigrationRefused where there is no such server or user, for a server older than Postgres 18, and for a database
    that a newer release or another build has migrated.
    """
    admin = await _connect(database_url)
    try:
        if admin.get_server_version().major < 18:
            raise MigrationRefused("askbus's own database needs Postgres 18 or newer.")
        await admin.execute("SELECT pg_advisory_lock($1)", LOCK)
        async with admin.transaction():
            passwords = {service: postgres_password(secret, service) for service in Service}
            await grants.provision_roles(admin, passwords)
            applied = await _apply(admin)
            await grants.grant(admin)
    except asyncpg.InsufficientPrivilegeError as error:
        raise MigrationRefused(f"The user of ASKBUS_DATABASE_URL has to be an administrator: {error}.") from error
    else:
        return applied
    finally:
        await admin.close()


async def _connect(database_url: str) -> Connection:
    try:
        return await asyncpg.connect(database_url, server_settings={**SETTINGS, "application_name": "askbus migrate"}, timeout=10)
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        reason = str(error) or "it does not answer"
        raise MigrationRefused(
            f"askbus's own database cannot be reached: {reason}. Check ASKBUS_DATABASE_URL"
            " (postgresql://user:password@host:5432/askbus), and that the server runs and lets its user in."
        ) from error


async def _apply(admin: Connection) -> list[str]:
    await admin.execute(
        """
        CREATE SCHEMA IF NOT EXISTS askbus AUTHORIZATION askbus_owner;
        SET LOCAL ROLE askbus_owner;
        CREATE TABLE IF NOT EXISTS askbus.migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
        ALTER TABLE askbus.migrations ADD COLUMN IF NOT EXISTS digest text;
        COMMENT ON TABLE askbus.migrations IS 'writer: triggers. Which migrations are in; written by askbus migrate alone.';
        """
    )
    ours = shipped()
    done = {row["name"]: row["digest"] for row in await admin.fetch("SELECT name, digest FROM askbus.migrations")}
    if unknown := sorted(done.keys() - ours.keys()):
        raise MigrationRefused(
            f"This database was migrated by a newer release ({unknown[-1]}). Run that release, or a later one."
        )
    if changed := sorted(name for name, digest in done.items() if digest not in {None, _digest(ours[name])}):
        raise MigrationRefused(
            f"This database was migrated by another build, whose {changed[0]} was not this one's. Run that build, or begin with an"
            " empty database (with `askbus up`: another --data directory)."
        )
    applied = []
    for name, sql in ours.items():
        if name not in done:
            await admin.execute(sql)
            await admin.execute("INSERT INTO askbus.migrations (name, digest) VALUES ($1, $2)", name, _digest(sql))
            applied.append(name)
    await admin.execute("RESET ROLE")
    return applied


def _digest(sql: str) -> str:
    return sha256(sql.encode()).hexdigest()


async def pending(db: Connection) -> list[str]:
    """The migrations that this release needs and the database lacks; a service is not ready until there are none."""
    if not await db.fetchval("SELECT to_regclass('askbus.migrations') IS NOT NULL"):
        return list(shipped())
    done = {row["name"] for row in await db.fetch("SELECT name FROM askbus.migrations")}
    return [name for name in shipped() if name not in done]

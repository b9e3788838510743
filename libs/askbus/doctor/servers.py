"""askbus's own Postgres and NATS."""

import asyncio
import time
from collections.abc import AsyncIterator

import asyncpg
import nats.errors
from nats.js.errors import APIError, NotFoundError

from askbus.bus import connection, provision
from askbus.bus.envelope import Service
from askbus.db.migrate import pending, shipped
from askbus.db.pool import SETTINGS, Connection
from askbus.db.statements import Statement
from askbus.doctor.model import Finding, advice, ok, wrong
from askbus.runtime.secrets import service_database_url, service_nats_url
from askbus.runtime.settings import Settings

POSTGRES, NATS, CLOCK = "postgres", "nats", "clock"
OLDEST = 18
SKEW = 2.0
"""Seconds that clocks may differ: a session's end, an expiry and a link's lifetime are told by the database's."""
PATIENCE = 5.0
_SERVER = Statement("askbus.doctor", "sql/server.sql")


async def postgres(settings: Settings) -> AsyncIterator[Finding]:
    """The server, its clock, the migrations, and whether each service's own role is let in."""
    try:
        db = await asyncpg.connect(settings.database_url, server_settings=SETTINGS, timeout=PATIENCE)
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        reason = str(error) or "it does not answer"
        yield wrong(
            POSTGRES, f"askbus's own database cannot be reached: {reason}.", "Check ASKBUS_DATABASE_URL and that the server runs."
        )
        return
    try:
        async for finding in _server(db, settings):
            yield finding
        yield await _migrations(db)
    finally:
        await db.close()
    if settings.secret is not None:
        yield await _roles(settings, settings.secret.get_secret_value())


async def _server(db: Connection, settings: Settings) -> AsyncIterator[Finding]:
    before = time.time()
    row = await _SERVER.row(db)
    here = (before + time.time()) / 2
    if row is None:
        return
    if row["major"] < OLDEST:
        yield wrong(
            POSTGRES, f"Postgres is {row['version']}; askbus's own database needs {OLDEST} or newer.", "Upgrade the server."
        )
    elif row["standby"]:
        yield wrong(POSTGRES, "This Postgres is a standby, which loses events.", "Let ASKBUS_DATABASE_URL name the primary.")
    else:
        yield ok(POSTGRES, f"Postgres {row['version']} answers.")
    if not row["fsync"]:
        yield advice(
            POSTGRES, "fsync is off: a crash of the machine loses what was said to be stored.", "ALTER SYSTEM SET fsync = on;"
        )
    needed = len(Service) * (settings.pool_size + 1)
    if row["connections"] < needed:
        yield advice(
            POSTGRES,
            f"It takes {row['connections']} connections; one of each service may want {needed}.",
            "Raise max_connections, or lower ASKBUS_POOL_SIZE.",
        )
    skew = row["clock"] - here
    if abs(skew) > SKEW:
        yield wrong(CLOCK, f"Postgres's clock is {skew:+.1f} s off this machine's.", "Let both machines keep time by NTP.")
    else:
        yield ok(CLOCK, f"This machine and Postgres agree on the time to {abs(skew):.1f} s.")


async def _migrations(db: Connection) -> Finding:
    if missing := await pending(db):
        return wrong(POSTGRES, f"{len(missing)} of {len(shipped())} migrations are missing.", "askbus migrate")
    newer = {row["name"] for row in await db.fetch("SELECT name FROM askbus.migrations")} - set(shipped())
    if newer:
        return wrong(POSTGRES, f"A newer release migrated this database ({max(newer)}).", "Run that release, or a later one.")
    return ok(POSTGRES, "All migrations are in.")


async def _roles(settings: Settings, secret: str) -> Finding:
    refused = []
    for service in Service:
        try:
            db = await asyncpg.connect(service_database_url(settings.database_url, service, secret), timeout=PATIENCE)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            refused.append(service.value)
        else:
            await db.close()
    if refused:
        return wrong(
            POSTGRES, f"It does not let in {', '.join(refused)}.", "askbus migrate, with the ASKBUS_SECRET of the services"
        )
    return ok(POSTGRES, "Every service's own role is let in.")


async def bus(settings: Settings) -> AsyncIterator[Finding]:
    """NATS, each service's user there, and the streams and consumers that each uses."""
    reached = False
    drift: dict[str, None] = {}
    for service in Service:
        try:
            async with asyncio.timeout(PATIENCE):
                drift |= dict.fromkeys(await _differences(settings, service))
            reached = True
        except NotFoundError:
            yield wrong(NATS, f"A stream or consumer that {service.value} uses is missing.", "askbus provision")
            return
        except (APIError, ValueError, TimeoutError, OSError, nats.errors.Error) as error:
            reason = str(error) or "it does not answer"
            if reached:
                yield wrong(
                    NATS, f"NATS does not serve {service.value}: {reason}.", "askbus deploy nats-conf prints the users it needs"
                )
            else:
                yield wrong(
                    NATS, f"NATS cannot be reached: {reason}.", "Check ASKBUS_NATS_URL and ASKBUS_SECRET, and that it runs."
                )
            return
    if drift:
        yield wrong(
            NATS, "The streams are not as this release needs them: " + "; ".join(drift) + ".", "askbus provision --update"
        )
    else:
        yield ok(NATS, "NATS serves every service, and its streams are as this release needs them.")


async def _differences(settings: Settings, service: Service) -> list[str]:
    url = settings.nats_url
    if settings.secret is not None:
        url = service_nats_url(url, service.value, settings.secret.get_secret_value())
    nc = await connection.connect(url, service.value)
    try:
        return await provision.drift(nc.jsm(timeout=2), service, settings.ack_wait)
    finally:
        await nc.close()

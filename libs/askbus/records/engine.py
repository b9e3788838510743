"""A team's database: connections to it, its schema kept fresh, and transactions set up for reading and for writing."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from sqlalchemy import URL, false, literal, make_url, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from askbus.access.model import Principal
from askbus.errors import NotFound, PermissionDenied, Unavailable
from askbus.records.catalogue import fingerprint, read_schema, statement
from askbus.records.deny import Policy
from askbus.records.failures import is_passing, is_stale, unavailable
from askbus.records.record_catalogue import BadCatalogue, RecordCatalogue
from askbus.records.schema import Schema
from askbus.records.source import table_of

T = TypeVar("T")

AWAY = "The team's database cannot be reached now; try again."
GRACE = 10.0
"""Seconds beyond a statement's own limit after which a server that says nothing counts as away."""
FRESH_FOR = 2.0
"""Seconds that a read may rely on the schema without looking whether DDL has changed it. Writes always look."""


@dataclass(frozen=True)
class Timeouts:
    """Seconds that a read and a write may take, each statement, and that a write waits for somebody else's lock. `lock` is
    shorter than `write`, so that waiting in vain counts as busy, to be tried again, and not as a refusal."""

    read: float = 10.0
    write: float = 30.0
    lock: float = 10.0


class SchemaMoved(Exception):
    """DDL came in between; the next attempt sees its result."""


class Records:
    """One database of records, for the life of a process. `dispose` closes its connections."""

    def __init__(
        self,
        engine: AsyncEngine,
        policy: Policy,
        timeouts: Timeouts,
        *,
        fresh_for: float = FRESH_FOR,
        role: str | None = None,
        listed: RecordCatalogue | None = None,
    ) -> None:
        self.engine = engine
        self.policy = policy
        self.fresh_for = fresh_for
        self.role = role
        self.listed = listed or RecordCatalogue()
        self.timeouts = timeouts
        self._schema: Schema | None = None
        self._looked = 0.0
        self._lock = asyncio.Lock()

    async def dispose(self) -> None:
        await self.engine.dispose()

    def within(self, project_id: UUID) -> "Records":
        """The records as one project has them: what belongs to others is neither read nor written, and cannot be named."""
        return _OfProject(self, self.listed.project_name(project_id)) if self.listed.divides else self

    async def check(self) -> None:
        """Raises BadCatalogue where the database does not have what the deployment says; Unavailable where it cannot be asked."""
        if problems := self.listed.problems(await self.schema(look=True)):
            raise BadCatalogue("\n".join(problems))

    async def schema(self, connection: AsyncConnection | None = None, *, look: bool = False) -> Schema:
        """The live schema, compared with the catalogue first with `look`, or when that was not done for `fresh_for` seconds.

        Raises Unavailable when the database cannot be reached.
        """
        if not look and self._schema is not None and time.monotonic() - self._looked < self.fresh_for:
            return self._schema
        if connection is not None:
            return await self._look(connection)
        async with self._lock:
            if not look and self._schema is not None and time.monotonic() - self._looked < self.fresh_for:
                return self._schema
            try:
                async with self.reading() as own:
                    return await self._look(own)
            except DBAPIError as error:  # a pooled connection that the server has ended meanwhile, above all
                raise unavailable(error) from error

    async def _look(self, connection: AsyncConnection) -> Schema:
        looked = time.monotonic()
        if self._schema is None or await fingerprint(connection) != self._schema.fingerprint:
            self._schema = await read_schema(connection, self.policy, self.listed)
        self._looked = looked
        return self._schema

    async def held_schema(self, connection: AsyncConnection, names: Iterable[str]) -> Schema:
        """The schema as it is, and as it stays for the named collections until the transaction ends: reading a table keeps DDL
        out. Raises SchemaMoved when it was not what was known; the transaction is then to be started again."""
        known = self._schema or await self._look(connection)
        for name in sorted(set(names) & set(known.collections)):
            await connection.execute(select(literal(1)).select_from(table_of(known.collections[name])).where(false()))
        now = await self._look(connection)
        if now.fingerprint != known.fingerprint:
            raise SchemaMoved
        return now

    def forget_schema(self) -> None:
        """Read it anew next time."""
        self._schema = None

    async def with_schema(self, work: Callable[[Schema], Awaitable[T]]) -> T:
        """`work` on the schema, and once more on a newer one where a name was missing or DDL came in between.

        Raises what `work` raises on the newest schema; Unavailable where the database is away or keeps changing.
        """
        schema = await self.schema()
        try:
            return await work(schema)
        except (NotFound, PermissionDenied):
            newer = await self.schema(look=True)
            if newer.fingerprint == schema.fingerprint:
                raise
        except DBAPIError as error:
            if not (error.connection_invalidated or is_stale(error)):
                raise
            newer = await self.schema(look=True)
        try:
            return await work(newer)
        except DBAPIError as error:
            if error.connection_invalidated or is_stale(error):
                raise unavailable(error) from error
            raise

    @asynccontextmanager
    async def reading(self, principal: Principal | None = None) -> AsyncIterator[AsyncConnection]:
        """A read-only transaction on one snapshot, with a time limit, in which row-level security policies can see who asks:
        `current_setting('askbus.user_id')` and `askbus.workspace_id`."""
        async with self._connection(readonly=True) as connection:
            await self._use_read_settings(connection, principal, self.timeouts.read, 0)
            yield connection

    @asynccontextmanager
    async def writing(self, principal: Principal) -> AsyncIterator[AsyncConnection]:
        """A transaction that commits when the block ends. Values are spelled as in `reading` until `use_write_settings`."""
        async with self._connection(readonly=False) as connection, connection.begin():
            await self._use_read_settings(connection, principal, self.timeouts.write, self.timeouts.lock)
            yield connection

    async def _use_read_settings(
        self, connection: AsyncConnection, principal: Principal | None, timeout: float, lock: float
    ) -> None:
        parameters = {
            "timeout": str(int(timeout * 1000)),
            "lock_timeout": str(int(lock * 1000)),
            "user_id": str(principal.user_id) if principal else "",
            "workspace_id": str(principal.workspace_id) if principal else "",
        }
        await connection.execute(statement("read_settings"), parameters)
        if self.role is not None:
            await self._use_role(connection, self.role)

    @staticmethod
    async def _use_role(connection: AsyncConnection, role: str) -> None:
        try:
            await connection.execute(statement("use_role"), {"role": role})
        except DBAPIError as error:
            if is_passing(error):
                raise
            raise Unavailable(
                f"The team's database does not let askbus act as the role {role}. Whoever runs askbus grants it to its user there, "
                "or corrects ASKBUS_RECORDS_ROLE.",
                {"setting": "ASKBUS_RECORDS_ROLE"},
            ) from error

    @staticmethod
    async def use_write_settings(connection: AsyncConnection) -> None:
        """The session's own time zone and spellings, which the team's defaults, checks and triggers may rely on."""
        await connection.execute(statement("write_settings"))

    @staticmethod
    async def use_one_spelling(connection: AsyncConnection) -> None:
        """Back to the spellings of `reading`, in which values are compared and kept."""
        await connection.execute(statement("one_spelling"))

    @asynccontextmanager
    async def _connection(self, *, readonly: bool) -> AsyncIterator[AsyncConnection]:
        try:
            connection = await self.engine.connect()
        except (DBAPIError, PoolTimeout, OSError) as error:
            raise Unavailable(AWAY) from error
        try:
            level = "REPEATABLE READ" if readonly else "READ COMMITTED"
            yield await connection.execution_options(isolation_level=level, postgresql_readonly=readonly)
        except OSError as error:
            # The way to the server broke or went silent: the driver says so in the operating system's words.
            raise Unavailable(AWAY) from error
        finally:
            await connection.close()


class _OfProject(Records):
    """The same database, connections and schema, seen from one project."""

    def __init__(self, whole: Records, project: str) -> None:
        super().__init__(
            whole.engine, whole.policy, whole.timeouts, fresh_for=whole.fresh_for, role=whole.role, listed=whole.listed
        )
        self._whole, self._project = whole, project

    async def schema(self, connection: AsyncConnection | None = None, *, look: bool = False) -> Schema:
        return (await self._whole.schema(connection, look=look)).within(self._project)

    async def held_schema(self, connection: AsyncConnection, names: Iterable[str]) -> Schema:
        return (await self._whole.held_schema(connection, names)).within(self._project)

    def forget_schema(self) -> None:
        self._whole.forget_schema()


def open_records(
    url: str,
    policy: Policy | None = None,
    *,
    pool_size: int = 8,
    timeouts: Timeouts | None = None,
    role: str | None = None,
    listed: RecordCatalogue | None = None,
) -> Records:
    """The records in the Postgres database at `url` (postgresql://user:password@host/name). Opens no connection yet.

    `listed` is what the deployment says of them. With `role` every transaction has the rights of that role, of which the user in
    `url` is a member, and not its own.
    """
    limits = timeouts or Timeouts()
    engine = create_async_engine(
        driver_url(url),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=30,
        pool_recycle=1800,
        connect_args={
            "timeout": 10,
            "command_timeout": max(limits.read, limits.write) + GRACE,
            "server_settings": {"application_name": "askbus records"},
        },
        hide_parameters=True,
    )
    return Records(engine, policy or Policy(), limits, role=role, listed=listed)


def driver_url(url: str) -> URL:
    """A libpq URL as asyncpg's dialect takes it: the driver named, `sslmode` under its name there."""
    parsed = make_url(url).set(drivername="postgresql+asyncpg")
    mode = parsed.query.get("sslmode")
    return parsed.difference_update_query(["sslmode"]).update_query_dict({"ssl": mode} if mode else {})

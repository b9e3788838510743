"""The team's own database: rights, ledger, what the deployment says of the records, and what would make reads fast."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import asyncpg
from pydantic import ValidationError
from sqlalchemy.exc import DBAPIError

from askbus.db.pool import SETTINGS
from askbus.db.statements import Statement
from askbus.doctor.model import Finding, advice, ok, wrong
from askbus.errors import AskbusError
from askbus.records.catalogue import statement
from askbus.records.engine import Records
from askbus.records.indexes import suggested_indexes
from askbus.records.model import Filter, QueryPlan
from askbus.records.schema import Schema, nearest
from askbus.runtime.settings import Settings, SettingsError
from askbus.runtime.team import team_records

RECORDS, INDEXES = "records", "indexes"
OFTEN = 5
"""Of the latest reads, how many must use a field before an index on it is suggested."""
_RECENT_READS = Statement("askbus.doctor", "sql/recent_reads.sql")


async def team(settings: Settings) -> AsyncIterator[Finding]:
    """Everything about the records, as the services would meet it."""
    if settings.records_url is None:
        yield advice(RECORDS, "No records: nothing can be looked up or changed.", "Set ASKBUS_RECORDS_URL.")
        return
    try:
        records = team_records(settings, settings.records_url)
    except SettingsError as error:
        yield wrong(RECORDS, str(error), "Mend the file that ASKBUS_RECORDS_CATALOGUE names.")
        return
    try:
        async for finding in _reached(settings, records):
            yield finding
    except (AskbusError, DBAPIError) as error:
        says = str(error) if isinstance(error, AskbusError) else f"A question to the records' database failed: {error.orig}."
        yield wrong(RECORDS, says, "Check ASKBUS_RECORDS_URL and ASKBUS_RECORDS_ROLE, and that the server runs.")
    finally:
        await records.dispose()


async def _reached(settings: Settings, records: Records) -> AsyncIterator[Finding]:
    schema = await records.schema(look=True)
    if not schema.collections:
        yield wrong(
            RECORDS, "Nothing in the records' database may be read.", "askbus records prepare prints the rights to grant."
        )
        return
    hidden = sum(column.denied for one in schema.collections.values() for column in one.all_columns)
    writable = sum(not one.read_only for one in schema.collections.values())
    yield ok(
        RECORDS,
        f"{len(schema.collections)} collections can be read, {writable} of them changed; columns on the deny list: {hidden}.",
    )
    async with records.reading() as connection:
        made, usable = (await connection.execute(statement("ledger_rights"))).one()
    if usable:
        yield ok(RECORDS, "The ledger of changes is ready.")
    else:
        says = "The ledger may not be used by askbus's user." if made else "The ledger is missing: nothing can be changed."
        yield wrong(RECORDS, says, "askbus records prepare")
    problems = records.listed.problems(schema)
    for problem in problems:
        yield wrong(RECORDS, f"ASKBUS_RECORDS_CATALOGUE: {problem}.", "Mend the file, or the schema.")
    if records.listed.collections and not problems:
        yield ok(RECORDS, "The record catalogue fits the schema.")
    for problem in unknown_in_policy(records, schema):
        yield wrong(RECORDS, f"ASKBUS_RECORDS_POLICY: {problem}.", "Mend the name: as it is, it protects or frees nothing.")
    async for finding in _indexes(records, schema, await _used(settings)):
        yield finding


def unknown_in_policy(records: Records, schema: Schema) -> Iterator[str]:
    """Names in the deny lists that the database does not have, a sentence each."""
    columns = {column.name for one in schema.collections.values() for column in one.all_columns}
    columns |= {f"{one.name}.{column.name}" for one in schema.collections.values() for column in one.all_columns}
    policy = records.policy
    for what, names, known in (
        ("denied_columns", policy.denied_columns, columns),
        ("readable_columns", policy.readable_columns, columns),
        ("never_written", policy.never_written, set(schema.collections)),
        ("writable_accounts", policy.writable_accounts, set(schema.collections)),
    ):
        for name in sorted(names - known):
            yield f"{what} has {name}, which is not there; there are {', '.join(nearest(name, sorted(known), 3))}"


async def _indexes(records: Records, schema: Schema, used: Mapping[str, Sequence[str]]) -> AsyncIterator[Finding]:
    if schema.abilities.trigrams is not None and not schema.abilities.letters:
        yield advice(
            INDEXES,
            "The database's LC_CTYPE is C, so pg_trgm knows ASCII letters alone: similar names in others are found slowly.",
        )
    lacking = await suggested_indexes(records, used)
    for one in lacking:
        yield advice(INDEXES, f"{one.why}.", *one.statements)
    if not lacking:
        yield ok(INDEXES, "No large table lacks an index for what is asked of it.")


async def _used(settings: Settings) -> dict[str, list[str]]:
    """The fields by which models filter, order and group often, by collection; nothing where askbus's own database is away."""
    try:
        db = await asyncpg.connect(settings.database_url, server_settings=SETTINGS, timeout=10)
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return {}  # told already, with what to do
    try:
        rows = await _RECENT_READS.rows(db)
    except asyncpg.PostgresError:
        return {}  # not migrated: told already
    finally:
        await db.close()
    return often_used([row["arguments"] for row in rows])


def often_used(arguments: Sequence[str], often: int = OFTEN) -> dict[str, list[str]]:
    """By collection, its own fields that at least `often` of these plans filter, order or group by, the most used first."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text in arguments:
        try:
            plan = QueryPlan.model_validate_json(text)
        except ValidationError:
            continue  # what a model got wrong says nothing of what is needed
        names = {one.field for one in plan.order_by} | {one.field for one in plan.group_by}
        names |= {name for part in plan.where for name in _fields(part)}
        counts[plan.collection].update(names)
    return {name: [field for field, count in counted.most_common() if count >= often] for name, counted in counts.items()}


def _fields(part: Filter) -> Iterator[str]:
    if part.field:
        yield part.field
    for inner in (*part.and_, *part.or_, *([part.not_] if part.not_ else [])):
        yield from _fields(inner)

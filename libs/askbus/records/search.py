"""Records by what they are called, in all collections at once: for somebody who does not know yet where something is."""

import time
from collections.abc import Iterable, Sequence

from sqlalchemy.exc import DBAPIError

from askbus.access.model import Principal, Scope
from askbus.errors import InvalidInput
from askbus.records.catalogue import statement
from askbus.records.engine import Records
from askbus.records.failures import TIME_LIMIT, read_failure, sqlstate
from askbus.records.name_search import ALIKE, Search
from askbus.records.names import Candidate, FoundRecord, FoundRecords
from askbus.records.schema import Collection, Schema
from askbus.records.values import Unsuitable, check_text

LONGEST_SEARCH = 4.0
"""Seconds for all collections together."""
LONGEST_LOOK = 1.0
"""Seconds for one of them: where no index helps, a large one is left out and named."""


async def search_names(records: Records, principal: Principal, text: str, limit: int) -> FoundRecords:
    """Up to `limit` records with this name, or one that looks like it, read as `principal`.

    Raises PermissionDenied, InvalidInput, TimedOut, Unavailable.
    """
    principal.require(Scope.DATA_READ)
    try:
        wanted = check_text(text).strip()
    except Unsuitable as error:
        raise InvalidInput(f"query: {error}.", {"field": "query"}) from error

    async def run(schema: Schema) -> FoundRecords:
        return await _search(records, principal, schema, wanted, limit)

    return await records.with_schema(run)


async def _search(records: Records, principal: Principal, schema: Schema, text: str, limit: int) -> FoundRecords:
    ends = time.monotonic() + LONGEST_SEARCH
    same: list[FoundRecord] = []
    alike: list[FoundRecord] = []
    missed: list[str] = []
    for collection in _named(schema.collections.values()):
        left = ends - time.monotonic()
        found = (
            await _look(records, principal, Search(schema, collection, (), text), min(left, LONGEST_LOOK)) if left > 0 else None
        )
        if found is None:
            missed.append(collection.name)
            continue
        same += (_found(collection, one, alike=False) for one in found[0])
        alike += (_found(collection, one, alike=True) for one in found[1])
        if len(same) >= limit:
            break
    return FoundRecords(records=tuple([*same, *alike][:limit]), not_searched=tuple(missed))


def _named(collections: Iterable[Collection]) -> list[Collection]:
    """Those whose records have names."""
    return [collection for collection in collections if collection.key and collection.label]


async def _look(
    records: Records, principal: Principal, search: Search, seconds: float
) -> tuple[Sequence[Candidate], Sequence[Candidate]] | None:
    """The records of one collection that are called so, else those that nearly are; None where there was no time for it."""
    timeout = str(max(1, int(seconds * 1000)))
    try:
        async with records.reading(principal) as connection:
            await connection.execute(statement("near_settings"), {"alike": str(ALIKE), "timeout": timeout})
            [asked] = (await connection.scalars(search.skeletons_of([search.text]))).all()
            exact = search.same([asked])
            rows = [] if exact is None else [tuple(row) for row in (await connection.execute(exact)).all()]
            if rows:
                return [candidate for _, _, candidate in search.ranked(rows)], ()
            near = search.alike(asked)
            return (), () if near is None else search.nearest([tuple(row) for row in (await connection.execute(near)).all()])
    except DBAPIError as error:
        if sqlstate(error) != TIME_LIMIT:
            raise read_failure(error) from error
        return None


def _found(collection: Collection, one: Candidate, *, alike: bool) -> FoundRecord:
    return FoundRecord(collection=collection.name, key=one.key, label=one.label, alike=alike)

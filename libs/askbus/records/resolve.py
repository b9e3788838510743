"""Names to records. One record that is surely meant gives its key; several are a question to the person; it never guesses."""

from collections.abc import Sequence

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from askbus.access.model import Principal, Scope
from askbus.errors import InvalidInput
from askbus.records.catalogue import statement
from askbus.records.engine import Records
from askbus.records.failures import TIME_LIMIT, read_failure, sqlstate
from askbus.records.name_search import ALIKE, MOST_CANDIDATES, MOST_NEAR, READ_ALIKE, SURE, Found, Search
from askbus.records.names import Candidate, Resolution, ResolveRequest, ResolveResult
from askbus.records.schema import Schema
from askbus.records.values import Unsuitable, check_text

PART_FOR_NEAR = 0.25
"""Of a read's time limit, the part that looking for similar names may take: they are a help, and no answer is."""


async def resolve(records: Records, principal: Principal, request: ResolveRequest) -> ResolveResult:
    """Which record `request.text` names, read as `principal`.

    A record whose name is the same character by character is the match if it is the only one. Otherwise a single record that
    differs in case or accents alone is, while nothing else could be taken for it.
    Raises PermissionDenied, NotFound (with the nearest names), InvalidInput, TimedOut, Unavailable.
    """
    principal.require(Scope.DATA_READ)
    try:
        text = check_text(request.text).strip()
    except Unsuitable as error:
        raise InvalidInput(f"text: {error}.", {"field": "text"}) from error

    async def run(schema: Schema) -> ResolveResult:
        search = Search(schema, schema.collection(request.collection), request.fields, text)
        async with records.reading(principal) as connection:
            [asked] = (await connection.scalars(search.skeletons_of([text]))).all()
            found = search.same([asked])
            rows = [] if found is None else [tuple(row) for row in (await connection.execute(found)).all()]
            if rows:
                return settle(request.collection, search.ranked(rows), truncated=len(rows) > MOST_CANDIDATES)
            near = await near_misses(connection, search, asked, records.timeouts.read)
            return ResolveResult(
                outcome=Resolution.NONE,
                collection=request.collection,
                near=near or (),
                note=not_searched(request.collection) if near is None else "",
            )

    try:
        return await records.with_schema(run)
    except DBAPIError as error:
        raise read_failure(error) from error


async def near_misses(connection: AsyncConnection, search: Search, asked: str, limit: float) -> tuple[Candidate, ...] | None:
    """Records whose names look like what was asked; None when they could not be found in time, which ends the transaction.

    Raises DBAPIError.
    """
    looks_alike = search.alike(asked)
    if looks_alike is None:
        return ()
    timeout = str(max(1, int(limit * PART_FOR_NEAR * 1000)))
    await connection.execute(statement("near_settings"), {"alike": str(ALIKE), "timeout": timeout})
    try:
        rows = (await connection.execute(looks_alike)).all()
    except DBAPIError as error:
        if sqlstate(error) != TIME_LIMIT:
            raise
        return None
    return search.nearest([tuple(row) for row in rows])


def not_searched(collection: str) -> str:
    return (
        f"Similar names could not be looked for in time: {collection} is large and no index helps with its names. "
        "`askbus doctor` says which index to make."
    )


def settle(collection: str, found: Sequence[Found], *, truncated: bool) -> ResolveResult:
    """What the records that read like the name come to, those that differ least first."""
    exact = [candidate for rank, _, candidate in found if rank == SURE]
    reads = [candidate for rank, _, candidate in found if rank <= READ_ALIKE]
    everyone = tuple(candidate for _, _, candidate in found)[:MOST_CANDIDATES]
    sure = exact[0] if len(exact) == 1 else reads[0] if len(reads) == len(everyone) == 1 else None
    if sure is not None and not (truncated and not exact):
        others = tuple(candidate for candidate in everyone if candidate is not sure)
        return ResolveResult(
            outcome=Resolution.MATCH,
            collection=collection,
            match=sure,
            near=others[:MOST_NEAR],
            truncated=len(others) > MOST_NEAR,
        )
    if not reads:
        return ResolveResult(outcome=Resolution.NONE, collection=collection, near=everyone, truncated=truncated)
    return ResolveResult(outcome=Resolution.AMBIGUOUS, collection=collection, candidates=everyone, truncated=truncated)

"""Many names to records at once, by the same rule as one: two statements for all of them."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy.exc import DBAPIError

from askbus.access.model import Principal, Scope
from askbus.errors import InvalidInput
from askbus.records.engine import Records
from askbus.records.failures import read_failure
from askbus.records.name_search import MOST_CANDIDATES, Row, Search
from askbus.records.names import NamedRecord, Resolution, ResolvedNames, ResolveNamesRequest, ResolveResult, UnsureName
from askbus.records.resolve import near_misses, not_searched, settle
from askbus.records.schema import Schema
from askbus.records.values import Unsuitable, check_text

MOST_LISTED = 5
"""Candidates of one name that are listed."""
MOST_LOOKED_FOR = 10
"""Names without a record for which names that look alike are searched."""


async def resolve_names(records: Records, principal: Principal, request: ResolveNamesRequest) -> ResolvedNames:
    """Which record each name means, where one is surely meant, read as `principal` in one snapshot.

    Raises PermissionDenied, NotFound (with the nearest names), InvalidInput, TimedOut, Unavailable.
    """
    principal.require(Scope.DATA_READ)
    try:
        texts = list(dict.fromkeys(check_text(text).strip() for text in request.texts))
    except Unsuitable as error:
        raise InvalidInput(f"texts: {error}.", {"field": "texts"}) from error

    async def run(schema: Schema) -> ResolvedNames:
        collection = schema.collection(request.collection)
        searches = [Search(schema, collection, request.fields, text) for text in texts]
        async with records.reading(principal) as connection:
            asked = list((await connection.scalars(searches[0].skeletons_of(texts))).all())
            most = len(texts) * (MOST_CANDIDATES + 1)
            same = searches[0].same(asked, most)
            rows = [] if same is None else [tuple(row) for row in (await connection.execute(same)).all()]
            found = _by_skeleton(rows, len(searches[0].names))
            results = []
            looked_for = 0
            note = ""
            for search, wanted in zip(searches, asked, strict=True):
                alike = found.get(wanted, [])
                result = settle(
                    request.collection,
                    search.ranked(alike[: MOST_CANDIDATES + 1]),
                    truncated=len(alike) > MOST_CANDIDATES or len(rows) == most,
                )
                if not alike and looked_for < MOST_LOOKED_FOR and not note:
                    looked_for += 1
                    near = await near_misses(connection, search, wanted, records.timeouts.read)
                    note = not_searched(request.collection) if near is None else ""
                    result = result.model_copy(update={"near": near or ()})
                results.append(result)
        return _together(request.collection, texts, results, note)

    try:
        return await records.with_schema(run)
    except DBAPIError as error:
        raise read_failure(error) from error


def _by_skeleton(rows: Sequence[Row], width: int) -> dict[str, list[Row]]:
    """The rows without their skeletons, by each of those."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for skeleton in {name for name in row[-width:] if name is not None}:
            found[skeleton].append(row[:-width])
    return dict(found)


def _together(collection: str, texts: Sequence[str], results: Sequence[ResolveResult], note: str) -> ResolvedNames:
    named = list(zip(texts, results, strict=True))
    return ResolvedNames(
        collection=collection,
        matched=tuple(NamedRecord(text=text, **dict(result.match)) for text, result in named if result.match is not None),
        unsure=tuple(
            UnsureName(
                text=text,
                outcome=result.outcome,
                candidates=result.candidates[:MOST_LISTED],
                near=result.near[:MOST_LISTED],
            )
            for text, result in named
            if result.outcome is not Resolution.MATCH
        ),
        note=note,
    )

"""Names to records. One record that is surely meant gives its key; several are a question to the person; it never guesses."""

import unicodedata
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, FromClause, Select, Text, any_, bindparam, case, func, or_, select
from sqlalchemy.exc import DBAPIError

from askbus.access.model import Principal, Scope
from askbus.errors import InvalidInput
from askbus.records.engine import Records
from askbus.records.failures import read_failure
from askbus.records.fold import difference, fold, fold_case, skeleton, skeleton_on_server
from askbus.records.model import Kind
from askbus.records.names import Candidate, Resolution, ResolveRequest, ResolveResult
from askbus.records.schema import LABELS, Collection, Schema, folded
from askbus.records.source import rows_of, spelled
from askbus.records.values import Unsuitable, check_text, from_text

MOST_CANDIDATES = 20
MOST_NEAR = 5
MOST_PIECES = 30
ALIKE = 0.3
"""The share of common trigrams from which names count as alike: pg_trgm's own default."""
SURE, READ_ALIKE, LOOKS_ALIKE = 0, 3, 4

Found = tuple[int, str, Candidate]


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
            rows = [tuple(row) for row in (await connection.execute(search.same())).all()]
            if rows:
                return settle(request.collection, search.ranked(rows), truncated=len(rows) > MOST_CANDIDATES)
            rows = [tuple(row) for row in (await connection.execute(search.alike())).all()]
            return ResolveResult(outcome=Resolution.NONE, collection=request.collection, near=search.nearest(rows))

    try:
        return await records.with_schema(run)
    except DBAPIError as error:
        raise read_failure(error) from error


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


class Search:
    """The statements of one request over one collection, and what their rows mean."""

    def __init__(self, schema: Schema, collection: Collection, fields: Sequence[str], text: str) -> None:
        if not collection.key:
            raise InvalidInput(f"{collection.name} has no primary key, so its records have no names here; query it instead.")
        self.collection, self.text, self.abilities = collection, text, schema.abilities
        self.table: FromClause = rows_of(collection, "named_records")
        self.names = [collection.column(name).name for name in fields] or _naming(collection)
        label = [spelled(self.table.c[name]) for name in collection.label]
        self.label = func.concat_ws(" ", *label)
        self.searched = [spelled(self.table.c[name]) for name in self.names]
        if not fields and len(label) > 1:
            self.searched.insert(0, self.label)
        asked = skeleton_on_server(bindparam(None, text, Text()), schema.abilities)
        self.asked: ColumnElement[Any] = select(asked).scalar_subquery()
        self.skeletons = [skeleton_on_server(expression, schema.abilities) for expression in self.searched]

    def skeletons_of(self, texts: Sequence[str]) -> Select[*tuple[Any, ...]]:
        """What each of these names is compared by, in their order."""
        asked = (
            func.unnest(bindparam(None, list(texts), ARRAY(Text())))
            .table_valued("name", with_ordinality="place")
            .render_derived()
        )
        return select(skeleton_on_server(asked.c.name, self.abilities)).order_by(asked.c.place)

    def all_of(self, asked: Sequence[str], most: int) -> Select[*tuple[Any, ...]]:
        """Up to `most` records that read like any of the names with these skeletons; their own skeletons are the last columns."""
        where = or_(*(one == any_(bindparam(None, list(asked), ARRAY(Text()))) for one in self.skeletons))
        mine = (one.label(f"s{place}") for place, one in enumerate(self.skeletons))
        return self._rows().add_columns(*mine).where(where).order_by(*self._key()).limit(most)

    def same(self) -> Select[*tuple[Any, ...]]:
        """Records that a reader could take for what was asked, those that are it character by character first."""
        exact = or_(*(expression == bindparam(None, self.text, Text()) for expression in self.searched))
        where = or_(*(one == self.asked for one in self.skeletons))
        return self._rows().where(where).order_by(case((exact, 0), else_=1), *self._key()).limit(MOST_CANDIDATES + 1)

    def alike(self) -> Select[*tuple[Any, ...]]:
        """Records with similar names: by pg_trgm, else by how many pieces of the name they hold."""
        rows = self._rows()
        width = len(rows.selected_columns)
        skeletons = [one.label(f"s{place}") for place, one in enumerate(self.skeletons)]
        # OFFSET keeps Postgres from folding the subquery away and computing each skeleton once for every mention of it.
        named = rows.add_columns(*skeletons).offset(0).subquery("named")
        columns = list(named.c)
        score = self._score(columns[width:])
        limit = MOST_NEAR if self.abilities.trigrams is not None else MOST_NEAR * 10
        return select(*columns[:width]).where(score >= self._enough()).order_by(score.desc(), *columns[:width]).limit(limit)

    def _score(self, skeletons: Sequence[ColumnElement[Any]]) -> ColumnElement[Any]:
        if self.abilities.trigrams is not None:
            similarity = getattr(func, self.abilities.trigrams).similarity
            return func.greatest(*(similarity(one, self.asked) for one in skeletons))
        held = [sum(case((func.strpos(one, piece) > 0, 1), else_=0) for piece in self._pieces()) for one in skeletons]
        return func.greatest(*held)

    def _enough(self) -> float:
        return ALIKE if self.abilities.trigrams is not None else len(self._pieces()) * ALIKE

    def _pieces(self) -> list[str]:
        return [piece.strip() for piece in sorted(_trigrams(skeleton(self.text)))[:MOST_PIECES]]

    def ranked(self, rows: Sequence[tuple[str | None, ...]]) -> list[Found]:
        """The rows as candidates, those that differ least first."""
        found = []
        for row in rows:
            names = [name for name in row[len(self.collection.key) + 1 :] if name]
            best = min(names, key=lambda name: _rank(name, self.text))
            found.append((_rank(best, self.text), best, self._candidate(row, best)))
        return sorted(found, key=lambda one: one[0])

    def nearest(self, rows: Sequence[tuple[str | None, ...]]) -> tuple[Candidate, ...]:
        """The rows as near misses, the most alike first."""
        asked = _trigrams(skeleton(self.text))
        scored = []
        for row in rows:
            names = [name for name in row[len(self.collection.key) + 1 :] if name]
            best = max(names, key=lambda name: _similarity(_trigrams(skeleton(name)), asked))
            scored.append((_similarity(_trigrams(skeleton(best)), asked), self._candidate(row, best)))
        scored.sort(key=lambda one: -one[0])
        return tuple(candidate for score, candidate in scored if score >= ALIKE)[:MOST_NEAR]

    def _rows(self) -> Select[*tuple[Any, ...]]:
        named = [expression.label(f"n{place}") for place, expression in enumerate(self.searched)]
        return select(*(spelled(one) for one in self._key()), self.label, *named).select_from(self.table)

    def _key(self) -> list[ColumnElement[Any]]:
        return [self.table.c[name] for name in self.collection.key]

    def _candidate(self, row: Sequence[str | None], name: str) -> Candidate:
        key = {
            column: from_text(text, self.collection.columns[column].kind)
            for column, text in zip(self.collection.key, row, strict=False)
        }
        label = row[len(self.collection.key)] or name
        shown = label if name in label else f"{label} ({name})"
        return Candidate(key=key, label=shown, difference=difference(name, self.text))


def _naming(collection: Collection) -> list[str]:
    """The fields that may hold a record's name: those of its label, and every other field that names records elsewhere."""
    if collection.names:
        return list(collection.names)
    naming = {folded(part) for wanted in LABELS for part in wanted.split()}
    texts = [name for name, column in collection.columns.items() if column.kind is Kind.TEXT and folded(name) in naming]
    return list(dict.fromkeys((*collection.label, *texts)))


def _rank(found: str, asked: str) -> int:
    """0 the same characters, 1 but for case, 2 but for case folding, 3 but for accents, 4 only looks alike."""
    one, other = unicodedata.normalize("NFC", found), unicodedata.normalize("NFC", asked)
    if one == other:
        return SURE
    if one.lower() == other.lower():
        return 1
    if fold_case(one) == fold_case(other):
        return 2
    return READ_ALIKE if fold(one) == fold(other) else LOOKS_ALIKE


def _trigrams(text: str) -> set[str]:
    """Of each word, with two blanks before it and one after (as pg_trgm counts them)."""
    padded = [f"  {word} " for word in text.split()]
    return {word[start : start + 3] for word in padded for start in range(len(word) - 2)}


def _similarity(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0

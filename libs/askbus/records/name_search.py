"""The statements that look for a name in one collection, each able to use an index on what names are compared by."""

import re
import unicodedata
from collections.abc import Sequence
from functools import reduce
from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    FromClause,
    Select,
    Text,
    any_,
    bindparam,
    case,
    cast,
    column,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.dialects import postgresql

from askbus.errors import InvalidInput
from askbus.records.fold import difference, fold, fold_case, skeleton, skeleton_on_server
from askbus.records.model import Kind
from askbus.records.names import Candidate
from askbus.records.schema import LABELS, Abilities, Collection, Column, Schema, folded
from askbus.records.source import PgType, rows_of, spelled
from askbus.records.values import from_text

MOST_CANDIDATES = 20
MOST_NEAR = 5
MOST_LOOKED_AT = 50
"""Names that look alike of which the nearest are chosen."""
ALIKE = 0.3
"""The share of common trigrams from which names count as alike: pg_trgm's own default."""
SURE, READ_ALIKE, LOOKS_ALIKE = 0, 3, 4
_WORDS = re.compile(r"[^\W_]+")
_SPELLED = {
    Kind.INTEGER: re.compile(r"0|-?[1-9][0-9]{0,18}"),
    Kind.UUID: re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
}
_AS_KEYS = {Kind.INTEGER: PgType("bigint"), Kind.UUID: PgType("uuid")}
_BIGGEST = 2**63 - 1

Row = tuple[str | None, ...]
Found = tuple[int, str, Candidate]


class Name:
    """One thing that a record may be called by. Numbers and UUIDs are compared as what they are, so that their own index serves;
    everything else by the skeleton of its text."""

    def __init__(self, text: ColumnElement[Any], abilities: Abilities, kind: Kind = Kind.TEXT) -> None:
        self.text = text
        self.kind = kind if kind in _SPELLED else Kind.TEXT
        self.skeleton = skeleton_on_server(text, abilities)

    def is_any(self, asked: Sequence[str], value: ColumnElement[Any]) -> ColumnElement[bool] | None:
        """Whether it has one of these skeletons; None where it cannot."""
        if self.kind is Kind.TEXT:
            return self.skeleton == any_(bindparam(None, list(asked), ARRAY(Text())))
        keys = [one for one in asked if self._could_be(one)]
        if not keys:
            return None
        return value == any_(cast(bindparam(None, keys, ARRAY(Text())), ARRAY(_AS_KEYS[self.kind])))

    def _could_be(self, asked: str) -> bool:
        """Whether Postgres spells some value of this kind so."""
        spelled_so = _SPELLED[self.kind].fullmatch(asked) is not None
        return spelled_so and (self.kind is not Kind.INTEGER or abs(int(asked)) <= _BIGGEST)


class Search:
    """The statements of one request over one collection, and what their rows mean."""

    def __init__(self, schema: Schema, collection: Collection, fields: Sequence[str], text: str) -> None:
        if not collection.key:
            raise InvalidInput(f"{collection.name} has no primary key, so its records have no names here; query it instead.")
        self.collection, self.text, self.abilities = collection, text, schema.abilities
        self.table: FromClause = rows_of(collection, "named_records")
        self.label = func.concat_ws(" ", *(spelled(self.table.c[name]) for name in collection.label))
        columns = [collection.column(name) for name in fields] or naming(collection)
        self.values: list[ColumnElement[Any]] = [self.table.c[one.name] for one in columns]
        self.names = [Name(spelled(value), self.abilities, one.kind) for value, one in zip(self.values, columns, strict=True)]
        if not fields and len(collection.label) > 1:
            whole = together([self.table.c[name] for name in collection.label])
            self.values.insert(0, whole)
            self.names.insert(0, Name(whole, self.abilities))

    def skeletons_of(self, texts: Sequence[str]) -> Select[*tuple[Any, ...]]:
        """What each of these names is compared by, in their order."""
        asked = (
            func.unnest(bindparam(None, list(texts), ARRAY(Text())))
            .table_valued("name", with_ordinality="place")
            .render_derived()
        )
        return select(skeleton_on_server(asked.c.name, self.abilities)).order_by(asked.c.place)

    def same(self, asked: Sequence[str], most: int = MOST_CANDIDATES + 1) -> Select[*tuple[Any, ...]] | None:
        """Up to `most` records that a reader could take for any of the names with these skeletons, those first that are this
        request's character by character; their own skeletons are the last columns. None where no record can be."""
        conditions = [name.is_any(asked, value) for name, value in zip(self.names, self.values, strict=True)]
        if not (possible := [one for one in conditions if one is not None]):
            return None
        found = self._rows(where=or_(*possible))
        width = len(self.collection.key) + 1
        texts = list(found.c)[width : width + len(self.names)]
        exact = or_(*(one == bindparam(None, self.text, Text()) for one in texts))
        keys = list(found.c)[-len(self.collection.key) :]
        return select(*list(found.c)[: -len(keys)]).order_by(case((exact, 0), else_=1), *keys).limit(most)

    def alike(self, asked: str) -> Select[*tuple[Any, ...]] | None:
        """Records with names that look like the one with this skeleton: by pg_trgm, else by how many pieces of it they hold.
        Numbers that no record has look like no other."""
        texts = [place for place, name in enumerate(self.names) if name.kind is Kind.TEXT]
        if not texts or not trigrams(asked):
            return None
        wanted = bindparam(None, asked, Text())
        by_index = self.abilities.trigrams is not None and (self.abilities.letters or asked.isascii())
        schema = _quoted(self.abilities.trigrams or "")
        looks = or_(*(self.names[place].skeleton.op(f"OPERATOR({schema}.%)", is_comparison=True)(wanted) for place in texts))
        found = self._rows(where=looks if by_index else None)
        width = len(self.collection.key) + 1 + len(self.names)
        skeletons = [list(found.c)[width + place] for place in texts]
        if by_index:
            # 1 - similarity, as an operator, because the names of functions' schemas go unquoted.
            distance = f"OPERATOR({schema}.<->)"
            score: ColumnElement[Any] = literal_column("1") - func.least(*(one.op(distance)(wanted) for one in skeletons))
            enough: ColumnElement[bool] = true()
        else:
            pieces = sorted(one.strip() for one in trigrams(asked))
            held = [_held(one, pieces) for one in skeletons]
            # A name has about one trigram a letter, so this is nearly the share that they have in common.
            shares = zip(held, skeletons, strict=True)
            score = func.greatest(
                *(one * 1.0 / func.greatest(func.length(name) + 1 + len(pieces) - one, 1) for one, name in shares)
            )
            enough = func.greatest(*held) >= len(pieces) * ALIKE
        rows = list(found.c)[:width]
        return select(*rows).where(enough).order_by(score.desc(), *rows).limit(MOST_LOOKED_AT)

    def ranked(self, rows: Sequence[Row]) -> list[Found]:
        """The rows as candidates, those that differ least first."""
        found = []
        for row in rows:
            best = min(self._names_in(row), key=lambda name: _rank(name, self.text))
            found.append((_rank(best, self.text), best, self._candidate(row, best)))
        return sorted(found, key=lambda one: one[0])

    def nearest(self, rows: Sequence[Row]) -> tuple[Candidate, ...]:
        """The rows as near misses, the most alike first."""
        asked = trigrams(skeleton(self.text))
        scored = []
        for row in rows:
            best = max(self._names_in(row), key=lambda name: _similarity(trigrams(skeleton(name)), asked))
            scored.append((_similarity(trigrams(skeleton(best)), asked), row[: len(self.collection.key)], best, row))
        scored.sort(key=lambda one: (-one[0], [text or "" for text in one[1]]))
        return tuple(self._candidate(row, best) for score, _, best, row in scored if score >= ALIKE)[:MOST_NEAR]

    def _rows(self, where: ColumnElement[bool] | None) -> FromClause:
        """The key and the label as text, each name and its skeleton, and the key as it is. OFFSET keeps Postgres from computing
        a skeleton once for every mention of it, and from walking along the key where an index finds the name."""
        key = [self.table.c[name] for name in self.collection.key]
        shown = [
            *(spelled(one).label(f"k{place}") for place, one in enumerate(key)),
            self.label.label("label"),
            *(name.text.label(f"n{place}") for place, name in enumerate(self.names)),
            *(name.skeleton.label(f"s{place}") for place, name in enumerate(self.names)),
            *(one.label(f"o{place}") for place, one in enumerate(key)),
        ]
        made = select(*shown).select_from(self.table)
        return (made if where is None else made.where(where)).offset(0).subquery("named")

    def _names_in(self, row: Row) -> list[str]:
        begin = len(self.collection.key) + 1
        return [name for name in row[begin : begin + len(self.names)] if name]

    def _candidate(self, row: Row, name: str) -> Candidate:
        key = {
            column: from_text(text, self.collection.columns[column].kind)
            for column, text in zip(self.collection.key, row, strict=False)
        }
        label = row[len(self.collection.key)] or name
        shown = label if name in label else f"{label} ({name})"
        return Candidate(key=key, label=shown, difference=difference(name, self.text))


def naming(collection: Collection) -> list[Column]:
    """The fields that may hold a record's name: those of its label, and every other field that names records elsewhere."""
    if collection.names:
        return [collection.columns[name] for name in collection.names if name in collection.columns]
    usual = {folded(part) for wanted in LABELS for part in wanted.split()}
    texts = [name for name, found in collection.columns.items() if found.kind is Kind.TEXT and folded(name) in usual]
    return [collection.columns[name] for name in dict.fromkeys((*collection.label, *texts))]


def together(columns: Sequence[ColumnElement[Any]]) -> ColumnElement[Any]:
    """Several fields as one name. Its skeleton is that of concat_ws, which no index can hold."""
    parts: list[ColumnElement[Any]] = [func.coalesce(spelled(one), "") for one in columns]
    return reduce(lambda made, part: made.op("||")(" ").op("||")(part), parts)


def indexable_names(collection: Collection, abilities: Abilities) -> list[ColumnElement[Any]]:
    """What names of this collection are compared by, over its bare columns: what an index has to hold."""
    fields = naming(collection)
    texts: list[ColumnElement[Any]] = [column(one.name, Text()) for one in fields if one.kind is Kind.TEXT]
    if len(collection.label) > 1 and all(collection.columns[name].kind is Kind.TEXT for name in collection.label):
        texts.insert(0, together([column(name) for name in collection.label]))
    return [skeleton_on_server(text, abilities) for text in texts]


def trigrams(text: str) -> set[str]:
    """Of each word, with two blanks before it and one after (as pg_trgm counts them)."""
    padded = [f"  {word} " for word in _WORDS.findall(text)]
    return {word[start : start + 3] for word in padded for start in range(len(word) - 2)}


def _held(skeletons: ColumnElement[Any], pieces: Sequence[str]) -> ColumnElement[Any]:
    """How many of the pieces a name holds: no fewer than it has trigrams in common with what they are pieces of."""
    piece = func.unnest(bindparam(None, list(pieces), ARRAY(Text()))).column_valued("piece")
    return select(func.count()).where(func.strpos(skeletons, piece) > 0).scalar_subquery()


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


def _similarity(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def _quoted(name: str) -> str:
    return str(postgresql.dialect().identifier_preparer.quote_identifier(name))  # type: ignore[no-untyped-call]

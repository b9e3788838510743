"""Typed reads of records: one plan in, exact values and their display text out, never silently cut."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from urllib.parse import quote

from pydantic import JsonValue
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from askbus.access.model import Principal, Scope
from askbus.records import cursor
from askbus.records.compile import Compiled, compile_plan
from askbus.records.display import PLAIN, Presentation, display
from askbus.records.engine import Records
from askbus.records.failures import read_failure
from askbus.records.model import Kind, QueryPlan, Rows
from askbus.records.outputs import Output
from askbus.records.schema import Schema
from askbus.records.source import LONGEST_CELL

MOST_BYTES = 256 * 1024
"""How much text one result may hold, values and display together."""
MARK = 200
"""Bytes kept free for the sentence that says what was left out."""

LONG = frozenset({Kind.TEXT, Kind.JSON, Kind.ARRAY, Kind.OTHER})

Texts = tuple[str | None, ...]


async def query(
    records: Records, principal: Principal, plan: QueryPlan, presentation: Presentation = PLAIN, *, most_bytes: int | None = None
) -> Rows:
    """The rows that `plan` asks for, read in one read-only snapshot as `principal`; with `most_bytes`, as many as fit into so much
    JSON, and at least one.

    Raises PermissionDenied and NotFound (with the nearest permitted names), InvalidInput, TimedOut, Unavailable.
    """
    [rows] = await query_all(records, principal, [plan], presentation, most_bytes=most_bytes)
    return rows


async def query_all(
    records: Records,
    principal: Principal,
    plans: Sequence[QueryPlan],
    presentation: Presentation = PLAIN,
    *,
    most_bytes: int | None = None,
) -> list[Rows]:
    """The rows of each plan, all of them read in one read-only snapshot. Raises as `query` does."""
    principal.require(Scope.DATA_READ)

    async def run(schema: Schema) -> list[Rows]:
        compiled = [compile_plan(plan, schema, presentation) for plan in plans]
        async with records.reading(principal) as connection:
            pages = [await _read(connection, plan, each) for plan, each in zip(plans, compiled, strict=True)]
        return [_told(page, presentation, most_bytes) for page in pages]

    try:
        return await records.with_schema(run)
    except DBAPIError as error:
        raise read_failure(error) from error


async def _read(connection: AsyncConnection, plan: QueryPlan, compiled: Compiled) -> "_Page":
    found: list[Texts] = [tuple(row) for row in (await connection.execute(compiled.rows)).all()]
    if len(found) > plan.limit or plan.cursor or (plan.offset and not found):
        return _Page(plan, compiled, found, int(await connection.scalar(compiled.total()) or 0))
    return _Page(plan, compiled, found, plan.offset + len(found))


def _told(page: "_Page", presentation: Presentation, most_bytes: int | None) -> Rows:
    shown = _shown(page.found[: page.plan.limit], page.compiled.outputs, presentation)
    rows = page.rows(shown, len(shown.rows))
    return rows if most_bytes is None else _fitted(rows, page, shown, most_bytes)


@dataclass
class _Shown:
    """Rows that fit the size cap, and in which of them which columns had long values cut."""

    rows: list[tuple[JsonValue, ...]] = field(default_factory=list)
    display: list[tuple[str, ...]] = field(default_factory=list)
    long: dict[str, list[int]] = field(default_factory=dict)


def _shown(found: Sequence[Texts], outputs: Sequence[Output], presentation: Presentation) -> _Shown:
    made, size = _Shown(), 0
    for row in found:
        cells = [_cell(text, output, made) for text, output in zip(row, outputs, strict=False)]
        texts = tuple(display(text, output.style, presentation) for text, output in zip(row, outputs, strict=False))
        size += sum(len(text or "") for text in row) + sum(map(len, texts))
        if size > MOST_BYTES and made.rows:
            return made
        made.rows.append(tuple(cells))
        made.display.append(texts)
    return made


def _cell(text: str | None, output: Output, made: _Shown) -> JsonValue:
    if text is not None and len(text) > LONGEST_CELL and output.column.kind in LONG:
        made.long.setdefault(output.column.name, []).append(len(made.rows))
        return text[:LONGEST_CELL]
    return output.value(text)


@dataclass(frozen=True)
class _Page:
    """What was found of a plan: up to one row more than its limit, out of `total`."""

    plan: QueryPlan
    compiled: Compiled
    found: Sequence[Texts]
    total: int

    def rows(self, shown: _Shown, kept: int) -> Rows:
        """The first `kept` rows, with a word for everything that is not among them."""
        plan, more = self.plan, kept < len(self.found)
        following = self._cursor(kept) if more and kept else None
        cut = [self._left_out(kept, following)] if more or (not plan.cursor and plan.offset + kept < self.total) else []
        cut += [f"Rows before offset {plan.offset} are not here."] if plan.offset else []
        cut += ["Rows before the cursor are not here."] if plan.cursor else []
        for name, places in shown.long.items():
            if among := sum(1 for place in places if place < kept):
                cut.append(f"{name} was cut after {LONGEST_CELL} characters in {among} of the rows.")
        through = plan.offset + kept
        return Rows(
            collection=plan.collection,
            columns=tuple(output.column for output in self.compiled.outputs),
            rows=tuple(shown.rows[:kept]),
            display=tuple(shown.display[:kept]),
            total=self.total,
            truncated=bool(cut),
            cut=tuple(cut),
            next_offset=through if through < self.total and not plan.cursor else None,
            next_cursor=following,
            links=tuple(self._link(row) for row in self.found[:kept]) if self.compiled.link else (),
        )

    def _link(self, row: Texts) -> str:
        names = (output.column.name for output in self.compiled.outputs)
        return self.compiled.link.format_map({name: quote(text or "", safe="") for name, text in zip(names, row, strict=False)})

    def _left_out(self, kept: int, following: str | None) -> str:
        why = "more would be too large" if kept < min(self.plan.limit, len(self.found)) else "the limit"
        there = f"offset {self.plan.offset + kept}"
        if self.plan.cursor:
            there = "next_cursor" if following else "an order by shorter values, where a cursor can name the place"
        return f"{kept} of {self.total} rows are here ({why}); go on with {there}."

    def _cursor(self, kept: int) -> str | None:
        if not self.compiled.places:
            return None
        last = self.found[kept - 1]
        return cursor.written(self.plan, self.compiled.order, [last[place] for place in self.compiled.places])


def _fitted(rows: Rows, page: _Page, shown: _Shown, most_bytes: int) -> Rows:
    """`rows` without the last ones where the result would be longer than `most_bytes` as JSON; one is always kept."""
    whole = rows.model_dump(mode="json")
    if _size(whole) <= most_bytes:
        return rows
    frame = _size({**whole, "rows": [], "display": [], "links": []}) + MARK
    pairs = zip(whole["rows"], whole["display"], whole["links"] or [""] * len(rows.rows), strict=True)
    sizes = accumulate(_size(list(pair)) for pair in pairs)
    kept = max(1, sum(1 for size in sizes if frame + size <= most_bytes))
    while kept > 1 and _size(page.rows(shown, kept).model_dump(mode="json")) > most_bytes:
        kept -= 1  # The cursor is as long as the values that it holds.
    return page.rows(shown, kept)


def _size(value: JsonValue) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())

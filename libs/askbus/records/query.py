"""Typed reads of records: one plan in, exact values and their display text out, never silently cut."""

from collections.abc import Sequence

from pydantic import JsonValue
from sqlalchemy.exc import DBAPIError

from askbus.access.model import Principal, Scope
from askbus.records.compile import Compiled, Output, compile_plan
from askbus.records.display import PLAIN, Presentation, display
from askbus.records.engine import Records
from askbus.records.failures import read_failure
from askbus.records.model import Kind, QueryPlan, Rows
from askbus.records.schema import Schema
from askbus.records.source import LONGEST_CELL
from askbus.records.values import from_text

MOST_BYTES = 256 * 1024
"""How much text one result may hold, values and display together."""

LONG = frozenset({Kind.TEXT, Kind.JSON, Kind.ARRAY, Kind.OTHER})


async def query(records: Records, principal: Principal, plan: QueryPlan, presentation: Presentation = PLAIN) -> Rows:
    """The rows that `plan` asks for, read in one read-only snapshot as `principal`.

    Raises PermissionDenied and NotFound (with the nearest permitted names), InvalidInput, TimedOut, Unavailable.
    """
    principal.require(Scope.DATA_READ)

    async def run(schema: Schema) -> Rows:
        compiled = compile_plan(plan, schema, presentation)
        async with records.reading(principal) as connection:
            found = [tuple(row) for row in (await connection.execute(compiled.rows)).all()]
            shown = _shown(found[: plan.limit], compiled.outputs, presentation)
            if len(found) > plan.limit or (plan.offset and not found):
                total = int(await connection.scalar(compiled.total()) or 0)
            else:
                total = plan.offset + len(found)
        return _rows(plan, compiled, shown, total)

    try:
        return await records.with_schema(run)
    except DBAPIError as error:
        raise read_failure(error) from error


class _Shown:
    """Rows that fit the size cap, and where long values were cut."""

    def __init__(self) -> None:
        self.rows: list[tuple[JsonValue, ...]] = []
        self.display: list[tuple[str, ...]] = []
        self.long: dict[str, int] = {}


def _shown(found: Sequence[tuple[str | None, ...]], outputs: Sequence[Output], presentation: Presentation) -> _Shown:
    made, size = _Shown(), 0
    for row in found:
        cells = [_cell(text, output, made) for text, output in zip(row, outputs, strict=True)]
        texts = tuple(display(text, output.style, presentation) for text, output in zip(row, outputs, strict=True))
        size += sum(len(text or "") for text in row) + sum(map(len, texts))
        if size > MOST_BYTES and made.rows:
            return made
        made.rows.append(tuple(cells))
        made.display.append(texts)
    return made


def _cell(text: str | None, output: Output, made: _Shown) -> JsonValue:
    if text is not None and len(text) > LONGEST_CELL and output.column.kind in LONG:
        made.long[output.column.name] = made.long.get(output.column.name, 0) + 1
        return text[:LONGEST_CELL]
    return from_text(text, output.column.kind)


def _rows(plan: QueryPlan, compiled: Compiled, shown: _Shown, total: int) -> Rows:
    through = plan.offset + len(shown.rows)
    cut = []
    if through < total:
        why = "more would be too large" if len(shown.rows) < min(plan.limit, total - plan.offset) else "the limit"
        cut.append(f"{len(shown.rows)} of {total} rows are here ({why}); go on with offset {through}.")
    cut += [f"Rows before offset {plan.offset} are not here."] if plan.offset else []
    cut += [f"{name} was cut after {LONGEST_CELL} characters in {count} of the rows." for name, count in shown.long.items()]
    return Rows(
        collection=plan.collection,
        columns=tuple(output.column for output in compiled.outputs),
        rows=tuple(shown.rows),
        display=tuple(shown.display),
        total=total,
        truncated=bool(cut),
        cut=tuple(cut),
        next_offset=through if through < total else None,
    )

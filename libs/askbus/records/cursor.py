"""Cursors: where a page of records ended, by the values that order it, so that the next begins there whatever came or went before it."""

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, false, or_

from askbus.errors import InvalidInput
from askbus.records.model import QueryPlan
from askbus.records.order import Sort
from askbus.records.source import bound

LONGEST = 3000
"""Characters of a cursor. Pages that end on a longer value have none; `next_offset` serves there."""
BESIDE = frozenset({"fields", "limit", "offset", "cursor"})
"""What may differ from page to page."""


def written(plan: QueryPlan, order: Sequence[Sort], values: Sequence[str | None]) -> str | None:
    """The cursor after the row with these values of the order, as Postgres spells them; None where it would be too long."""
    document = json.dumps([_mark(plan, order), *values], ensure_ascii=False, separators=(",", ":"))
    made = urlsafe_b64encode(document.encode()).decode().rstrip("=")
    return made if len(made) <= LONGEST else None


def after(plan: QueryPlan, order: Sequence[Sort]) -> ColumnElement[bool]:
    """What holds for every row after the plan's cursor. Its values are bound; it can point anywhere, and tell nothing.

    Raises InvalidInput where it is not this query's.
    """
    values = _read(plan, order)
    made: ColumnElement[bool] = false()
    for one, value in zip(reversed(order), reversed(values), strict=True):
        made = or_(_beyond(one, value), and_(_same(one, value), made))
    first, start = order[0], values[0]
    if start is not None and not first.nullable:
        # Says nothing new, and lets an index find where to begin.
        at = bound(start, first.column)
        made = and_(first.expression <= at if first.descending else first.expression >= at, made)
    return made


def _beyond(sort: Sort, value: str | None) -> ColumnElement[bool]:
    if value is None:
        return false()
    at = bound(value, sort.column)
    further = sort.expression < at if sort.descending else sort.expression > at
    return or_(further, sort.expression.is_(None)) if sort.nullable else further


def _same(sort: Sort, value: str | None) -> ColumnElement[bool]:
    return sort.expression.is_(None) if value is None else sort.expression == bound(value, sort.column)


def _read(plan: QueryPlan, order: Sequence[Sort]) -> list[str | None]:
    wrong = InvalidInput(
        "This cursor is not one of this query's: send next_cursor of the previous page, and the same where and order_by.",
        {"field": "cursor"},
    )
    try:
        padded = plan.cursor + "=" * (-len(plan.cursor) % 4)
        mark, *given = json.loads(urlsafe_b64decode(padded.encode()))
    except (ValueError, TypeError) as error:
        raise wrong from error
    values: list[str | None] = [value for value in given if value is None or isinstance(value, str)]
    if (
        mark != _mark(plan, order)
        or not len(given) == len(values) == len(order)
        or any("\0" in (value or "") for value in values)
    ):
        raise wrong
    return values


def _mark(plan: QueryPlan, order: Sequence[Sort]) -> str:
    """Equal for pages of one query, as long as the same fields decide its order."""
    asked = plan.model_dump_json(exclude=set(BESIDE))
    named = json.dumps([[one.name, one.descending] for one in order])
    return hashlib.sha256(f"{asked}{named}".encode()).hexdigest()[:12]

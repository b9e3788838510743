"""Reading the team's records."""

from itertools import accumulate

from askbus.records.describe import MOST_CHARACTERS, Description, describe
from askbus.records.model import QueryPlan, Rows
from askbus.records.names import ResolvedNames, ResolveNamesRequest, ResolveRequest, ResolveResult
from askbus.records.query import query
from askbus.records.resolve import resolve as resolve_name
from askbus.records.resolve_names import resolve_names as resolve_all
from askbus.records.schema import Schema
from askbus.tools.arguments import DescribeRecords
from askbus.tools.model import compact
from askbus_tool_runner.context import Context

MARK = 200
"""Bytes kept free for the sentence that says what was left out."""


async def describe_records(context: Context, request: DescribeRecords) -> Description:
    """The collections that may be read, as many as fit."""

    async def run(schema: Schema) -> Description:
        return describe(schema, request.collections, min(MOST_CHARACTERS, context.most_bytes // 2))

    return await context.records.with_schema(run)


async def query_records(context: Context, plan: QueryPlan) -> Rows:
    """The rows, as many as fit: what is left out is counted and can be asked for."""
    return fitted(await query(context.records, context.by, plan), plan, context.most_bytes)


async def resolve(context: Context, request: ResolveRequest) -> ResolveResult:
    """The record that a name means, or those that it may mean."""
    return await resolve_name(context.records, context.by, request)


async def resolve_names(context: Context, request: ResolveNamesRequest) -> ResolvedNames:
    """The records that many names mean."""
    return await resolve_all(context.records, context.by, request)


def fitted(rows: Rows, plan: QueryPlan, most_bytes: int) -> Rows:
    """`rows` without the last ones where the result would be longer than `most_bytes` as JSON; one is always kept."""
    whole = rows.model_dump(mode="json")
    if len(compact(whole).encode()) <= most_bytes:
        return rows
    frame = len(compact({**whole, "rows": [], "display": []}).encode()) + MARK
    pairs = zip(whole["rows"], whole["display"], strict=True)
    sizes = accumulate(len(compact(list(pair)).encode()) for pair in pairs)
    kept = max(1, sum(1 for size in sizes if frame + size <= most_bytes))
    through = plan.offset + kept
    said = f"{kept} of {rows.total} rows are here (more would be too large); go on with offset {through}."
    others = rows.cut if rows.next_offset is None else rows.cut[1:]
    return rows.model_copy(
        update={
            "rows": rows.rows[:kept],
            "display": rows.display[:kept],
            "truncated": True,
            "cut": (said, *others),
            "next_offset": through if through < rows.total else None,
        }
    )

"""Reading the team's records."""

from askbus.records.describe import MOST_CHARACTERS, Description, describe
from askbus.records.model import QueryPlan, Rows
from askbus.records.names import ResolvedNames, ResolveNamesRequest, ResolveRequest, ResolveResult
from askbus.records.query import query
from askbus.records.resolve import resolve as resolve_name
from askbus.records.resolve_names import resolve_names as resolve_all
from askbus.records.schema import Schema
from askbus.tools.arguments import DescribeRecords
from askbus_tool_runner.context import Context


async def describe_records(context: Context, request: DescribeRecords) -> Description:
    """The collections that may be read, as many as fit."""

    async def run(schema: Schema) -> Description:
        most = min(MOST_CHARACTERS, context.most_bytes // 2)
        return describe(schema, request.collections, most, search=request.search, offset=request.offset)

    return await context.records.with_schema(run)


async def query_records(context: Context, plan: QueryPlan) -> Rows:
    """The rows, as many as fit: what is left out is counted and can be asked for."""
    return await query(context.records, context.by, plan, context.presentation, most_bytes=context.most_bytes)


async def resolve(context: Context, request: ResolveRequest) -> ResolveResult:
    """The record that a name means, or those that it may mean."""
    return await resolve_name(context.records, context.by, request)


async def resolve_names(context: Context, request: ResolveNamesRequest) -> ResolvedNames:
    """The records that many names mean."""
    return await resolve_all(context.records, context.by, request)

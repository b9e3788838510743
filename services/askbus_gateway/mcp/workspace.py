"""Finding one's way: what there is by its name, and what happened lately (M13)."""

from typing import Any

from pydantic import JsonValue

from askbus.access.model import Scope
from askbus_gateway.http.workspace import Activity, ActivityQuery, Found, SearchQuery, Workspace
from askbus_gateway.mcp.shapes import listing, shape
from askbus_gateway.mcp.tool import Call, Reply, Tool, read


class WorkspaceTools:
    """`search_workspace` and `get_workspace_activity`."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def tools(self) -> list[Tool]:
        return [
            Tool(
                name="search_workspace",
                description="Finds projects, collections with fields and types, and records by name; without a query it lists them.",
                arguments=shape(SearchQuery),
                output=listing(Found),
                run=self.search,
                scopes=(Scope.DATA_READ,),
                reads=True,
                slow=True,
            ),
            Tool(
                name="get_workspace_activity",
                description="Lists what lately happened to questions and proposed changes, by ids, names and times.",
                arguments=shape(ActivityQuery),
                output=listing(Activity),
                run=self.activity,
                scopes=(Scope.DATA_READ,),
                reads=True,
            ),
        ]

    async def search(self, call: Call) -> Reply:
        found = await self.workspace.found(call.by, read(SearchQuery, call.arguments))
        counts = f"{len(found.projects)} projects, {len(found.collections)} collections, {len(found.records)} records"
        return Reply(f"Workspace {call.by.workspace_id}. Found {counts}.", _plain(found))

    async def activity(self, call: Call) -> Reply:
        happened = await self.workspace.happened(call.by, read(ActivityQuery, call.arguments))
        return Reply(f"Workspace {call.by.workspace_id}. {len(happened.changes)} changes.", _plain(happened))


def _plain(model: Found | Activity) -> dict[str, JsonValue]:
    plain: dict[str, Any] = model.model_dump(mode="json")
    return plain

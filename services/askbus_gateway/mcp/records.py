"""The team's records over MCP: read within the API's caps, changed by nothing but proposals."""

from uuid import uuid4

from askbus.access.model import Scope
from askbus.actions import reads
from askbus.actions.model import Proposal, ProposeChanges
from askbus.db.ids import new_id
from askbus.errors import TooLarge
from askbus.limits.model import Limited
from askbus.records.model import QueryPlan, Rows
from askbus.tools.catalogue import QUERY_RECORDS
from askbus.tools.model import CallTool
from askbus_gateway.http.actions import ProposeBody
from askbus_gateway.http.gate import Gate
from askbus_gateway.mcp.holding import Holding
from askbus_gateway.mcp.places import InProject, in_a_project
from askbus_gateway.mcp.results import SHAPE, Pages, outcome
from askbus_gateway.mcp.shapes import Schema, having, optional, shape
from askbus_gateway.mcp.tool import Call, Outcome, Reply, Tool, read

ROWS: Schema = {
    "type": "object",
    "properties": {
        "collection": {"type": "string"},
        "columns": {"type": "array", "items": {"type": "object"}},
        "rows": {"type": "array", "items": {"type": "array", "items": {}}},
        "total": {"type": "integer"},
        "truncated": {"type": "boolean"},
    },
    "required": ["collection", "columns", "rows", "total", "truncated"],
}
"""What is always there of `Rows`."""


class RecordTools:
    """`query_records` and `propose_changes`. `seconds`: how long a tool-runner may take."""

    def __init__(self, gate: Gate, holding: Holding, pages: Pages, *, seconds: float) -> None:
        self.gate = gate
        self.holding = holding
        self.pages = pages
        self.seconds = seconds

    @property
    def query_tool(self) -> Tool:
        return Tool(
            name="query_records",
            description="Reads records of one collection, or figures over them with aggregates; take names from search_workspace.",
            arguments=having(shape(QueryPlan), project_id={"type": "string"}),
            output=ROWS,
            run=self.query,
            scopes=(Scope.DATA_READ,),
            reads=True,
            slow=True,
        )

    @property
    def propose_tool(self) -> Tool:
        return Tool(
            name="propose_changes",
            description="Proposes to create or update records; nothing changes until a person confirms it.",
            arguments=optional(shape(ProposeBody), "project_id"),
            output=SHAPE,
            run=self.propose,
            scopes=(Scope.ACTIONS_PROPOSE,),
            waits=True,
        )

    async def query(self, call: Call) -> Reply:
        """The tool of the same name, called directly, which says itself what is wrong with its arguments. A deployment's catalogue may say
        that records belong to projects."""
        placed = await in_a_project(self.gate.pool, call.by, call.arguments)
        project_id = read(InProject, {"project_id": placed["project_id"]}).project_id
        command = CallTool(
            command_id=uuid4(),
            by=call.by,
            project_id=project_id,
            name=QUERY_RECORDS.name,
            arguments={name: value for name, value in placed.items() if name != "project_id"},
        )
        await self.gate.limits.take(Limited.TOOLS, call.by)
        answer = await self.gate.commands.ask(command, timeout=self.seconds)
        if answer.cut or not isinstance(answer.content, dict):
            raise TooLarge("The result is too large. Name fewer fields, or a smaller limit.")
        rows = Rows.model_validate(answer.content)
        more = "; more exist" if rows.truncated else ""
        text = f"Workspace {call.by.workspace_id}. {len(rows.rows)} of {rows.total} rows of {rows.collection}{more}."
        return Reply(text, answer.content)

    async def propose(self, call: Call) -> Outcome:
        """The action, once it rests or as it stands after the time that this client is held."""
        said = read(ProposeBody, await in_a_project(self.gate.pool, call.by, call.arguments))
        proposal = Proposal.model_validate(said.model_dump(exclude={"wait_seconds"}, exclude_unset=True))
        command = ProposeChanges(command_id=uuid4(), by=call.by, action_id=new_id(), proposal=proposal)
        action = await self.gate.commands.ask(command)
        if not said.wait_seconds:
            return outcome(self.pages, call.by, actions=[await reads.get(self.gate.pool, call.by, action.id)])
        waiting = self.holding.waiting
        rested = await self.holding.hold(call, said.wait_seconds, lambda seconds: waiting.action(call.by, action.id, seconds))
        return outcome(self.pages, call.by, actions=[rested])

"""Tools called directly, over the API and not by a model: the same tools, rights, caps and errors, and no turn."""

import json

import structlog

from askbus.access import reads as access
from askbus.db.pool import Pool
from askbus.errors import AskbusError, Internal, NotFound, PermissionDenied
from askbus.tools.model import CallTool, ToolAnswer, ToolResult
from askbus_tool_runner.work import Job, Running, Work

log = structlog.get_logger()


class Direct:
    """Answers direct calls."""

    def __init__(self, pool: Pool, work: Work) -> None:
        self.pool = pool
        self.work = work

    async def on_call_tool(self, command: CallTool) -> ToolAnswer:
        """What the tool came to. Nothing is recorded here: a tool that is called directly may be run again.

        Raises NotFound for a tool or project that is not the caller's to use, and what the call came to where that is an error.
        """
        tool = self.work.tools.get(command.name)
        if tool is None or not tool.spec.direct:
            raise NotFound("There is no tool of this name that can be called directly. GET /v1/tools lists them.")
        standing = await access.standing(self.pool, command.by)
        if standing is None:
            raise PermissionDenied("This session or token has no access here any more.")
        by = standing.principal
        if not any(project.id == command.project_id for project in await access.projects_of(self.pool, by)):
            raise NotFound("There is no such project.")
        job = Job(
            command.command_id,
            command.name,
            json.dumps(command.arguments),
            by,
            command.project_id,
            visible=True,
            time_zone=standing.time_zone,
            locale=standing.locale,
        )
        outcome = await self.work.outcome(job, Running())
        result = outcome.result if outcome is not None and outcome.result is not None else ToolResult.failure(Internal.hidden())
        code = result.error.code if result.error is not None else None
        log.info("tool.called", call_id=str(job.call_id), tool=job.name, ok=result.ok, code=code)
        if result.error is not None:
            raise AskbusError.of(result.error)
        return ToolAnswer(call_id=job.call_id, name=job.name, content=result.content, cut=result.cut)

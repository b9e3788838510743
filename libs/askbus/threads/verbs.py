"""What happens to threads. Only the agent-loop may import this."""

from askbus.access.model import Scope
from askbus.db.statements import Executor, Statement
from askbus.errors import NotFound
from askbus.threads.model import CreateThread, Thread

CREATE = Statement("askbus.threads", "sql/create.sql")


async def create(db: Executor, command: CreateThread, *, trace: str | None) -> Thread:
    """Makes a thread, or returns the one that the same command made. Raises PermissionDenied, NotFound for a project not theirs."""
    command.by.require(Scope.CHAT)
    row = await CREATE.row(
        db,
        id=command.thread_id,
        title=command.title,
        command_id=command.command_id,
        trace=trace,
        user_id=command.by.user_id,
        workspace_id=command.by.workspace_id,
        project_id=command.project_id,
        projects=None if command.by.projects is None else list(command.by.projects),
    )
    if row is None:
        raise NotFound("There is no such project.")
    return Thread.model_validate(row)

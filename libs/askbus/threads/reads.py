"""What a person may see of threads: their own, in projects that they see now."""

from uuid import UUID

from askbus.access.model import Principal, Scope
from askbus.db.statements import Executor, Statement
from askbus.errors import NotFound
from askbus.threads.model import Thread, ThreadDetail, ThreadFilter, ThreadPage

GET = Statement("askbus.threads", "sql/get.sql")
LIST = Statement("askbus.threads", "sql/list.sql")


def _access(by: Principal) -> dict[str, object]:
    by.require(Scope.CHAT)
    return {
        "user_id": by.user_id,
        "workspace_id": by.workspace_id,
        "projects": None if by.projects is None else list(by.projects),
    }


async def get(db: Executor, by: Principal, thread_id: UUID) -> ThreadDetail:
    """A thread with its messages. Raises NotFound, also where it is somebody else's."""
    row = await GET.row(db, id=thread_id, **_access(by))
    if row is None:
        raise NotFound("There is no such conversation.")
    return ThreadDetail.model_validate(row)


async def list_page(db: Executor, by: Principal, wanted: ThreadFilter) -> ThreadPage:
    """A page of the caller's own threads."""
    rows = await LIST.rows(db, project_id=wanted.project_id, before=wanted.before, limit=wanted.limit, **_access(by))
    threads = tuple(Thread.model_validate(row) for row in rows)
    return ThreadPage(threads=threads, next=threads[-1].id if len(threads) == wanted.limit else None)

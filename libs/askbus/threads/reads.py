"""What a person may see of threads: their own, in projects that they see now."""

from uuid import UUID

from askbus.access.model import Principal, Scope
from askbus.db.statements import Executor, Statement
from askbus.errors import NotFound
from askbus.threads.lines import patterns, snippet
from askbus.threads.model import Found, Hit, Search, Thread, ThreadDetail, ThreadFilter, ThreadPage

GET = Statement("askbus.threads", "sql/get.sql")
LIST = Statement("askbus.threads", "sql/list.sql")
SEARCH = Statement("askbus.threads", "sql/search.sql")


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


async def search(db: Executor, by: Principal, wanted: Search) -> Found:
    """A page of the caller's own threads in which every word stands, each with the part of a message that has one."""
    rows = await SEARCH.rows(
        db,
        words=patterns(wanted.q),
        project_id=wanted.project_id,
        before=wanted.before,
        limit=wanted.limit,
        **_access(by),
    )
    hits = tuple(
        Hit(
            thread=Thread.model_validate(row["thread"]),
            message_id=row["message_id"],
            role=row["role"],
            snippet=snippet(row["text"] or row["thread"]["title"], wanted.q),
        )
        for row in rows
    )
    return Found(hits=hits, next=hits[-1].thread.id if len(hits) == wanted.limit else None)

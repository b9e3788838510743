"""What a person may see of turns: their own, in projects that they see now."""

from uuid import UUID

from askbus.access.model import Principal, Scope
from askbus.db.statements import Executor, Statement
from askbus.errors import NotFound
from askbus.turns.model import ERRORS, TurnDetail

GET = Statement("askbus.turns", "sql/get.sql")


async def get(db: Executor, by: Principal, turn_id: UUID) -> TurnDetail:
    """A turn with its answer. Raises NotFound, also where it is somebody else's."""
    by.require(Scope.CHAT)
    row = await GET.row(
        db,
        id=turn_id,
        user_id=by.user_id,
        workspace_id=by.workspace_id,
        projects=None if by.projects is None else list(by.projects),
    )
    if row is None:
        raise NotFound("There is no such turn.")
    code = row["error_code"]
    return TurnDetail.model_validate({**row, "error": ERRORS.get(code, ERRORS["internal"]) if code else None})

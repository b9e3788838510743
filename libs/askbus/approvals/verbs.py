"""What happens to standing approvals: one function, one statement each. The action-applier, and expiry for its one verb, alone import this.

Each runs on the connection that it is given and opens no transaction. `now` is for tests alone: the database's clock rules.
"""

from datetime import datetime
from uuid import UUID

from pydantic import JsonValue

from askbus.access.model import Principal, PrincipalKind, Role, Scope
from askbus.approvals.cover import Cover
from askbus.approvals.model import DAY, Approval, ApprovalState, MakeApproval, RevokeApproval
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import Conflict, InvalidInput, NotFound, PermissionDenied

MAKE = Statement("askbus.approvals", "sql/make.sql")
REVOKE = Statement("askbus.approvals", "sql/revoke.sql")
CONFIRM = Statement("askbus.approvals", "sql/confirm.sql")
WEIGHED = Statement("askbus.approvals", "sql/weighed.sql")
UNWEIGHED = Statement("askbus.approvals", "sql/unweighed.sql")
EXPIRE_DUE = Statement("askbus.approvals", "sql/expire_due.sql")


async def make(
    db: Executor,
    command: MakeApproval,
    cover: Cover,
    *,
    trace: str | None,
    now: datetime | None = None,
    confirm_role: Role = Role.MEMBER,
) -> Approval:
    """Stores an approval of `cover`, or returns what the same id already made.

    Raises PermissionDenied for all but people, NotFound where the conversation or token is not theirs or they may not confirm there,
    InvalidInput for an id that is taken.
    """
    require_person(command.by)
    said = command.terms
    row = await MAKE.row(
        db,
        id=command.approval_id,
        project_id=said.project_id,
        thread_id=said.thread_id,
        token_id=said.token_id,
        cover=cover,
        most_uses=said.most_uses,
        most_per_day=said.most_per_day,
        expires_in=said.expires_in,
        confirm_role=confirm_role,
        command_id=command.command_id,
        trace=trace,
        now=now,
        **_acting(command.by),
    )
    if row is None:
        raise NotFound("There is no such conversation or token of yours in this project, or you may not confirm changes there.")
    if row["user_id"] != command.by.user_id or row["workspace_id"] != command.by.workspace_id:
        raise InvalidInput("This approval id is taken. Send a new one.")
    return _as_it_reads(row)


async def revoke(db: Executor, command: RevokeApproval, *, trace: str | None, now: datetime | None = None) -> Approval:
    """Ends an approval. Raises NotFound, PermissionDenied, Conflict."""
    require_person(command.by)
    row = await REVOKE.row(db, id=command.approval_id, command_id=command.command_id, trace=trace, now=now, **_acting(command.by))
    if row is None or not row["seen"]:
        raise NotFound("There is no such standing approval.")
    approval = _as_it_reads(row)
    if row["moved"] or row["repeated"]:
        return approval
    if not row["allowed"]:
        raise PermissionDenied("Only who made a standing approval, and owners and admins, may revoke it.")
    shown: dict[str, JsonValue] = {"approval": approval.model_dump(mode="json", include={"id", "state", "ended_at"})}
    raise Conflict(f"This standing approval is {approval.state.value} already.", shown)


async def confirm(
    db: Executor,
    action_id: UUID,
    approval_id: UUID,
    digest: str,
    *,
    trace: str | None,
    now: datetime | None = None,
    confirm_role: Role = Role.MEMBER,
) -> bool:
    """Confirms a pending action by a standing approval whose cover was found to hold it. False where anything stood against it."""
    row = await CONFIRM.row(
        db, action_id=action_id, approval_id=approval_id, digest=digest, confirm_role=confirm_role, trace=trace, now=now
    )
    return row is not None


async def weighed(db: Executor, action_id: UUID) -> None:
    """None confirmed it: it waits for people from now on."""
    await WEIGHED.run(db, action_id=action_id)


async def unweighed(db: Executor, *, rested: float, batch: int = 10) -> list[UUID]:
    """Pending actions that were to be looked at and were not for `rested` seconds, each handed to one caller and not again for as long."""
    return [row["id"] for row in await UNWEIGHED.rows(db, rested=rested, batch=batch)]


async def expire_due(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Expires up to `batch` active approvals past their time; any number of callers, each approval once."""
    return [row["id"] for row in await EXPIRE_DUE.rows(db, batch=batch, now=now)]


def require_person(by: Principal) -> None:
    """Raises PermissionDenied for tokens, and for those who may confirm nothing."""
    if by.kind is not PrincipalKind.SESSION:
        raise PermissionDenied("Approving changes in advance needs a person: sign in. No token can do it.")
    by.require(Scope.ACTIONS_CONFIRM)


def require_allowed(command: MakeApproval, longest_days: int) -> None:
    """Raises PermissionDenied where the deployment allows none, InvalidInput where it is to last too long."""
    if longest_days == 0:
        raise PermissionDenied(
            "Standing approvals are off. Whoever runs askbus can allow them with ASKBUS_STANDING_APPROVAL_DAYS.",
            {"setting": "ASKBUS_STANDING_APPROVAL_DAYS"},
        )
    if command.terms.expires_in > longest_days * DAY:
        raise InvalidInput(
            f"A standing approval lasts at most {longest_days} days here.", {"field": "expires_in", "most": longest_days * DAY}
        )


def _acting(by: Principal) -> dict[str, object]:
    return {"user_id": by.user_id, "workspace_id": by.workspace_id, "via": by.kind.value, "via_id": by.id}


def _as_it_reads(row: Row) -> Approval:
    """The row as people see it: past its time an active one is expired, swept or not."""
    approval = Approval.model_validate(row)
    if approval.state is ApprovalState.ACTIVE and row["past"]:
        return approval.model_copy(update={"state": ApprovalState.EXPIRED, "ended_at": approval.expires_at})
    return approval

"""Actions to test with: in every state straight in the database, and over HTTP on a small shop."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx2

from askbus.access.model import Principal
from askbus.actions import verbs
from askbus.actions.model import (
    Action,
    ActionState,
    ConfirmAction,
    Proposal,
    ProposeChanges,
    RejectAction,
    UndoAction,
    WithdrawAction,
)
from askbus.db.ids import new_id
from askbus.db.statements import Executor
from askbus.records.changes import (
    Change,
    FieldChange,
    Image,
    LedgerKind,
    Mismatch,
    Operation,
    Outcome,
    OutcomeState,
    PreparedAction,
    PreparedOperation,
    Problem,
    digest_of,
)
from askbus.records.model import Kind
from askbus.testing.people import Company
from askbus.testing.records import TeamDatabase

OLD, NEW = "ada@example.org", "ada@lovelace.example"

OPERATION = Operation(id="a", kind=Change.UPDATE, collection="customers", record=1, values={"email": NEW})


def prepared_action(after: str = NEW) -> PreparedAction:
    """Ada's new address, as it would have been prepared."""
    change = FieldChange(
        field="email",
        kind=Kind.TEXT,
        type="character varying(60)",
        before=OLD,
        after=after,
        before_display=OLD,
        after_display=after,
    )
    operations = (
        PreparedOperation(
            id="a", kind=Change.UPDATE, collection="customers", key={"id": "1"}, label="Ada Lovelace", changes=(change,)
        ),
    )
    return PreparedAction(operations=operations, digest=digest_of(operations))


def propose_command(
    by: Principal, project_id: UUID, *, action_id: UUID | None = None, dedupe_key: str | None = None
) -> ProposeChanges:
    """The command that proposes it; its own id is the action's."""
    chosen = action_id or new_id()
    proposal = Proposal(project_id=project_id, operations=(OPERATION,), dedupe_key=dedupe_key)
    return ProposeChanges(command_id=chosen, by=by, action_id=chosen, proposal=proposal)


def outcome_of(action_id: UUID, state: OutcomeState, *, row_id: UUID | None = None) -> Outcome:
    """What a ledger could say."""
    undoing = state in verbs.UNDONE
    image = Image(
        operation="a", kind=Change.UPDATE, collection="customers", label="Ada Lovelace", key={"id": "1"},
        key_before={"id": "1"}, before={"email": OLD}, after={"email": NEW}, sealed={"password_hash": "5e5e"},
    )  # fmt: skip
    mismatch = Mismatch(
        operation="a", collection="customers", label="Ada Lovelace", field="email", expected=OLD, found="a@b.example",
        message="email was edited",
    )  # fmt: skip
    return Outcome(
        id=row_id or action_id,
        kind=LedgerKind.UNDO if undoing else LedgerKind.APPLY,
        action_id=action_id,
        state=state,
        at=datetime.now(UTC),
        images=(image,) if state in {OutcomeState.APPLIED, OutcomeState.UNDONE} else (),
        mismatches=(mismatch,) if state in {OutcomeState.CONFLICTED, OutcomeState.REFUSED} else (),
        problem=Problem(operation="a", field="email", message="taken") if state is OutcomeState.FAILED else None,
    )


async def pending_action(db: Executor, by: Principal, project_id: UUID, *, dedupe_key: str | None = None) -> Action:
    return await verbs.propose(db, propose_command(by, project_id, dedupe_key=dedupe_key), prepared_action(), trace=None)


async def action_in(db: Executor, state: ActionState, by: Principal, decider: Principal, project_id: UUID) -> Action:
    """An action that `by` proposed and that came to this state, decided by `decider` where somebody decides."""
    action = await pending_action(db, by, project_id)

    async def confirmed() -> Action:
        command = ConfirmAction(command_id=uuid4(), by=decider, action_id=action.id, digest=action.digest)
        return await verbs.confirm(db, command, trace=None)

    async def settled(outcome: OutcomeState) -> Action:
        await confirmed()
        assert await verbs.record_outcome(db, action.id, outcome_of(action.id, outcome), trace=None)
        return action

    async def undone() -> Action:
        await settled(OutcomeState.APPLIED)
        command = UndoAction(command_id=uuid4(), by=decider, action_id=action.id, undo_id=uuid4())
        undo = await verbs.request_undo(db, command, trace=None)
        assert await verbs.record_undo(db, undo.id, outcome_of(action.id, OutcomeState.UNDONE, row_id=undo.id), trace=None)
        return action

    async def expired() -> Action:
        assert action.id in await verbs.expire_due(db, now=action.expires_at + timedelta(seconds=1))
        return action

    async def rejected() -> Action:
        return await verbs.reject(db, RejectAction(command_id=uuid4(), by=decider, action_id=action.id), trace=None)

    async def withdrawn() -> Action:
        return await verbs.withdraw(db, WithdrawAction(command_id=uuid4(), by=by, action_id=action.id), trace=None)

    async def pending() -> Action:
        return action

    ways: Mapping[ActionState, Callable[[], Awaitable[Action]]] = {
        ActionState.PENDING: pending,
        ActionState.CONFIRMED: confirmed,
        ActionState.REJECTED: rejected,
        ActionState.WITHDRAWN: withdrawn,
        ActionState.EXPIRED: expired,
        ActionState.APPLIED: lambda: settled(OutcomeState.APPLIED),
        ActionState.FAILED: lambda: settled(OutcomeState.FAILED),
        ActionState.CONFLICTED: lambda: settled(OutcomeState.CONFLICTED),
        ActionState.UNDONE: undone,
    }
    await ways[state]()
    return action


def update(values: Mapping[str, object], *, record: int = 1, collection: str = "customers", id: str = "a") -> dict[str, Any]:  # noqa: A002
    """An operation as it is sent over HTTP."""
    return {"id": id, "kind": "update", "collection": collection, "record": record, "values": values}


def create(values: Mapping[str, object], *, collection: str = "customers", id: str = "a") -> dict[str, Any]:  # noqa: A002
    return {"id": id, "kind": "create", "collection": collection, "values": values}


async def proposed(client: httpx2.AsyncClient, company: Company, *operations: Mapping[str, object], **said: object) -> Any:
    """Proposes over HTTP and returns the action; Ada's new address unless other operations are given."""
    body = {"project_id": str(company.north), "operations": operations or [update({"email": NEW})], **said}
    response = await client.post("/v1/actions", json=body)
    assert response.status_code == 201, response.text
    return response.json()


async def confirmed(client: httpx2.AsyncClient, action: Mapping[str, Any]) -> Any:
    """Confirms what was shown, and waits for what becomes of it."""
    response = await client.post(f"/v1/actions/{action['id']}/confirm", json={"digest": action["digest"]})
    assert response.status_code == 200, response.text
    return await at_rest(client, action["id"])


async def at_rest(client: httpx2.AsyncClient, action_id: str) -> Any:
    """The action once nothing more is expected to happen to it."""
    response = await client.get(f"/v1/actions/{action_id}", params={"wait": 20})
    assert response.status_code == 200, response.text
    return response.json()


async def undone(client: httpx2.AsyncClient, action_id: str) -> Any:
    """Asks for an undo, and waits for what becomes of it."""
    response = await client.post(f"/v1/actions/{action_id}/undo", json={})
    assert response.status_code == 200, response.text
    return await at_rest(client, action_id)


async def email_of(team: TeamDatabase, customer: int = 1) -> object:
    """The address as the team's own database has it."""
    return await team.value(f"SELECT email FROM customers WHERE id = {customer:d}")  # noqa: S608

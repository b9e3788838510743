"""An answer that claims a change as done is marked where that change is still pending, and nowhere else."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from tests.verbs.turn_rows import said, taken, turn_in

from askbus.access.model import Principal
from askbus.actions import verbs as actions
from askbus.actions.model import Action, ConfirmAction, RejectAction
from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.testing.actions import prepared_action, propose_command
from askbus.testing.people import Company
from askbus.turns import verbs
from askbus.turns.model import TurnState


async def proposed(pool: Pool, by: Principal, project_id: UUID, turn_id: UUID) -> Action:
    call = new_id()
    thread_id = await pool.fetchval("SELECT thread_id FROM turns WHERE id = $1", turn_id)
    command = propose_command(by, project_id, action_id=call).model_copy(
        update={"thread_id": thread_id, "turn_id": turn_id, "call_id": call}
    )
    return await actions.propose(pool, command, prepared_action(), trace=None)


@pytest.mark.requirement("R19")
@pytest.mark.parametrize("claims", [True, False])
@pytest.mark.parametrize(
    "states", [("pending",), ("pending", "pending"), ("confirmed",), ("pending", "confirmed"), ("rejected",), ()]
)
async def test_a_claim_is_marked_while_all_that_the_turn_proposed_is_pending(
    pool: Pool, loop: Pool, company: Company, states: tuple[str, ...], claims: bool
) -> None:
    """Where something was confirmed meanwhile, or nothing was proposed, the claim may be true: it is not marked."""
    mia = company["mia"].principal
    turn_id = await turn_in(loop, company, TurnState.QUEUED)
    claim = await taken(loop, turn_id)
    made = [await proposed(pool, mia, company.north, turn_id) for _ in states]
    for action, state in zip(made, states, strict=True):
        if state == "confirmed":
            confirm = ConfirmAction(command_id=uuid4(), by=mia, action_id=action.id, digest=action.digest)
            await actions.confirm(pool, confirm, trace=None)
        if state == "rejected":
            await actions.reject(pool, RejectAction(command_id=uuid4(), by=mia, action_id=action.id), trace=None)
    assert await verbs.finish_model_step(loop, claim, replace(said(), claims=claims), trace=None)
    marked = await pool.fetchval("SELECT unconfirmed FROM messages WHERE turn_id = $1 AND role = 'assistant'", turn_id)
    expected = claims and states and set(states) == {"pending"}
    assert marked == ([action.id for action in made] if expected else None)

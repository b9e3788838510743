"""Whom the owners wake about an outcome: a connection on the bus outlives the token that it was made with."""

from collections.abc import Awaitable, Callable

import pytest

from askbus.access import verbs as access
from askbus.actions import reads as actions
from askbus.actions.model import ActionState
from askbus.db.pool import Pool
from askbus.questions import reads as questions
from askbus.questions.model import QuestionState
from askbus.testing.actions import action_in
from askbus.testing.people import Agent, Company, give_token
from askbus.testing.questions import question_in


async def revoke(pool: Pool, company: Company, agent: Agent) -> None:
    await access.revoke_token(pool, company["mia"].principal, agent.principal.id)


async def expire(pool: Pool, _company: Company, agent: Agent) -> None:
    await pool.execute("UPDATE tokens SET expires_at = now() WHERE id = $1", agent.principal.id)


async def leave_the_project(pool: Pool, company: Company, _agent: Agent) -> None:
    await access.remove_from_project(pool, company.workspace_id, company.north, company["mia"].id)


@pytest.mark.requirement("I3", "I7")
@pytest.mark.parametrize("ends", [revoke, expire, leave_the_project])
async def test_nobody_is_woken_about_what_they_may_not_see_any_more(
    pool: Pool, company: Company, ends: Callable[[Pool, Company, Agent], Awaitable[None]]
) -> None:
    """By the token's end, and by its owner's leave of the project; until then they are."""
    mia, agent = company["mia"].principal, await give_token(pool, company["mia"])
    question = await question_in(pool, QuestionState.ANSWERED, agent.principal, mia, company.north)
    action = await action_in(pool, ActionState.APPLIED, agent.principal, mia, company.north)
    assert await questions.asker_token(pool, question.id) == agent.principal.id
    assert await actions.proposer_token(pool, action.id) == agent.principal.id
    await ends(pool, company, agent)
    assert await questions.asker_token(pool, question.id) is None
    assert await actions.proposer_token(pool, action.id) is None

"""Reading questions for many principals at once."""

import pytest

from askbus.access.model import Scope
from askbus.db.pool import Pool
from askbus.errors import AskbusError, NotFound, PermissionDenied
from askbus.questions import reads
from askbus.testing.people import Company, give_token
from askbus.testing.questions import open_question


@pytest.mark.requirement("I3", "Q2")
async def test_many_principals_are_read_to_at_once_and_each_sees_its_own(pool: Pool, company: Company) -> None:
    """By one statement: what one of them may not see, or may not read at all, takes nothing from the others and gives them nothing."""
    mia, max_, stranger = (company[name].principal for name in ("mia", "max", "stranger"))
    south = (await give_token(pool, company["owner"], projects=(company.south,))).principal
    chatty = (await give_token(pool, company["owner"], (Scope.CHAT,))).principal
    question = await open_question(pool, mia, company.north)
    other = await open_question(pool, south, company.south)
    sought = [(by, one.id) for one in (question, other) for by in (mia, stranger, chatty, max_, south)]
    seen = [type(one) if isinstance(one, AskbusError) else one.id for one in await reads.get_each(pool, sought)]
    assert seen[:5] == [question.id, NotFound, PermissionDenied, question.id, NotFound]
    assert seen[5:] == [NotFound, NotFound, PermissionDenied, NotFound, other.id]
    alone = await reads.get(pool, max_, question.id)
    assert alone in await reads.get_each(pool, sought)
    assert await reads.get_each(pool, []) == []

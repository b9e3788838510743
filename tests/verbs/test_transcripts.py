"""What an export reads: every exchange once and in order, however many there are, and what is left of those that are not kept."""

import pytest
from tests.verbs.thread_rows import confirmed, exchange, proposal_of, thread_of

from askbus.db.pool import Pool
from askbus.errors import TooLarge
from askbus.records.changes import OutcomeState
from askbus.testing.people import Company
from askbus.testing.turns import RunningTurn
from askbus.threads import verbs
from askbus.turns.verbs import fail
from askbus_gateway.export import transcript
from askbus_gateway.export.markdown import to_markdown

FILL = """
    WITH made AS (
        INSERT INTO turns (id, workspace_id, project_id, user_id, thread_id, client_message_id, state, queued_at, settled_at, principal)
        SELECT uuidv7(), workspace_id, project_id, user_id, id, n::text, 'completed', now() - n % 3 * interval '1 hour', now(), '{}'
          FROM threads, generate_series(1, 45) n WHERE id = $1
        RETURNING id, thread_id, client_message_id)
    INSERT INTO messages (id, thread_id, seq, turn_id, role, text)
    SELECT uuidv7(), thread_id, client_message_id::int, id, 'user', client_message_id FROM made"""


@pytest.mark.requirement("C9")
async def test_every_exchange_is_read_once_and_in_order_over_many_pages(loop: Pool, pool: Pool, company: Company) -> None:
    """Also where several were queued in the same moment."""
    thread = await thread_of(loop, company)
    await pool.execute(FILL, thread.id)
    read = await transcript.read(pool, company["mia"].principal, thread.id, most=1 << 20)
    expected = await pool.fetch("SELECT client_message_id FROM turns ORDER BY queued_at, id")
    assert [each.messages[0].text for each in read.exchanges] == [row["client_message_id"] for row in expected]


@pytest.mark.requirement("C9")
async def test_more_text_than_a_format_takes_is_refused_before_it_is_read(loop: Pool, pool: Pool, company: Company) -> None:
    """The refusal says how much there is, and that another format may do."""
    thread = await thread_of(loop, company)
    await exchange(loop, company, thread.id)
    assert await transcript.read(pool, company["mia"].principal, thread.id, most=10)
    with pytest.raises(TooLarge, match="10 bytes of text; this format takes 9"):
        await transcript.read(pool, company["mia"].principal, thread.id, most=9)


@pytest.mark.requirement("C9", "C13")
async def test_what_was_confirmed_in_exchanges_that_are_not_kept_is_still_exported(
    loop: Pool, pool: Pool, company: Company, turn: RunningTurn
) -> None:
    """Under the line that says how many are gone."""
    mia = company["mia"].principal
    await confirmed(pool, mia, await proposal_of(pool, turn), OutcomeState.APPLIED)
    assert await fail(loop, turn.id, "internal")
    await exchange(loop, company, turn.thread_id)
    async with loop.acquire() as db, db.transaction():
        await verbs.trim(db, turn.thread_id, most_messages=1, most_bytes=1 << 20)
    read = await transcript.read(pool, mia, turn.thread_id, most=1 << 20)
    assert (read.dropped_turns, len(read.exchanges)) == (2, 0)
    assert [change.state for change in read.earlier_changes] == ["applied"]
    written = to_markdown(read)
    assert "*2 earlier exchanges are not kept any more.*" in written
    assert "- Change: " in written

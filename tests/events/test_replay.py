"""Coming back with Last-Event-ID: exactly what was missed, or a reset."""

import json
from pathlib import Path
from uuid import UUID

import pytest
from tests.events.conftest import BOTH_WAYS, Gateways

from askbus.access import verbs as access
from askbus.db.pool import Pool
from askbus.feed.model import EventId, Snapshot
from askbus.questions import verbs
from askbus.testing.composed import Composed
from askbus.testing.events import EventClient, following
from askbus.testing.people import Company, Person
from askbus.testing.questions import answer_command, ask_command, open_question
from askbus_gateway.sse.catch_up import LONGEST_REPLAY

pytestmark = pytest.mark.requirement("S4")

CASE = json.loads((Path(__file__).parents[1] / "cases" / "sse" / "S07.json").read_text("utf-8"))


async def ids(client: EventClient) -> list[str]:
    return [change["id"] for change in await client.changes()]


async def position(url: str, who: Person) -> str:
    """The id of the state that this person is shown now."""
    async with following(url, who) as client:
        await client.next()
    assert client.last_id is not None
    return client.last_id


async def asked(pool: Pool, company: Company) -> str:
    return str((await open_question(pool, company["mia"].principal, company.north)).id)


@pytest.mark.requirement("S10")
@BOTH_WAYS
async def test_what_was_missed_comes_in_order_and_once(gateway: Composed, company: Company, pool: Pool) -> None:
    """One event with all of it, and live changes behind it."""
    before = await position(gateway.http, company["max"])
    missed = [await asked(pool, company) for _ in range(3)]
    await verbs.answer(pool, answer_command(company["max"].principal, ask_id := UUID(missed[1])), trace=None)
    async with following(gateway.http, company["max"], after=before) as client:
        changes = await client.changes()
        assert [change["id"] for change in changes] == [*missed, str(ask_id)]
        assert [change["status"] for change in changes] == ["open", "open", "open", "answered"]
        later = await asked(pool, company)
        assert await ids(client) == [later]
    async with following(gateway.http, company["max"], after=client.last_id) as client:
        last = await asked(pool, company)
        assert await ids(client) == [last]


@pytest.mark.requirement("S10")
@BOTH_WAYS
async def test_a_change_that_commits_late_is_not_lost(gateway: Composed, company: Company, pool: Pool) -> None:
    """Case S05: the lower number commits after the higher one was delivered, live and in a replay alike."""
    mia = company["mia"].principal
    async with following(gateway.http, company["max"]) as watcher, pool.acquire() as slow:
        start = (await watcher.next()).id
        transaction = slow.transaction()
        await transaction.start()
        low = ask_command(mia, company.north)
        await verbs.ask(slow, low, trace=None)
        high = await asked(pool, company)
        assert await ids(watcher) == [high]
        between = watcher.last_id
        await transaction.commit()
        assert await ids(watcher) == [str(low.question_id)]
    for after, expected in ((between, [str(low.question_id)]), (start, [str(low.question_id), high])):
        async with following(gateway.http, company["max"], after=after) as client:
            assert await ids(client) == expected


async def test_what_was_rolled_back_never_comes(gateway: Composed, company: Company, pool: Pool) -> None:
    """It never was."""
    async with following(gateway.http, company["max"]) as client, pool.acquire() as db:
        await client.next()
        transaction = db.transaction()
        await transaction.start()
        await verbs.ask(db, ask_command(company["mia"].principal, company.north), trace=None)
        await transaction.rollback()
        after = await asked(pool, company)
        assert await ids(client) == [after]


@pytest.mark.requirement("S10")
@BOTH_WAYS
async def test_a_position_holds_on_every_gateway_and_over_a_restart(gateways: Gateways, company: Company, pool: Pool) -> None:
    """Two gateways, each ahead of the other for a moment, and a third that starts when both are gone."""
    max_ = company["max"]
    async with gateways(2) as running:
        async with following(running.url(0), max_) as client:
            await client.next()
            first = await asked(pool, company)
            assert await ids(client) == [first]
        second = await asked(pool, company)
        async with following(running.url(1), max_, after=client.last_id) as client:
            assert await ids(client) == [second]
            third = await asked(pool, company)
            assert await ids(client) == [third]
        async with following(running.url(0), max_, after=client.last_id) as client:
            fourth = await asked(pool, company)
            assert await ids(client) == [fourth]
    fifth = await asked(pool, company)
    async with gateways() as restarted, following(restarted.http, max_, after=client.last_id) as client:
        assert await ids(client) == [fifth]


async def test_a_client_that_missed_nothing_moves_on_without_an_event(gateway: Composed, company: Company, pool: Pool) -> None:
    """What others did meanwhile is not read again at its next return."""
    before = await position(gateway.http, company["max"])
    hidden = await open_question(pool, company["owner"].principal, company.south)
    async with following(gateway.http, company["max"], after=before) as client:
        while client.last_id is None:
            await client.read()
        assert client.events == []
    moved = EventId.parse(client.last_id)
    xid = await pool.fetchval("SELECT xid::text::bigint FROM change_log WHERE entity_id = $1", hidden.id)
    assert moved.snapshot.sees(xid)
    assert not EventId.parse(before).snapshot.sees(xid)


async def test_an_id_that_cannot_be_honoured_gets_a_reset_and_a_fresh_state(
    gateway: Composed, company: Company, pool: Pool
) -> None:
    """Case S07: pruned, ahead, of another epoch, or nonsense: said in an event, never an error, silence or a full replay."""
    position_of = {}
    for number in range(CASE["log"]["min"] - 7, CASE["log"]["max"] + 1):
        question = await asked(pool, company)
        xid = await pool.fetchval("SELECT xid::text::bigint FROM change_log WHERE entity_id = $1", UUID(question))
        position_of[number] = (Snapshot(xid + 1, xid + 1, frozenset()), question)
    pruned = position_of[CASE["log"]["min"] - 1][0].xmax - 1
    await pool.execute("DELETE FROM change_log WHERE xid::text::bigint <= $1", pruned)
    await pool.execute("UPDATE feed SET pruned = $1::text::xid8", str(pruned))
    epoch = await pool.fetchval("SELECT epoch FROM feed")

    def ours(sent: str) -> str:
        case_epoch, dash, number = sent.partition("-")
        if not dash or not number.isdecimal():
            return sent
        known = position_of.get(int(number), (Snapshot(10**9, 10**9, frozenset()), ""))
        return f"{epoch if case_epoch == CASE['log']['epoch'] else 'other'}.{known[0]}"

    for request in CASE["requests"]:
        sent = request["Last-Event-ID"]
        # No server takes U+0000 in a header (RFC 9110, section 5.5), and no browser sends one; an address may hold it.
        after, query = (ours(sent), None) if "\0" not in sent else (None, {"after": sent})
        async with following(gateway.http, company["max"], after=after, query=query) as client:
            assert client.status == 200
            if request.get("first") == "event: resync":
                assert (await client.next()).name == "reset", sent
                assert (await client.next()).name == "state", sent
            elif request.get("same_as") == "no header":
                assert (await client.next()).name == "state"
            elif request["first_event"] is None:
                next_one = await asked(pool, company)
                assert await ids(client) == [next_one]
            else:
                assert (await ids(client))[0] == position_of[request["first_event"]][1]


async def test_the_position_can_be_given_in_the_address(gateway: Composed, company: Company, pool: Pool) -> None:
    """For clients that cannot set the header: a new EventSource after a reload."""
    before = await position(gateway.http, company["max"])
    missed = await asked(pool, company)
    async with following(gateway.http, company["max"], query={"after": before}) as client:
        assert await ids(client) == [missed]


async def test_too_much_to_replay_gets_a_reset(gateway: Composed, company: Company, pool: Pool) -> None:
    """What others' workspaces did does not count; what this one did does, up to a bound."""
    before = await position(gateway.http, company["max"])
    insert = (
        "INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id)"
        " SELECT 'question.asked', 'question', uuidv7(), 'open', $1, $2 FROM generate_series(1, $3::int)"
    )
    await pool.execute(insert, company["stranger"].principal.workspace_id, company.elsewhere, LONGEST_REPLAY + 1)
    await pool.execute(insert, company.workspace_id, company.north, LONGEST_REPLAY)
    async with following(gateway.http, company["max"], after=before) as client:
        assert len(await client.changes()) == LONGEST_REPLAY
    await pool.execute(insert, company.workspace_id, company.north, 1)
    async with following(gateway.http, company["max"], after=before) as client:
        assert [(await client.next()).name for _ in range(2)] == ["reset", "state"]


@pytest.mark.requirement("S2")
async def test_a_replay_goes_by_the_rights_of_now(gateway: Composed, company: Company, pool: Pool) -> None:
    """Who lost a project meanwhile is not told what happened there before; who got one starts with a state that has it."""
    max_ = company["max"]
    before = await position(gateway.http, max_)
    missed = await asked(pool, company)
    await access.remove_from_project(pool, company.workspace_id, company.north, max_.id)
    async with following(gateway.http, max_, after=before) as client:
        assert (await client.next()).name == "reset"
        assert (await client.next()).data["entities"] == []
    assert client.last_id is not None
    await access.add_to_project(pool, company.workspace_id, company.north, max_.id)
    async with following(gateway.http, max_, after=client.last_id) as client:
        assert (await client.next()).name == "reset"
        assert [entity["id"] for entity in (await client.next()).data["entities"]] == [missed]

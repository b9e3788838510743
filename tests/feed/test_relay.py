"""The relay: from the change log to a real JetStream, whatever fails between."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest
from nats.js.api import RawStreamMsg

from askbus.bus.connection import Connection, connect
from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.bus.provision import provision
from askbus.bus.publisher import publish_facts
from askbus.bus.streams import FACTS, FACTS_OF
from askbus.db.pool import Pool, open_pool
from askbus.errors import Unavailable
from askbus.feed.model import Change, Snapshot
from askbus.feed.relay import HOLD, Relay
from askbus.questions import verbs
from askbus.testing.people import Company, found_company
from askbus.testing.questions import answer_command, ask_command, open_question
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.waiting import until

OWNER = Service.QUESTION_BROKER
LEASE, POLL = 0.6, 0.1
ACTED_ON = FACTS_OF[OWNER] - {"question.asked"}
"""As if nobody acted on what is asked: each question below is passed over until it is answered."""

pytestmark = pytest.mark.requirement("S1")


@pytest.fixture
async def pool(database: TestDatabase) -> AsyncIterator[Pool]:
    async with open_pool(database.url, size=8, name="tests") as pool:
        yield pool


@pytest.fixture
async def company(pool: Pool) -> Company:
    return await found_company(pool)


@pytest.fixture
async def nc(nats_server: Server) -> AsyncIterator[Connection]:
    await provision(nats_server.url, ack_wait=1)
    connection = await connect(nats_server.url, "tests")
    yield connection
    await connection.close()


@dataclass
class Publisher:
    """Publishes to JetStream as the services do. `before` is called first, and may wait or fail."""

    nc: Connection
    before: Callable[[], object] | None = None
    batches: list[list[UUID]] = field(default_factory=list)

    async def __call__(self, changes: Sequence[Change]) -> None:
        self.batches.append([change.entity_id for change in changes])
        if self.before is not None:
            outcome = self.before()
            if asyncio.iscoroutine(outcome):
                await outcome
        await publish_facts(self.nc.jetstream(), [Fact.of(change) for change in changes])


def relay(pool: Pool, publisher: Publisher) -> Relay:
    return Relay(OWNER, ACTED_ON, pool, publisher, holder=uuid4(), lease=LEASE, poll=POLL)


@asynccontextmanager
async def running(*relays: Relay) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(relay.run()) for relay in relays]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def stored(nc: Connection) -> list[RawStreamMsg]:
    """All that JetStream keeps of the facts, in order."""
    state = (await nc.jsm().stream_info(FACTS)).state
    return [await nc.jsm().get_msg(FACTS, seq) for seq in range(state.first_seq, state.last_seq + 1)] if state.messages else []


async def answered(pool: Pool, company: Company) -> UUID:
    """A question that was asked and answered: two changes, of which one is relayed."""
    question = await open_question(pool, company["mia"].principal, company.north)
    await verbs.answer(
        pool, answer_command(company["max"].principal, question.id), trace="00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"
    )
    return question.id


def there(nc: Connection, number: int) -> Callable[[], Awaitable[bool]]:
    async def they_are() -> bool:
        return (await nc.jsm().stream_info(FACTS)).state.messages == number

    return they_are


async def cursor(pool: Pool) -> Snapshot:
    return Snapshot.parse(await pool.fetchval("SELECT cursor FROM relays WHERE owner = $1", OWNER.value))


async def test_what_somebody_acts_on_reaches_jetstream_with_its_id_and_trace(
    pool: Pool, company: Company, nc: Connection
) -> None:
    """In the order of the log, named so that a second time is no second message; what nobody acts on is passed over."""
    async with running(relay(pool, Publisher(nc))):
        questions = [await answered(pool, company) for _ in range(3)]
        await until(there(nc, 3))
    messages = await stored(nc)
    facts = [Fact.model_validate_json(message.data or b"") for message in messages]
    assert [(fact.fact, fact.entity_id, fact.status) for fact in facts] == [
        ("question.answered", question_id, "answered") for question_id in questions
    ]
    for fact, message in zip(facts, messages, strict=True):
        assert (message.headers or {})["Nats-Msg-Id"] == fact.message_id
        assert (message.headers or {})["traceparent"].startswith("00-abab")
    newest = await pool.fetchval("SELECT max(xid::text::bigint) FROM change_log")
    assert (await cursor(pool)).sees(newest)


async def test_one_of_two_relays_and_the_other_when_it_stops(pool: Pool, company: Company, nc: Connection) -> None:
    """A clean stop gives the lease back, so nobody waits for it to run out."""
    publishers = [Publisher(nc), Publisher(nc)]
    first, second = (relay(pool, publisher) for publisher in publishers)
    async with running(second):
        async with running(first):
            await answered(pool, company)
            await until(there(nc, 1))
            assert [first.holds, second.holds].count(True) == 1
            holder = 0 if first.holds else 1
            assert [len(publisher.batches) for publisher in publishers] == [1 - holder, holder]
        await answered(pool, company)
        await until(there(nc, 2), within=5)
        assert second.holds


async def test_a_frozen_holder_is_replaced_and_does_no_harm_when_it_wakes(pool: Pool, company: Company, nc: Connection) -> None:
    """It stalls in the middle of publishing; another takes over; what it then publishes again is dropped, and the cursor stays."""
    wakes = asyncio.Event()
    frozen, other = Publisher(nc, wakes.wait), Publisher(nc)
    one, two = relay(pool, frozen), relay(pool, other)
    async with running(one):
        question = await answered(pool, company)

        async def stalls() -> bool:
            return frozen.batches == [[question]]

        await until(stalls)
        async with running(two):
            await until(there(nc, 1))
            later = await answered(pool, company)
            await until(there(nc, 2))
            assert other.batches == [[question], [later]]

            async def other_stored() -> bool:
                newest = await pool.fetchval("SELECT max(xid::text::bigint) FROM change_log")
                return (await cursor(pool)).sees(newest)

            await until(other_stored)
            wakes.set()

            async def one_knows() -> bool:
                return not one.holds

            await until(one_knows)
            assert two.holds
            assert await other_stored()
            await answered(pool, company)
            await until(there(nc, 3))
    assert len({(message.headers or {})["Nats-Msg-Id"] for message in await stored(nc)}) == 3


@pytest.mark.requirement("S4")
async def test_a_fact_that_commits_late_is_relayed(pool: Pool, company: Company, nc: Connection) -> None:
    """Its number is lower than one that went out before it."""
    mia, max_ = company["mia"].principal, company["max"].principal
    async with running(relay(pool, Publisher(nc))), pool.acquire() as slow:
        transaction = slow.transaction()
        await transaction.start()
        late = ask_command(mia, company.north)
        await verbs.ask(slow, late, trace=None)
        await verbs.answer(slow, answer_command(max_, late.question_id), trace=None)
        early = await answered(pool, company)
        await until(there(nc, 1))
        await transaction.commit()
        await until(there(nc, 2))
    ids = [Fact.model_validate_json(message.data or b"").entity_id for message in await stored(nc)]
    assert ids == [early, late.question_id]


async def test_what_could_not_be_published_is_tried_again(pool: Pool, company: Company, nc: Connection) -> None:
    """JetStream does not answer twice; the cursor does not move past what it did not take."""
    failures = 2

    def fail() -> None:
        nonlocal failures
        if failures:
            failures -= 1
            raise Unavailable("JetStream did not acknowledge the facts in time.")

    publisher = Publisher(nc, fail)
    async with running(relay(pool, publisher)):
        question = await answered(pool, company)
        await until(there(nc, 1))
    assert publisher.batches == [[question]] * 3


async def test_a_crash_between_publishing_and_storing_repeats_without_doubling(
    pool: Pool, company: Company, nc: Connection
) -> None:
    """The next holder begins where the dead one had last stored; JetStream drops what it has by its id."""
    question = await answered(pool, company)
    dead = relay(pool, Publisher(nc))
    row = await HOLD.one(pool, owner=OWNER.value, holder=dead.holder, lease=LEASE, cursor=None)
    dead.cursor = row["cursor"]
    await dead._relay_once(pool)
    assert len(await stored(nc)) == 1
    next_one = Publisher(nc)
    async with running(relay(pool, next_one)):
        later = await answered(pool, company)
        await until(there(nc, 2))
    assert next_one.batches[0][0] == question
    assert [Fact.model_validate_json(message.data or b"").entity_id for message in await stored(nc)] == [question, later]


async def test_more_than_a_page_is_relayed_whole(pool: Pool, company: Company, nc: Connection) -> None:
    """What piled up while nobody relayed."""
    rows = await pool.fetch(
        "INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id)"
        " SELECT 'question.answered', 'question', uuidv7(), 'answered', $1, $2 FROM generate_series(1, 1234) RETURNING entity_id",
        company.workspace_id,
        company.north,
    )
    async with running(relay(pool, publisher := Publisher(nc))):
        await until(there(nc, 1234))
    assert [entity for batch in publisher.batches for entity in batch] == [row["entity_id"] for row in rows]


async def test_a_relay_that_waits_for_the_lease_is_not_driven_by_nudges(pool: Pool, company: Company, nc: Connection) -> None:
    """Every commit nudges every instance; those without the lease look for it once a poll, and no more often."""
    async with running(holder := relay(pool, Publisher(nc))):

        async def holds() -> bool:
            return holder.holds

        await until(holds)
        waiting = relay(pool, Publisher(nc))
        rests = 0
        hold = waiting._hold_and_relay

        async def counted() -> None:
            nonlocal rests
            rests += 1
            await hold()

        waiting._hold_and_relay = counted  # type: ignore[method-assign]
        async with running(waiting):
            for _ in range(5):
                waiting.nudge()
                await answered(pool, company)
                holder.nudge()
            await until(there(nc, 5))
            began = asyncio.get_running_loop().time()
            before = rests

            async def polled() -> bool:
                return rests >= before + 3

            await until(polled)
            assert asyncio.get_running_loop().time() - began > 2 * POLL

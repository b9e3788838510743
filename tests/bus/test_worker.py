"""The pull worker: facts at least once, in slots, with patience, and dead letters in the end."""

import asyncio

import pytest

from askbus.bus import dead
from askbus.bus.connection import Connection
from askbus.bus.dead import DeadLetters
from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.bus.pull import Pull
from askbus.bus.streams import DELIVERIES, DLQ, FACTS, SERVER_DELIVERIES
from askbus.bus.worker import Later, Worker
from askbus.errors import Conflict, Unavailable
from askbus.runtime.telemetry import traceparent
from askbus.testing.bus import ACK_WAIT, Bus, Seen, answered, handlers, spy
from askbus.testing.waiting import until

BROKER = Service.QUESTION_BROKER
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


async def test_a_fact_reaches_its_handler_and_is_acknowledged(bus: Bus, nc: Connection) -> None:
    """The handler gets ids and states as they were published, and that this is the first delivery."""
    seen, fact = Seen(), answered()
    await (worker := Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)).start()
    await bus.publish(nc, fact)
    assert await seen.count(1) == [fact]
    await bus.settled(nc)
    await worker.stop()


async def test_the_handler_goes_on_with_the_trace_of_the_change(bus: Bus, nc: Connection) -> None:
    """Whoever caused the change finds what followed from it under the same trace."""
    traces: list[str | None] = []

    async def note(_fact: Fact) -> None:
        traces.append(traceparent())

    seen = Seen(note)
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)
    await worker.start()
    await bus.publish(nc, answered(traceparent=TRACE))
    assert (await seen.count(1))[0].traceparent == TRACE
    await bus.settled(nc)
    assert [trace and trace.split("-")[1] for trace in traces] == [TRACE.split("-")[1]]
    await worker.stop()


async def test_two_workers_share_the_facts(bus: Bus, nc: Connection) -> None:
    """Each fact goes to one of them, none to both."""
    seen = Seen()
    workers = [Worker(await bus.connect(BROKER), BROKER, handlers(seen), slots=2, ack_wait=ACK_WAIT) for _ in range(2)]
    for worker in workers:
        await worker.start()
    facts = [answered(number) for number in range(200)]
    await bus.publish(nc, *facts)
    await seen.count(200)
    await bus.settled(nc)
    assert sorted(fact.seq or 0 for fact in seen.facts) == list(range(200))
    for worker in workers:
        await worker.stop()


async def test_a_message_that_is_no_fact_is_kept_with_the_reason(bus: Bus, nc: Connection) -> None:
    """Bad JSON is neither lost nor tried again, its content is not in the reason, and the worker goes on."""
    seen = Seen()
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)
    await worker.start()
    await nc.jetstream().publish("fact.question.answered.1", b'{"fact": "question.answered", "entity_id": "planted"}')
    letter = await bus.dead_letter(nc)
    assert letter.data == b'{"fact": "question.answered", "entity_id": "planted"}'
    headers = letter.headers or {}
    assert "entity_id: uuid_parsing" in headers[dead.REASON]
    assert "planted" not in headers[dead.REASON]
    assert headers[dead.SUBJECT] == "fact.question.answered.1"
    await bus.publish(nc, answered())
    await seen.count(1)
    await bus.settled(nc)
    await worker.stop()


@pytest.mark.requirement("O4")
async def test_a_failing_fact_is_tried_with_growing_delays_and_then_set_aside(bus: Bus, nc: Connection) -> None:
    """Its owner is told first; the reason names the error and the place, and quotes nothing."""

    async def fail(_fact: Fact) -> None:
        raise ValueError("planted")

    seen, told = Seen(fail), Seen()
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT, on_dead=told)
    await worker.start()
    fact = answered(traceparent=TRACE)
    await bus.publish(nc, fact)
    letter = await bus.dead_letter(nc)
    assert [seen.delivery for seen in seen.facts] == list(range(1, DELIVERIES + 1))
    waits = [later - sooner for sooner, later in zip(seen.times, seen.times[1:], strict=False)]
    assert all(wait >= ACK_WAIT / 10 * 2**number for number, wait in enumerate(waits))
    assert [dead.entity_id for dead in told.facts] == [fact.entity_id]
    headers = letter.headers or {}
    assert headers[dead.REASON].startswith("ValueError at test_worker.py:")
    assert headers[dead.DELIVERIES] == str(DELIVERIES)
    assert headers["traceparent"] == TRACE
    await bus.settled(nc)
    await worker.stop()


async def test_a_fact_is_not_given_up_before_its_owner_was_told(bus: Bus, nc: Connection) -> None:
    """Where telling the owner fails, the fact comes again, and becomes one dead letter in the end."""

    async def refuse_once(_fact: Fact) -> None:
        if len(told.facts) == 1:
            raise ConnectionError

    told = Seen(refuse_once)
    await _deliver(nc, answered(), times=DELIVERIES)
    worker = Worker(nc, BROKER, handlers(Seen()), ack_wait=ACK_WAIT, on_dead=told)
    await worker.start()
    await told.count(2)
    await bus.settled(nc)
    assert (await nc.jsm().stream_info(DLQ)).state.messages == 1
    await worker.stop()


async def test_a_fact_that_ends_its_worker_each_time_is_set_aside_unseen(bus: Bus, nc: Connection) -> None:
    """After as many deliveries without an outcome the handler is not called once more."""
    await _deliver(nc, answered(), times=DELIVERIES)
    seen = Seen()
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)
    await worker.start()
    await bus.dead_letter(nc)
    await bus.settled(nc)
    assert seen.facts == []
    await worker.stop()


async def test_what_the_server_gives_up_is_swept_into_the_dead_letters(bus: Bus, nc: Connection) -> None:
    """The last resort, for a message whose workers died before they could even set it aside."""
    told = Seen()
    letters = DeadLetters(nc, BROKER.value, told)
    await letters.watch()
    fact = answered()
    await _deliver(nc, fact, times=SERVER_DELIVERIES)
    pull = Pull(nc, FACTS, BROKER.value)
    await pull.open()
    assert await pull.one(0.2) is None
    letter = await bus.dead_letter(nc)
    assert (letter.headers or {})[dead.REASON] == f"given up by the server after {SERVER_DELIVERIES} deliveries"
    assert told.facts == [fact]
    await pull.close()
    await letters.close()


async def test_a_slow_handler_gets_its_fact_once(bus: Bus, nc: Connection) -> None:
    """While it works, far longer than ack_wait, the server is told that it does."""
    signs = await spy(nc, f"$JS.ACK.{FACTS}.{BROKER.value}.>")

    async def work(_fact: Fact) -> None:
        async def long_enough() -> bool:
            return sum(sign.data == b"+WPI" for sign in signs) >= 8

        await until(long_enough)

    seen = Seen(work)
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)
    await worker.start()
    await bus.publish(nc, answered())
    await bus.settled(nc)
    assert len(seen.facts) == 1
    await worker.stop()


async def test_a_handler_that_meets_a_live_lease_is_called_later(bus: Bus, nc: Connection) -> None:
    """It names the delay, and that is no failure."""

    async def held_once(fact: Fact) -> None:
        if fact.delivery == 1:
            raise Later(0.4)

    seen = Seen(held_once)
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)
    await worker.start()
    await bus.publish(nc, answered())
    await seen.count(2)
    await bus.settled(nc)
    assert seen.times[1] - seen.times[0] >= 0.4
    assert (await nc.jsm().stream_info(DLQ)).state.messages == 0
    await worker.stop()


async def test_a_fact_that_somebody_else_holds_all_the_time_is_left_to_the_sweep(bus: Bus, nc: Connection) -> None:
    """A lease that outlives all deliveries makes no dead letter: its holder works, and the owner's sweep wakes what it drops."""

    async def held(_fact: Fact) -> None:
        raise Later(0.01)

    seen = Seen(held)
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)
    await worker.start()
    await bus.publish(nc, answered())
    await seen.count(DELIVERIES)
    await bus.settled(nc)
    assert len(seen.facts) == DELIVERIES
    assert (await nc.jsm().stream_info(DLQ)).state.messages == 0
    await worker.stop()


@pytest.mark.parametrize("outage", [Unavailable("down"), ConnectionResetError()])
async def test_an_outage_costs_a_fact_no_delivery(bus: Bus, nc: Connection, outage: Exception) -> None:
    """While Postgres is down a fact keeps its slot and is tried again there: it is not the fact's fault."""

    async def down_at_first(_fact: Fact) -> None:
        if len(seen.facts) < 4:
            raise outage

    seen = Seen(down_at_first)
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)
    await worker.start()
    await bus.publish(nc, answered())
    await seen.count(4)
    await bus.settled(nc)
    assert [fact.delivery for fact in seen.facts] == [1, 1, 1, 1]
    await worker.stop()


async def test_patience_with_an_outage_ends(bus: Bus, nc: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is always down for one fact alone must not hold a slot for ever: each time it is given up counts."""
    monkeypatch.setattr("askbus.bus.worker.PATIENCE", 0.2)

    async def down_at_first(fact: Fact) -> None:
        if fact.delivery == 1:
            raise Unavailable("down")

    seen = Seen(down_at_first)
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)
    await worker.start()
    await bus.publish(nc, answered())
    await bus.settled(nc)
    assert seen.facts[-1].delivery == 2
    await worker.stop()


async def test_a_refusal_is_no_outage(bus: Bus, nc: Connection) -> None:
    """An error that will be the same next time counts."""

    async def refuse_once(fact: Fact) -> None:
        if fact.delivery == 1:
            raise Conflict("moved on")

    seen = Seen(refuse_once)
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)
    await worker.start()
    await bus.publish(nc, answered())
    await seen.count(2)
    assert [fact.delivery for fact in seen.facts] == [1, 2]
    await worker.stop()


async def test_a_worker_takes_no_more_than_it_has_slots_for(bus: Bus, nc: Connection) -> None:
    """What it cannot work on stays on the server, for others."""
    release = asyncio.Event()

    async def hold(_fact: Fact) -> None:
        await release.wait()

    busy, idle = Seen(hold), Seen()
    first = Worker(nc, BROKER, handlers(busy), slots=2, ack_wait=ACK_WAIT)
    await first.start()
    await bus.publish(nc, *(answered(number) for number in range(2)))
    await busy.count(2)
    assert await first.healthy()
    second = Worker(await bus.connect(BROKER), BROKER, handlers(idle), slots=2, ack_wait=ACK_WAIT)
    await second.start()
    await bus.publish(nc, *(answered(number) for number in range(2, 12)))
    await idle.count(10)
    assert len(busy.facts) == 2
    release.set()
    await first.stop()
    await second.stop()


def test_a_worker_needs_a_handler_for_each_of_its_facts() -> None:
    """Else a fact would have a consumer and nobody to act on it."""
    some = dict(list(handlers(Seen()).items())[1:])
    with pytest.raises(ValueError, match=r"question-broker: handlers and streams\.ACTS_ON differ in"):
        Worker(Connection(), BROKER, some)


async def _deliver(nc: Connection, fact: Fact, *, times: int) -> None:
    """As many deliveries as workers that died over it would have had."""
    await nc.jetstream().publish(fact.subject, fact.model_dump_json().encode())
    pull = Pull(nc, FACTS, BROKER.value)
    await pull.open()
    for _ in range(times):
        message = await pull.one(5)
        assert message is not None
        await message.nak()
    await nc.flush()
    await pull.close()

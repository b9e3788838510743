"""The pull worker when something goes away: the server, the consumer, the worker itself."""

import asyncio
import time

from askbus.bus.connection import Connection
from askbus.bus.dead import DeadLetters, Letter
from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.bus.pull import Pull
from askbus.bus.streams import DLQ, FACTS
from askbus.bus.worker import EXPIRES, Worker
from askbus.errors import Unavailable
from askbus.testing.bus import ACK_WAIT, Bus, Seen, answered, handlers, spy
from askbus.testing.waiting import until

BROKER = Service.QUESTION_BROKER
LONG = 60.0
"""An ack_wait that no test waits for: what comes again was handed back."""


async def test_work_goes_on_after_the_server_was_killed(bus: Bus, nc: Connection) -> None:
    """kill -9 and a restart: what was in work is finished, what was stored is delivered, what comes is handled at once."""
    release = asyncio.Event()

    async def hold_first(_fact: Fact) -> None:
        if len(seen.facts) == 1:
            await release.wait()

    seen = Seen(hold_first)
    worker = Worker(nc, BROKER, handlers(seen), slots=1, ack_wait=ACK_WAIT)
    await worker.start()
    facts = [answered(number) for number in range(3)]
    await bus.publish(nc, *facts[:2])
    await seen.count(1)
    await bus.nats.kill()
    await until(lambda: _is(not nc.is_connected))
    assert not await worker.healthy()
    release.set()
    await bus.nats.start()
    await until(lambda: _is(nc.is_connected))
    await bus.publish(nc, facts[2])
    await bus.settled(nc)
    assert {fact.entity_id for fact in seen.facts} == {fact.entity_id for fact in facts}
    await until(worker.healthy)
    await worker.stop()


async def test_an_idle_worker_asks_anew_as_soon_as_the_server_is_back(bus: Bus, nc: Connection) -> None:
    """A new server knows nothing of the requests that waited on the old one; their time is not waited for."""
    seen = Seen()
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)
    await worker.start()
    await until(lambda: _waits(nc, 8))
    await bus.nats.kill()
    await bus.nats.start()
    publisher = await bus.connect("publisher")
    await bus.publish(publisher, answered())
    await seen.count(1, within=EXPIRES / 2)
    await worker.stop()


async def test_a_worker_that_dies_while_setting_aside_leaves_one_letter(bus: Bus, nc: Connection) -> None:
    """The letter is stored, the end of the deliveries is not: the next worker stores it again."""
    letters = DeadLetters(nc, BROKER.value, None)
    letter = Letter("fact.question.answered.1", b"{}", None, "some reason", sequence=7, deliveries=6)
    for _ in range(2):
        await letters._store(letter, None)
    assert (await nc.jsm().stream_info(DLQ)).state.messages == 1


async def test_a_deleted_consumer_makes_the_worker_unready_until_it_is_back(bus: Bus, nc: Connection) -> None:
    """It neither dies nor recreates it; provisioning does, and the same worker goes on."""
    seen = Seen()
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)
    await worker.start()
    assert await worker.healthy()
    await nc.jsm().delete_consumer(FACTS, BROKER.value)
    assert not await worker.healthy()
    await bus.provision()
    await until(worker.healthy)
    await bus.publish(nc, answered())
    await seen.count(1)
    await worker.stop()


async def test_a_worker_without_its_consumer_costs_next_to_nothing(bus: Bus, nc: Connection) -> None:
    """It asks again with growing pauses; it does not spin."""
    await nc.jsm().delete_consumer(FACTS, BROKER.value)
    worker = Worker(nc, BROKER, handlers(Seen()), slots=2, ack_wait=ACK_WAIT)
    sent, cpu, clock = nc.stats["out_msgs"], time.process_time(), time.monotonic()
    await worker.start()
    await until(lambda: _is(nc.stats["out_msgs"] >= sent + 12))
    elapsed = time.monotonic() - clock
    assert elapsed > 1
    assert time.process_time() - cpu < elapsed / 2
    await worker.stop()


async def test_an_idle_worker_asks_rarely_and_delivers_at_once(bus: Bus, nc: Connection) -> None:
    """Its requests wait on the server: one for each slot, answered by the next fact."""
    asked = await spy(await bus.connect("watcher"), f"$JS.API.CONSUMER.MSG.NEXT.{FACTS}.{BROKER.value}")
    seen = Seen()
    worker = Worker(nc, BROKER, handlers(seen), slots=3, ack_wait=ACK_WAIT)
    await worker.start()
    await until(lambda: _is(len(asked) == 3))
    await bus.publish(nc, answered())
    await seen.count(1)
    await bus.settled(nc)
    await until(lambda: _is(len(asked) == 4))
    await worker.stop()


async def test_stopping_lets_a_running_handler_finish(bus: Bus, nc: Connection) -> None:
    """What it did is acknowledged, and nothing new is fetched."""
    release = asyncio.Event()

    async def hold(_fact: Fact) -> None:
        await release.wait()

    seen = Seen(hold)
    worker = Worker(nc, BROKER, handlers(seen), slots=1, ack_wait=ACK_WAIT)
    await worker.start()
    await bus.publish(nc, answered(1), answered(2))
    await seen.count(1)
    stopping = asyncio.create_task(worker.stop(drain=10))
    await nc.flush()
    release.set()
    await stopping
    info = await nc.jsm().consumer_info(FACTS, BROKER.value)
    assert (info.num_pending, info.num_ack_pending) == (1, 0)


async def test_what_a_stopping_worker_cannot_finish_goes_to_another_at_once(bus: Bus, nc: Connection) -> None:
    """It does not wait for ack_wait: the fact is handed back."""
    await bus.provision(ack_wait=LONG, update=True)

    async def hang(_fact: Fact) -> None:
        await asyncio.Event().wait()

    stuck, other = Seen(hang), Seen()
    first = Worker(nc, BROKER, handlers(stuck), ack_wait=LONG)
    await first.start()
    await bus.publish(nc, answered())
    await stuck.count(1)
    await first.stop(drain=0.1)
    second = Worker(await bus.connect(BROKER), BROKER, handlers(other), ack_wait=LONG)
    await second.start()
    assert [fact.delivery for fact in await other.count(1)] == [2]
    await second.stop()


async def test_a_fact_that_waits_for_a_dependency_is_handed_back_when_the_worker_stops(bus: Bus, nc: Connection) -> None:
    """An outage does not hold up the stop."""
    await bus.provision(ack_wait=LONG, update=True)

    async def down(_fact: Fact) -> None:
        raise Unavailable("down")

    waiting, other = Seen(down), Seen()
    first = Worker(nc, BROKER, handlers(waiting), ack_wait=LONG)
    await first.start()
    await bus.publish(nc, answered())
    await waiting.count(2)
    await asyncio.wait_for(first.stop(drain=10), 5)
    second = Worker(await bus.connect(BROKER), BROKER, handlers(other), ack_wait=LONG)
    await second.start()
    await other.count(1)
    await second.stop()


async def test_a_withdrawn_request_takes_no_fact_with_it(bus: Bus, nc: Connection) -> None:
    """What is published after a worker left is delivered for the first time to the next."""
    await bus.provision(ack_wait=LONG, update=True)
    gone = Pull(nc, FACTS, BROKER.value)
    await gone.open()
    waiting = asyncio.create_task(gone.one(30))
    await until(lambda: _waits(nc, 1))
    await gone.close()
    assert await waiting is None
    await bus.publish(nc, answered())
    here = Pull(nc, FACTS, BROKER.value)
    await here.open()
    message = await here.one(5)
    assert message is not None
    assert message.metadata.num_delivered == 1
    await here.close()


async def test_a_fact_that_nobody_waits_for_any_more_is_handed_back(bus: Bus, nc: Connection) -> None:
    """A request that its slot has given up is still open on the server; its fact comes to no harm."""
    await bus.provision(ack_wait=LONG, update=True)
    pull = Pull(nc, FACTS, BROKER.value)
    await pull.open()
    abandoned = asyncio.create_task(pull.one(3))
    await until(lambda: _waits(nc, 1))
    abandoned.cancel()
    await bus.publish(nc, answered())
    here = Pull(nc, FACTS, BROKER.value)
    await here.open()
    assert await here.one(10) is not None
    await here.close()
    await pull.close()


async def test_a_worker_may_start_before_anything_is_provisioned(bus: Bus, nc: Connection) -> None:
    """It is unready, and begins once streams and consumers are there."""
    await nc.jsm().delete_stream(FACTS)
    seen = Seen()
    worker = Worker(nc, BROKER, handlers(seen), ack_wait=ACK_WAIT)
    await worker.start()
    assert not await worker.healthy()
    await bus.provision()
    await until(worker.healthy)
    await bus.publish(nc, answered())
    await seen.count(1)
    await worker.stop()


async def _is(condition: bool) -> bool:
    return condition


async def _waits(nc: Connection, number: int) -> bool:
    info = await nc.jsm().consumer_info(FACTS, BROKER.value)
    return bool(info.num_waiting == number)

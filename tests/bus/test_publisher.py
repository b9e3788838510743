"""The relay's way to JetStream: pipelined, acknowledged, and never twice in the stream."""

import pytest

from askbus.bus.connection import Connection
from askbus.bus.envelope import Service
from askbus.bus.publisher import CHUNK, publish_facts
from askbus.bus.streams import FACTS
from askbus.errors import Unavailable
from askbus.testing.bus import Bus, answered
from askbus.testing.waiting import until


async def _stored(nc: Connection) -> int:
    return (await nc.jsm().stream_info(FACTS)).state.messages


async def test_every_fact_is_stored(bus: Bus, nc: Connection) -> None:
    """More than one chunk of them, each with its trace in a header."""
    facts = [answered(number, traceparent="00-1-2-01") for number in range(2 * CHUNK + 1)]
    await bus.publish(nc, *facts)
    assert await _stored(nc) == len(facts)
    message = await nc.jsm().get_last_msg(FACTS, facts[-1].subject)
    assert (message.headers or {})["traceparent"] == "00-1-2-01"


async def test_a_fact_that_is_there_already_counts_as_stored(bus: Bus, nc: Connection) -> None:
    """A relay that died after publishing publishes the same facts again."""
    facts = [answered(number) for number in range(10)]
    await bus.publish(nc, *facts[:5])
    await bus.publish(nc, *facts)
    assert await _stored(nc) == 10


async def test_a_fact_that_the_sweep_repeats_is_stored_again(bus: Bus, nc: Connection) -> None:
    """It has no place in the log, and no dedupe may drop it."""
    fact = answered(None)
    await bus.publish(nc, fact)
    await bus.publish(nc, fact)
    assert await _stored(nc) == 2


async def test_without_its_stream_nothing_counts_as_published(bus: Bus, nc: Connection) -> None:
    """The relay tries again; its cursor does not move."""
    await nc.jsm().delete_stream(FACTS)
    with pytest.raises(Unavailable):
        await bus.publish(nc, answered())


async def test_while_nats_is_away_nothing_counts_as_published(bus: Bus, nc: Connection) -> None:
    """And what was published before it went, and is published again after, is stored once."""
    facts = [answered(number) for number in range(3)]
    await bus.publish(nc, *facts)
    await bus.nats.kill()

    async def away() -> bool:
        return not nc.is_connected

    await until(away)
    with pytest.raises(Unavailable):
        await publish_facts(nc.jetstream(), [answered(4)], timeout=0.2)
    await bus.nats.start()

    async def back() -> bool:
        return nc.is_connected

    await until(back)
    again = [*facts, answered(5)]
    await bus.publish(nc, *again)
    watcher = await bus.connect(Service.GATEWAY)
    assert await _stored(watcher) == 5

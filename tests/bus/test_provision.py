"""Streams and consumers are made once and never changed by accident."""

import asyncio

import pytest

from askbus.bus.accounts import ADMIN
from askbus.bus.connection import Connection
from askbus.bus.envelope import Service
from askbus.bus.provision import Drift, check, provision
from askbus.bus.streams import ACTS_ON, FACTS, FACTS_OF, OWNS, STREAMS
from askbus.testing.bus import ACK_WAIT, Bus


async def test_provisioning_twice_changes_nothing(bus: Bus, nc: Connection) -> None:
    """The second time finds everything as it should be."""
    before = [(await nc.jsm().stream_info(stream.name)).created for stream in STREAMS]
    await bus.provision()
    assert [(await nc.jsm().stream_info(stream.name)).created for stream in STREAMS] == before


async def test_every_service_that_acts_on_facts_has_its_consumer(bus: Bus, nc: Connection) -> None:
    """One durable for each, filtered to what it acts on."""
    for service, words in ACTS_ON.items():
        info = await nc.jsm().consumer_info(FACTS, service.value)
        assert sorted(info.config.filter_subjects or []) == sorted(f"fact.{word}.*" for word in words)


async def test_a_stream_that_differs_is_refused_and_left_alone(bus: Bus, nc: Connection) -> None:
    """The text says which setting, what it is and what it should be."""
    config = (await nc.jsm().stream_info(FACTS)).config
    await nc.jsm().update_stream(config, max_age=700)
    with pytest.raises(Drift, match=r"stream FACTS: max_age is 700.0, should be 86400.0"):
        await bus.provision()
    assert (await nc.jsm().stream_info(FACTS)).config.max_age == 700


async def test_a_consumer_that_differs_is_refused(bus: Bus) -> None:
    """The server itself would silently keep the old one."""
    with pytest.raises(Drift, match=r"consumer FACTS/agent-loop: ack_wait is 0.5, should be 7"):
        await bus.provision(ack_wait=7)


async def test_an_explicit_update_changes_what_differs(bus: Bus, nc: Connection) -> None:
    """Then provisioning and services agree again."""
    config = (await nc.jsm().stream_info(FACTS)).config
    await nc.jsm().update_stream(config, max_age=700)
    await bus.provision(ack_wait=7, update=True)
    await bus.provision(ack_wait=7)
    await check(nc, Service.AGENT_LOOP, ack_wait=7)


async def test_a_service_does_not_start_on_a_bus_that_differs(bus: Bus, nc: Connection) -> None:
    """It would lose or repeat facts there."""
    with pytest.raises(Drift):
        await check(nc, Service.AGENT_LOOP, ack_wait=7)
    config = (await nc.jsm().stream_info(FACTS)).config
    await nc.jsm().update_stream(config, duplicate_window=1)
    for service in FACTS_OF:
        with pytest.raises(Drift, match="duplicate_window"):
            await check(nc, service, ack_wait=ACK_WAIT)


async def test_a_service_waits_for_what_is_missing(bus: Bus, nc: Connection) -> None:
    """Services and the provisioning job may be started in any order."""
    await nc.jsm().delete_stream(FACTS)
    waiting = asyncio.create_task(check(nc, Service.AGENT_LOOP, ack_wait=ACK_WAIT))
    done, _ = await asyncio.wait({waiting}, timeout=0.2)
    assert not done
    await bus.provision()
    await asyncio.wait_for(waiting, 5)


async def test_how_many_replicas_there_are_is_the_operators_choice(bus: Bus, nc: Connection) -> None:
    """Services do not look at it: a cluster may be grown under them. Provisioning does."""
    with pytest.raises(Drift, match="stream FACTS: num_replicas is 1, should be 3"):
        await provision(bus.url(ADMIN), ack_wait=ACK_WAIT, replicas=3)
    for service in Service:
        await check(nc, service, ack_wait=ACK_WAIT)


def test_each_fact_that_somebody_acts_on_has_one_owner_that_relays_it() -> None:
    """A consumer of a fact that nobody publishes would wait for ever."""
    wanted = {word for words in ACTS_ON.values() for word in words}
    assert {word for words in FACTS_OF.values() for word in words} == wanted
    owned = [entity for entities in OWNS.values() for entity in entities]
    assert len(owned) == len(set(owned))

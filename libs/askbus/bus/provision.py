"""Streams and consumers: made as `askbus.bus.streams` says, and never changed by accident.

Provisioning creates what is missing. Where the server has something else it refuses and says what differs; only an explicit
update changes it. A service does not start on a bus that is not as it should be, since it would lose or repeat messages there.
"""

import asyncio
from dataclasses import fields

import nats.errors
import structlog
from nats.js import JetStreamManager
from nats.js.api import ConsumerConfig, StreamConfig
from nats.js.errors import APIError, NotFoundError, ServiceUnavailableError

from askbus.bus import faults
from askbus.bus.connection import Connection, connect
from askbus.bus.envelope import Service
from askbus.bus.streams import ACTS_ON, FACTS, STREAMS, consumer_config

log = structlog.get_logger()

LOOK_AGAIN = 0.5
"""Seconds between two looks for what is missing."""

REPLICAS = "num_replicas"

Config = StreamConfig | ConsumerConfig


class Drift(Exception):
    """The bus differs from what this version of askbus needs; the text says in what, and what to do."""

    def __init__(self, differences: list[str]) -> None:
        super().__init__(
            "The streams on NATS are not as this version of askbus needs them:\n"
            + "\n".join(f"  {difference}" for difference in differences)
            + "\nIf nothing else uses them, provision with --update."
        )
        self.differences = differences


async def provision(nats_url: str, *, ack_wait: float = 5, replicas: int = 1, update: bool = False) -> None:
    """Creates every stream and consumer that is missing. Raises Drift where one is different, unless `update` is set.

    `nats_url` holds the credentials of the user `admin`. `ack_wait` in seconds. Waits while NATS is down.
    """
    nc = await connect(nats_url, "admin")
    try:
        jsm = nc.jsm(timeout=10)
        found: list[str] = []
        for stream in STREAMS:
            found += await _make_stream(jsm, stream.config(replicas), update=update)
        for service in ACTS_ON:
            found += await _make_consumer(jsm, consumer_config(service, ack_wait), update=update)
        if found:
            raise Drift(found)
    finally:
        await nc.close()


async def check(nc: Connection, service: Service, *, ack_wait: float = 5) -> None:
    """Returns once all that the service uses is there; waits while it is missing. Raises Drift where it is different.

    The number of replicas is the operator's and not looked at.
    """
    said: str | None = None
    while True:
        try:
            found = await drift(nc.jsm(timeout=2), service, ack_wait)
        except (NotFoundError, ServiceUnavailableError, APIError, nats.errors.Error) as error:
            reason = faults.kind(error)
            if said != reason:
                said = reason
                log.warning("bus.not_provisioned", service=service.value, reason=reason)
            await asyncio.sleep(LOOK_AGAIN)
            continue
        if found:
            raise Drift(found)
        return


async def drift(jsm: JetStreamManager, service: Service, ack_wait: float) -> list[str]:
    """In what the streams and the consumer that the service uses differ from what they should be, a line each.

    The number of replicas is the operator's and not looked at. Raises NotFoundError where one is missing, nats.errors.Error.
    """
    lines: list[str] = []
    for stream in STREAMS:
        if service in stream.used_by:
            info = await jsm.stream_info(stream.name)
            lines += differences(f"stream {stream.name}", stream.config(1), info.config, ignore=frozenset({REPLICAS}))
    if service in ACTS_ON:
        wanted = consumer_config(service, ack_wait)
        found = await jsm.consumer_info(FACTS, service.value)
        lines += differences(f"consumer {FACTS}/{service.value}", wanted, found.config)
    return lines


async def _make_stream(jsm: JetStreamManager, wanted: StreamConfig, *, update: bool) -> list[str]:
    name = wanted.name or ""
    try:
        found = await jsm.stream_info(name)
    except NotFoundError:
        await jsm.add_stream(wanted)
        log.info("bus.stream_created", stream=name)
        return []
    drift = differences(f"stream {name}", wanted, found.config)
    if not drift or not update:
        return drift
    await jsm.update_stream(wanted)
    log.info("bus.stream_updated", stream=name, differences=drift)
    return []


async def _make_consumer(jsm: JetStreamManager, wanted: ConsumerConfig, *, update: bool) -> list[str]:
    name = wanted.durable_name or ""
    try:
        found = await jsm.consumer_info(FACTS, name)
    except NotFoundError:
        await jsm.add_consumer(FACTS, wanted)
        log.info("bus.consumer_created", consumer=name)
        return []
    drift = differences(f"consumer {FACTS}/{name}", wanted, found.config)
    if not drift or not update:
        return drift
    await jsm.add_consumer(FACTS, wanted)
    log.info("bus.consumer_updated", consumer=name, differences=drift)
    return []


def differences(what: str, wanted: Config, found: Config, *, ignore: frozenset[str] = frozenset()) -> list[str]:
    """In what the server's configuration differs from ours, a readable line for each field that we set. Times are in seconds."""
    lines = []
    for field in fields(wanted):
        ours, theirs = getattr(wanted, field.name), getattr(found, field.name)
        if ours is None or field.name in ignore or _comparable(ours) == _comparable(theirs):
            continue
        lines.append(f"{what}: {field.name} is {_shown(theirs)}, should be {_shown(ours)}")
    return lines


def _comparable(value: object) -> object:
    """Of subjects the order means nothing."""
    return sorted(map(str, value)) if isinstance(value, list) else value


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(getattr(value, "value", value))

"""What the relay needs: facts onto JetStream, pipelined, each acknowledged."""

import asyncio
from collections.abc import Sequence

from nats.js import JetStreamContext
from nats.js.api import PubAck

from askbus.bus.fact import Fact
from askbus.bus.streams import FACTS
from askbus.errors import Unavailable

CHUNK = 500
ACK_TIMEOUT = 5.0


async def publish_facts(js: JetStreamContext, facts: Sequence[Fact]) -> None:
    """Returns once every fact is stored; one that JetStream already has counts as stored. Raises Unavailable where one is not:
    publish all of them again, the dedupe drops what was."""
    for start in range(0, len(facts), CHUNK):
        await _publish(js, facts[start : start + CHUNK])


async def _publish(js: JetStreamContext, facts: Sequence[Fact]) -> None:
    acks: list[asyncio.Future[PubAck]] = []
    try:
        async with asyncio.timeout(ACK_TIMEOUT):
            for fact in facts:
                headers = {"Nats-Msg-Id": fact.message_id, "traceparent": fact.traceparent}
                present = {name: value for name, value in headers.items() if value is not None}
                acks.append(await js.publish_async(fact.subject, fact.model_dump_json().encode(), stream=FACTS, headers=present))
            await asyncio.gather(*acks)
    except TimeoutError:
        raise Unavailable("JetStream did not acknowledge the facts in time.") from None
    finally:
        for ack in acks:
            ack.cancel()

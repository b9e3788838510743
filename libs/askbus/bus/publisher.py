"""What the relay needs: facts onto JetStream, pipelined, each acknowledged."""

import asyncio
from collections.abc import Sequence

import nats.errors
from nats.js import JetStreamContext
from nats.js.api import PubAck

from askbus.bus import faults
from askbus.bus.fact import Fact
from askbus.bus.streams import FACTS
from askbus.errors import Unavailable

CHUNK = 500
ACK_TIMEOUT = 5.0


async def publish_facts(js: JetStreamContext, facts: Sequence[Fact], timeout: float = ACK_TIMEOUT) -> None:
    """Returns once every fact is stored; one that JetStream already has counts as stored. Raises Unavailable where one is not
    within `timeout` seconds: publish all of them again, the dedupe drops what was."""
    for start in range(0, len(facts), CHUNK):
        await _publish(js, facts[start : start + CHUNK], timeout)


async def _publish(js: JetStreamContext, facts: Sequence[Fact], timeout: float) -> None:
    acks: list[asyncio.Future[PubAck]] = []
    try:
        async with asyncio.timeout(timeout):
            for fact in facts:
                headers = {"Nats-Msg-Id": fact.message_id, "traceparent": fact.traceparent}
                present = {name: value for name, value in headers.items() if value is not None}
                acks.append(await js.publish_async(fact.subject, fact.model_dump_json().encode(), stream=FACTS, headers=present))
            await asyncio.gather(*acks)
    except TimeoutError:
        # Nobody answers, or this user may not publish there: NATS does not tell the two apart.
        raise Unavailable("JetStream did not acknowledge the facts in time.") from None
    except nats.errors.Error as error:
        raise Unavailable("JetStream did not take the facts.", {"reason": faults.kind(error)}) from None
    finally:
        for ack in acks:
            ack.cancel()

"""Dead letters: messages that are given up, kept in the stream DLQ with the reason, never with anybody's words."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.errors import NotFoundError
from pydantic import ValidationError

from askbus.bus import faults, subjects
from askbus.bus.connection import Connection
from askbus.bus.fact import Fact
from askbus.bus.streams import DLQ, FACTS
from askbus.runtime import crash

log = structlog.get_logger()

TERM = b"+TERM"
REASON = "Askbus-Reason"
SUBJECT = "Askbus-Subject"
DELIVERIES = "Askbus-Deliveries"
SEQUENCE = "Askbus-Sequence"

ACK_TIMEOUT = 5.0


class DeadLetters:
    """One consumer's dead letters. `on_dead` is told first, so that the row is settled before the message is gone."""

    def __init__(self, nc: Connection, consumer: str, on_dead: Callable[[Fact], Awaitable[None]] | None) -> None:
        self._nc = nc
        self._consumer = consumer
        self._on_dead = on_dead
        self._sweep: Subscription | None = None

    async def watch(self) -> None:
        """Sweeps up what the server gave up: messages whose worker died each time before it could set them aside."""
        subject = subjects.given_up(FACTS, self._consumer)
        self._sweep = await self._nc.subscribe(subject, queue=self._consumer, cb=self._on_given_up)

    async def close(self) -> None:
        sweep, self._sweep = self._sweep, None
        if sweep is not None and self._nc.is_connected:
            await sweep.unsubscribe()

    async def set_aside(self, message: Msg, reason: str, fact: Fact | None) -> None:
        """Tells the owner, stores the letter, and ends the deliveries. Raises what failed: then the message comes again."""
        letter = Letter(
            subject=message.subject,
            data=message.data,
            traceparent=(message.headers or {}).get("traceparent"),
            reason=reason,
            sequence=message.metadata.sequence.stream,
            deliveries=message.metadata.num_delivered,
        )
        await self._store(letter, fact)
        crash.point(f"dead.{self._consumer}.before_term")
        await self._nc.request(message.reply, TERM, timeout=ACK_TIMEOUT)

    async def _store(self, letter: "Letter", fact: Fact | None) -> None:
        if fact is not None and self._on_dead is not None:
            await self._on_dead(fact)
            crash.point(f"dead.{self._consumer}.before_store")
        js = self._nc.jetstream(timeout=ACK_TIMEOUT)
        await js.publish(subjects.dead_letter(self._consumer), letter.data, stream=DLQ, headers=letter.headers(self._consumer))
        log.error(
            "message.dead_lettered",
            consumer=self._consumer,
            subject=letter.subject,
            sequence=letter.sequence,
            deliveries=letter.deliveries,
            reason=letter.reason,
        )

    async def _on_given_up(self, advisory: Msg) -> None:
        try:
            given_up = json.loads(advisory.data)
            sequence, deliveries = int(given_up["stream_seq"]), int(given_up["deliveries"])
            stored = await self._nc.jsm(timeout=ACK_TIMEOUT).get_msg(FACTS, seq=sequence, direct=True)
            letter = Letter(
                subject=stored.subject or "",
                data=stored.data or b"",
                traceparent=(stored.headers or {}).get("traceparent"),
                reason=f"given up by the server after {deliveries} deliveries",
                sequence=sequence,
                deliveries=deliveries,
            )
            await self._store(letter, _fact_in(letter.data))
        except NotFoundError:
            return
        except Exception as error:  # noqa: BLE001  # one advisory that cannot be followed must not end the sweep
            log.warning("message.not_swept", consumer=self._consumer, error=faults.reason(error))


@dataclass(frozen=True)
class Letter:
    """A message as it is kept: its own bytes, and in headers where it came from and why it was given up."""

    subject: str
    data: bytes
    traceparent: str | None
    reason: str
    sequence: int
    deliveries: int

    def headers(self, consumer: str) -> dict[str, str]:
        headers = {
            "Nats-Msg-Id": f"{consumer}.{self.sequence}",
            REASON: self.reason,
            SUBJECT: self.subject,
            SEQUENCE: str(self.sequence),
            DELIVERIES: str(self.deliveries),
        }
        return headers if self.traceparent is None else headers | {"traceparent": self.traceparent}


def _fact_in(data: bytes) -> Fact | None:
    try:
        return Fact.model_validate_json(data)
    except ValidationError:
        return None

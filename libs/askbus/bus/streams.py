"""Streams and consumers as data: what exists on JetStream, and who acts on which fact. Pure but for nats-py's config types.

`askbus.bus.provision` makes it so; permissions follow from it too.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    ReplayPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)

from askbus.bus import subjects
from askbus.bus.envelope import Service
from askbus.webhooks.model import EVENTS as WEBHOOK_EVENTS

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MEBIBYTE = 1 << 20

FACTS = "FACTS"
TURNS = "TURNS"
DLQ = "DLQ"

DELIVERIES = 6
"""How often a worker tries a fact before it is a dead letter."""

SERVER_DELIVERIES = DELIVERIES + 3
"""When the server gives up: only a message that the worker could not even set aside gets that far."""

SETTLED = ("answered", "declined", "cancelled", "expired", "superseded")
"""What becomes of questions."""

CONCLUDED = ("rejected", "withdrawn", "expired", "applied", "failed", "conflicted", "undone")
"""What becomes of actions."""

ACTS_ON: Mapping[Service, frozenset[str]] = {
    Service.AGENT_LOOP: frozenset(
        {"turn.queued", "turn.completed", "turn.failed", "turn.cancelled", "tool_run.finished"}
        | {f"question.{state}" for state in SETTLED}
    ),
    Service.TOOL_RUNNER: frozenset({"tool_call.requested", "turn.cancelled"}),
    Service.ACTION_APPLIER: frozenset(
        {"action.proposed", "action.confirmed", "action.undo_requested"} | {f"action.{state}" for state in CONCLUDED}
    ),
    Service.QUESTION_BROKER: frozenset(
        {f"question.{state}" for state in SETTLED} | {"question.asked_back", "turn.cancelled"} | set(WEBHOOK_EVENTS)
    ),
}
"""The facts that each service acts on: its durable consumer, named like the service, delivers these."""

OWNS: Mapping[Service, frozenset[str]] = {
    Service.AGENT_LOOP: frozenset({"turn", "tool_call"}),
    Service.TOOL_RUNNER: frozenset({"tool_run"}),
    Service.ACTION_APPLIER: frozenset({"action"}),
    Service.QUESTION_BROKER: frozenset({"question"}),
}
"""Whose relay publishes the facts of which entity."""

FACTS_OF: Mapping[Service, frozenset[str]] = {
    owner: frozenset(word for words in ACTS_ON.values() for word in words if word.partition(".")[0] in entities)
    for owner, entities in OWNS.items()
}
"""The facts that each owner's relay publishes: those that somebody acts on."""


@dataclass(frozen=True)
class Stream:
    """One stream. `max_age` in seconds."""

    name: str
    why: str
    subjects: tuple[str, ...]
    storage: StorageType
    retention: RetentionPolicy
    max_age: float
    max_bytes: int
    max_msgs_per_subject: int = -1
    max_msg_size: int = MEBIBYTE
    dedupe: float = 2 * MINUTE
    replicated: bool = True
    used_by: frozenset[Service] = frozenset()

    def config(self, replicas: int) -> StreamConfig:
        return StreamConfig(
            name=self.name,
            description=self.why,
            subjects=list(self.subjects),
            storage=self.storage,
            retention=self.retention,
            discard=DiscardPolicy.OLD,
            max_age=self.max_age,
            max_bytes=self.max_bytes,
            max_msgs_per_subject=self.max_msgs_per_subject,
            max_msg_size=self.max_msg_size,
            duplicate_window=self.dedupe,
            allow_direct=True,
            num_replicas=replicas if self.replicated else 1,
        )


STREAMS: tuple[Stream, ...] = (
    Stream(
        name=FACTS,
        why="Facts that a service acts on, until each of these has acknowledged them.",
        subjects=(subjects.ALL_FACTS,),
        storage=StorageType.FILE,
        retention=RetentionPolicy.INTEREST,
        max_age=DAY,
        max_bytes=1024 * MEBIBYTE,
        dedupe=10 * MINUTE,
        used_by=frozenset(OWNS) | frozenset(ACTS_ON),
    ),
    Stream(
        name=TURNS,
        why="The pieces of turns' streams, so that a client can resume, also after a restart of NATS.",
        subjects=(subjects.ALL_TURNS,),
        storage=StorageType.FILE,
        retention=RetentionPolicy.LIMITS,
        max_age=15 * MINUTE,
        max_bytes=256 * MEBIBYTE,
        max_msgs_per_subject=20_000,
        replicated=False,  # a follower that lags would answer a reader without what it has not heard live either
        used_by=frozenset({Service.GATEWAY, Service.AGENT_LOOP, Service.TOOL_RUNNER}),
    ),
    Stream(
        name=DLQ,
        why="Messages that were given up, with the reason in a header.",
        subjects=(subjects.ALL_DEAD,),
        storage=StorageType.FILE,
        retention=RetentionPolicy.LIMITS,
        max_age=30 * DAY,
        max_bytes=256 * MEBIBYTE,
        dedupe=10 * MINUTE,
        used_by=frozenset(ACTS_ON),
    ),
)


def consumer_config(service: Service, ack_wait: float) -> ConsumerConfig:
    """The service's durable pull consumer on FACTS. `ack_wait`, in seconds, is when an unacknowledged fact is delivered again."""
    return ConsumerConfig(
        name=service.value,
        durable_name=service.value,
        description=f"Facts that {service.value} acts on.",
        deliver_policy=DeliverPolicy.ALL,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=ack_wait,
        max_deliver=SERVER_DELIVERIES,
        filter_subjects=sorted(subjects.facts(word) for word in ACTS_ON[service]),
        replay_policy=ReplayPolicy.INSTANT,
        max_waiting=4096,
        max_ack_pending=10_000,
    )

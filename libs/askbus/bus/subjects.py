"""Every subject on the bus. Pure. `p` is the id of an agent's token row, which its credentials are tied to.

Ids are whole tokens, so that permissions and subscriptions can name them with `*`.
"""

from uuid import UUID
from zlib import crc32

from askbus.bus.envelope import Service

PARTITIONS = 64

INBOX = "_INBOX"
"""Where replies go: `_INBOX.<user>.…` for services, `_INBOX.agent.<p>.…` for agents."""

ALL_FACTS = "fact.>"
ALL_TURNS = "sig.turn.*"
ALL_STOPS = "sig.stop.*"
ALL_DEAD = "dlq.*"
AUTH_CALLOUT = "$SYS.REQ.USER.AUTH"
"""The server asks whether a stranger may connect (NATS, ADR-26)."""
AUTH_CALLOUT_REPLY = "$SYS._INBOX.*.*"
CONNECTIONS = "$SYS.REQ.ACCOUNT.PING.CONNZ"
"""To every server: which connections it has of the asker's own account."""
"""Where it wants to be answered: an inbox of its own (nats-server, `newRespInbox`)."""


def command(owner: Service, verb: str) -> str:
    """Sent by a door or a service that wants the owner to change something; answered."""
    return f"cmd.{owner.value}.{verb}"


def fact(word: str, key: UUID) -> str:
    """Sent by the owner's relay after the change was committed. `word` is `turn.queued`, `key` what the fact belongs to.

    The last token spreads keys over partitions, so that these can become streams of their own one day.
    """
    return f"fact.{word}.{crc32(key.bytes) % PARTITIONS}"


def facts(word: str) -> str:
    """Every fact of this word, for a consumer's filter."""
    return f"fact.{word}.*"


def turn_pieces(turn_id: UUID) -> str:
    """Sent by whoever works on the turn, for each piece of its stream; kept for minutes so that a client can resume."""
    return f"sig.turn.{turn_id}"


TURN_BARRIER = "sig.turn.barrier"
"""Sent by a reader to the stream TURNS, which refuses it, after having stored all that was sent before. No turn has this id."""


FEED = "feed.changes"
"""Sent by the bridge, where gateways are fed from the bus: what became visible in the change log since the message before."""


def stop(turn_id: UUID) -> str:
    """Sent by the agent-loop that cancelled the turn, to the one that works on it."""
    return f"sig.stop.{turn_id}"


def nudge(owner: Service) -> str:
    """Sent by an owner after its commit, when another instance holds the relay's lease."""
    return f"nudge.{owner.value}"


def told(p: UUID, entity_id: UUID) -> str:
    """Sent to an agent when it has something to hear about this question or action; it only wakes, the row is the truth."""
    return f"told.{p}.{entity_id}"


def all_told(p: UUID) -> str:
    """Every such wake-up of one agent, as it subscribes to them."""
    return f"told.{p}.>"


def agent_door(noun: str, verb: str) -> str:
    """Sent by an agent, in its own name: `agent.<p>.question.ask`. This is the pattern that the owner listens on."""
    return f"agent.*.{noun}.{verb}"


def agent_request(p: UUID, noun: str, verb: str) -> str:
    """The same, as the agent publishes it."""
    return f"agent.{p}.{noun}.{verb}"


def dead_letter(consumer: str) -> str:
    """Sent by a worker that gives a message up, with the reason in a header; kept in the stream DLQ."""
    return f"dlq.{consumer}"


def given_up(stream: str, consumer: str) -> str:
    """Sent by the server when it has delivered a message as often as it may (NATS JetStream advisory)."""
    return f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{stream}.{consumer}"


def inbox(user: str) -> str:
    """The inbox prefix of a connection: NATS users may subscribe below their own only."""
    return f"{INBOX}.{user}"


def agent_inbox(p: str | UUID) -> str:
    """The inbox prefix that an agent must connect with."""
    return f"{INBOX}.agent.{p}"


def may_answer(subject: str, reply: str) -> bool:
    """Whether a request on `subject` may be answered on `reply`.

    A reply subject is the caller's wish under the owner's permission: `cmd.action-applier.ConfirmAction` as a reply subject would
    make the owner send that command. So services are answered in an inbox, agents in their own inbox and nowhere else.
    """
    if any(sign in reply for sign in "*> "):
        return False
    tokens = subject.split(".")
    if tokens[0] == "agent":
        return _is_id(tokens[1]) and reply.startswith(f"{agent_inbox(tokens[1])}.")
    return reply.startswith(f"{INBOX}.")


def _is_id(token: str) -> bool:
    try:
        return str(UUID(token)) == token
    except ValueError:
        return False


def kick(server: str) -> str:
    """To one server, by its id: to close a connection of its."""
    return f"$SYS.REQ.SERVER.{server}.KICK"

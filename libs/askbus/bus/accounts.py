"""Who may do what on NATS: each service exactly the subjects that it needs, as data. Pure.

The server enforces it. A command that is not in VERBS travels nowhere: whoever adds one adds it here, and to SENDS if another
service than the gateway sends it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from askbus.bus import subjects
from askbus.bus.envelope import Service
from askbus.bus.streams import ACTS_ON, FACTS, FACTS_OF, STREAMS, TURNS
from askbus.runtime.secrets import callout_public, nats_password

ACCOUNT = "ASKBUS"
REFUSED = "REFUSED"
"""Where the gateway sends whoever holds a token that is no good. It takes no connection, so the server ends the attempt with
`maximum account active connections exceeded`: a verdict. `Authorization Violation` is none, the server says that of every attempt
that nobody answered for in time, too."""
ADMIN = "admin"
"""Provisions streams and looks after dead letters; no service connects as it."""
SYSTEM = "sys"

VERBS: Mapping[Service, tuple[str, ...]] = {
    Service.AGENT_LOOP: (
        "CreateThread",
        "RenameThread",
        "SaveThread",
        "DeleteThread",
        "CloseThread",
        "StartTurn",
        "RetryTurn",
        "CancelTurn",
    ),
    Service.TOOL_RUNNER: ("CallTool", "FindByName"),
    Service.ACTION_APPLIER: (
        "ProposeChanges",
        "ConfirmAction",
        "DecideAction",
        "RejectAction",
        "WithdrawAction",
        "UndoAction",
        "PreviewUndo",
        "UndoTurn",
        "PreviewUndoTurn",
        "ProposeAgain",
        "MakeApproval",
        "RevokeApproval",
    ),
    Service.QUESTION_BROKER: (
        "AskQuestion",
        "AskQuestions",
        "AnswerQuestion",
        "DeclineQuestion",
        "AskBack",
        "CancelQuestion",
        "MarkSeen",
        "SnoozeQuestion",
        "CreateWebhook",
        "ChangeWebhook",
        "RotateWebhook",
        "DeleteWebhook",
        "PingWebhook",
        "ReplayDeliveries",
    ),
}
"""Every command, by its owner. The gateway may send them all: it is where people and their tokens come in."""

SENDS: Mapping[Service, Mapping[Service, tuple[str, ...]]] = {
    Service.GATEWAY: VERBS,
    Service.TOOL_RUNNER: {Service.QUESTION_BROKER: ("AskQuestion",), Service.ACTION_APPLIER: ("ProposeChanges",)},
}
"""Which commands a service sends."""

NUDGES: Mapping[Service, tuple[Service, ...]] = {
    **{owner: (owner,) for owner in FACTS_OF},
    Service.EXPIRY: (Service.QUESTION_BROKER, Service.ACTION_APPLIER, Service.AGENT_LOOP),
}
"""Whose relay a service may wake after it moved a row."""

DOORS: Mapping[Service, tuple[str, ...]] = {
    Service.QUESTION_BROKER: ("question",),
    Service.ACTION_APPLIER: ("action",),
}
"""Which nouns of agents a service answers for."""

SIGNALS: Mapping[Service, tuple[tuple[str, ...], tuple[str, ...]]] = {
    Service.GATEWAY: (
        (
            f"$JS.API.DIRECT.GET.{TURNS}",
            subjects.TURN_BARRIER,
            subjects.AUTH_CALLOUT_REPLY,
            subjects.FEED,
            subjects.CONNECTIONS,
            subjects.kick("*"),
        ),
        (subjects.ALL_TURNS, subjects.AUTH_CALLOUT, subjects.FEED),
    ),
    Service.AGENT_LOOP: ((subjects.ALL_TURNS, subjects.ALL_STOPS), (subjects.ALL_STOPS,)),
    Service.TOOL_RUNNER: ((subjects.ALL_TURNS,), (subjects.ALL_STOPS,)),
    Service.QUESTION_BROKER: (("told.*.*",), ()),
    Service.ACTION_APPLIER: (("told.*.*",), ()),
}
"""What else a service publishes, and subscribes to."""


def agent_user(p: str) -> str:
    """What NATS calls the user of the agent with the token row `p`."""
    return f"agent {p}"


@dataclass(frozen=True)
class Permissions:
    """Subjects that a user may publish on and subscribe to; all others are refused."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def permissions(service: Service) -> Permissions:
    """All that the service may do."""
    publish, subscribe = [], [f"{subjects.inbox(service.value)}.>"]
    publish += [subjects.command(owner, verb) for owner, verbs in SENDS.get(service, {}).items() for verb in verbs]
    publish += [subjects.facts(word) for word in sorted(FACTS_OF.get(service, ()))]
    publish += [subjects.nudge(owner) for owner in NUDGES.get(service, ())]
    publish += [f"$JS.API.STREAM.INFO.{stream.name}" for stream in STREAMS if service in stream.used_by]
    if VERBS.get(service):
        # Replies. Never `allow_responses`: it would publish on whatever subject a caller names.
        publish.append(f"{subjects.INBOX}.>")
    subscribe += [subjects.command(service, verb) for verb in VERBS.get(service, ())]
    subscribe += [f"agent.*.{noun}.*" for noun in DOORS.get(service, ())]
    if service in FACTS_OF:
        subscribe.append(subjects.nudge(service))
    if service in ACTS_ON:
        name = service.value
        publish += [
            f"$JS.API.CONSUMER.INFO.{FACTS}.{name}",
            f"$JS.API.CONSUMER.MSG.NEXT.{FACTS}.{name}",
            f"$JS.ACK.{FACTS}.{name}.>",
            f"$JS.API.DIRECT.GET.{FACTS}",
            subjects.dead_letter(name),
        ]
        subscribe.append(subjects.given_up(FACTS, name))
    also_publish, also_subscribe = SIGNALS.get(service, ((), ()))
    return Permissions((*publish, *also_publish), (*subscribe, *also_subscribe))


def agent_permissions(p: str) -> Permissions:
    """All that the agent with the token row `p` may do: ask in its own name, hear answers and wake-ups of its own. No JetStream:
    a stored message could be delivered to any subject that the agent names."""
    return Permissions(
        publish=(f"agent.{p}.question.*", f"agent.{p}.action.*"),
        subscribe=(f"{subjects.agent_inbox(p)}.>", f"told.{p}.>"),
    )


def accounts_block(secret: str) -> str:
    """The part of a NATS server's configuration that says who may connect and what each may do. It holds passwords.

    Strangers are asked about: the gateway answers the authorisation callout (NATS, ADR-26) for agents. `auth_users` is not
    reloaded by the server: a new user needs a restart.
    """
    services = "\n".join(_service_user(secret, service) for service in Service)
    static = [ADMIN, SYSTEM, *(service.value for service in Service)]
    return f"""\
accounts {{
  {ACCOUNT} {{
    jetstream: enabled
    imports: [ {{ service: {{ account: SYS, subject: "{subjects.kick("*")}" }} }} ]
    users: [
      {{ user: "{ADMIN}", password: "{nats_password(secret, ADMIN)}", permissions: {{
          publish: {{ allow: [">"], deny: ["$SYS.>"] }}
          subscribe: {{ allow: [">"], deny: ["{subjects.AUTH_CALLOUT}"] }} }} }}
{services}
    ]
  }}
  {REFUSED} {{ limits {{ max_connections: 0 }} }}
  SYS {{
    exports: [ {{ service: "{subjects.kick("*")}", accounts: [{ACCOUNT}] }} ]
    users: [ {{ user: "{SYSTEM}", password: "{nats_password(secret, SYSTEM)}" }} ]
  }}
}}
system_account: SYS
authorization {{
  timeout: 5
  auth_callout {{
    issuer: {callout_public(secret)}
    account: {ACCOUNT}
    auth_users: {_quoted(static)}
  }}
}}
"""


def _service_user(secret: str, service: Service) -> str:
    allowed = permissions(service)
    return f"""\
      {{ user: "{service.value}", password: "{nats_password(secret, service.value)}", permissions: {{
          publish: {{ allow: {_quoted(allowed.publish)} }}
          subscribe: {{ allow: {_quoted(allowed.subscribe)} }} }} }}"""


def _quoted(words: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"

"""/v1/projects/{id}/ag-ui: a run of AG-UI, answered with its stream, and stopping what is at work in a thread."""

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID, uuid4

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Principal, Scope
from askbus.actions.model import ActionDetail, ActionState
from askbus.errors import Conflict, InvalidInput, TimedOut
from askbus.threads.model import ClientThreadId
from askbus.turns.model import TurnDetail, TurnState
from askbus_gateway.agui.encoder import RunEncoder
from askbus_gateway.agui.view import OWN, AguiView, Run
from askbus_gateway.frontends.cards import approval_id, approved_action
from askbus_gateway.frontends.conversation import Conversation, ToldCall
from askbus_gateway.frontends.decisions import Answer, Decisions, Verdict, question_id_of, require_all
from askbus_gateway.frontends.desk import A_KEY, CLIENT_THREAD, KEY, LARGEST_BODY, Desk
from askbus_gateway.frontends.handed import contexts, instructions, new_message
from askbus_gateway.frontends.streaming import Streamed, Streaming, whole
from askbus_gateway.http.described import described, event_stream, route
from askbus_gateway.http.gate import Gate, body, path_id, path_name
from askbus_gateway.http.waiting import Waiting
from askbus_gateway.sse.response import HEADERS
from askbus_gateway.sse.turns import TurnStreams

BLOCKING = "blocking"


class ResumeEntry(BaseModel):
    """What was decided on one interrupt."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: JsonValue = None


class RunInput(BaseModel):
    """AG-UI's RunAgentInput as far as askbus reads it. `tools` of the front end are not offered to the model; `messages` beside the last
    one are the client's copy of what is stored here."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)

    thread_id: ClientThreadId
    run_id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    protocol_version: str | None = None
    messages: Annotated[list[JsonValue], Field(max_length=10_000)] = []
    context: JsonValue = None
    state: JsonValue = None
    forwarded_props: JsonValue = None
    resume: Annotated[list[ResumeEntry], Field(max_length=100)] | None = None

    def prop(self, name: str) -> JsonValue:
        return self.forwarded_props.get(name) if isinstance(self.forwarded_props, dict) else None

    @property
    def own_state(self) -> JsonValue:
        """The shared state without what askbus put there."""
        if not isinstance(self.state, dict):
            return self.state
        return {name: value for name, value in self.state.items() if name != OWN}

    @property
    def blocking(self) -> bool:
        """Whether the client wants pending changes to interrupt the run."""
        return self.prop("approval") == BLOCKING


class AgUi:
    """The routes of AG-UI."""

    def __init__(self, gate: Gate, streams: TurnStreams, waiting: Waiting) -> None:
        self.gate = gate
        self.streams = streams
        self.waiting = waiting
        self.desk = Desk(gate)

    def routes(self) -> list[Route]:
        return [
            route("POST", "/v1/projects/{id}/ag-ui", Streaming(self.streams, self.run)),
            route("POST", "/v1/projects/{id}/ag-ui/{thread}/stop", self.stop),
        ]

    @described({204: None}, params={"thread": ClientThreadId}, refuses=(Conflict, TimedOut), scope=Scope.CHAT)
    async def stop(self, request: Request) -> Response:
        """Stop what is at work in the front end's thread."""
        by = await self.gate.principal(request)
        await self.desk.stop(by, path_id(request), path_name(request, "thread", CLIENT_THREAD))
        return Response(status_code=204)

    @described(
        event_stream("The run's events, as AG-UI has them."),
        body=RunInput,
        headers={KEY: A_KEY},
        refuses=(Conflict, TimedOut),
        scope=Scope.CHAT,
        limited=True,
        most=LARGEST_BODY,
    )
    async def run(self, request: Request) -> Response | Streamed:
        """A run of AG-UI: a message, a resume, or neither; then the conversation is joined as it stands."""
        by = await self.gate.principal(request)
        said = await body(request, RunInput, most=LARGEST_BODY)
        project_id = path_id(request)
        if said.resume:
            return await self._resume(by, said, said.resume, await self.desk.find(by, project_id, said.thread_id))
        message = new_message(said.messages)
        given = await self.desk.instructions(request, by, instructions(said.prop("instructions"), said.messages))
        if message is None:
            return await self._join(by, said, await self.desk.find(by, project_id, said.thread_id))
        context = contexts(context=said.context, memory=said.prop("memories"), state=said.own_state)
        thread_id = await self.desk.thread(by, project_id, said.thread_id)
        turn, new = await self.desk.send(by, thread_id, message, context=context, instructions=given)
        return self._stream(by, said, thread_id, turn.id, joins=not new)

    async def _join(self, by: Principal, said: RunInput, thread_id: UUID | None) -> Response | Streamed:
        turn = None if thread_id is None else await self.desk.latest(by, thread_id)
        if thread_id is not None and turn is not None:
            return self._stream(by, said, thread_id, turn.id, joins=True)
        encoder = _encoder(said, uuid4())
        return whole(encoder.started() + encoder.messages([]) + encoder.succeeded(), HEADERS)

    def _stream(
        self,
        by: Principal,
        said: RunInput,
        thread_id: UUID,
        turn_id: UUID,
        *,
        joins: bool,
        told: int = 0,
        owed: Sequence[ToldCall] = (),
    ) -> Streamed:
        encoder = _encoder(said, turn_id)
        encoder.owes(owed)
        run = Run(joins=joins, blocking=said.blocking, state=said.state, told=told)
        return Streamed(by, turn_id, AguiView(encoder, Conversation(self.gate.pool, by, thread_id), run))

    async def _resume(
        self, by: Principal, said: RunInput, entries: Sequence[ResumeEntry], thread_id: UUID | None
    ) -> Response | Streamed:
        """Every open interrupt is decided, then the turn goes on where it was; without one, the run tells what became of the changes."""
        turn = None if thread_id is None else await self.desk.latest(by, thread_id)
        if thread_id is None or turn is None:
            raise InvalidInput("Nothing is interrupted in this conversation.")
        talk = Conversation(self.gate.pool, by, thread_id)
        calls = await talk.calls(turn.id)
        require_all(await self._open(talk, turn, blocking=said.blocking), [entry.interrupt_id for entry in entries])
        answers, verdicts = decisions(entries)
        decided = await Decisions(self.gate, self.waiting, by, thread_id).take(answers, verdicts)
        ids = {answer.question_id for answer in answers} | {action.id for action in decided}
        owed = [call for call in calls if call.question_id in ids or call.action_id in ids]
        if answers:  # of a turn that went on already, by an answer in another tab, the client is given all that it missed
            waited = turn.state is TurnState.WAITING
            return self._stream(by, said, thread_id, turn.id, joins=not waited, told=_spoken(calls), owed=owed)
        return whole(await self._outcome(said, talk, turn, decided, owed), HEADERS)

    async def _open(self, talk: Conversation, turn: TurnDetail, *, blocking: bool) -> list[str]:
        """The interrupts that the client was told of, or would be now."""
        actions = await talk.actions(turn.actions) if blocking else []
        pending = [approval_id(action) for action in actions if action.state is ActionState.PENDING]
        return [*(str(question_id) for question_id in turn.questions), *pending]

    async def _outcome(
        self, said: RunInput, talk: Conversation, turn: TurnDetail, decided: Sequence[ActionDetail], owed: Sequence[ToldCall]
    ) -> bytes:
        encoder = _encoder(said, turn.id)
        encoder.owes(owed)
        calls = await talk.calls(turn.id)
        cards = b"".join(encoder.action(action) for action in decided)
        return encoder.started() + encoder.results(calls) + cards + encoder.succeeded()


def decisions(resume: Sequence[ResumeEntry]) -> tuple[list[Answer], list[Verdict]]:
    """What a resume says. A change is approved by `approved` being true and by nothing else; cancelled, it is left undecided.

    Raises InvalidInput for an id that no interrupt has.
    """
    answers, verdicts = [], []
    for entry in resume:
        resolved = entry.status == "resolved"
        if (question_id := question_id_of(entry.interrupt_id)) is not None:
            answers.append(Answer(question_id, resolved, entry.payload))
        elif approved_action(entry.interrupt_id) is not None:
            payload = entry.payload if isinstance(entry.payload, dict) else {}
            reason = payload.get("reason")
            approved = payload.get("approved") is True if resolved else None
            verdicts.append(Verdict(entry.interrupt_id, approved, reason if isinstance(reason, str) else None))
        else:
            raise InvalidInput("resume names an interrupt that there is not.", {"interruptId": entry.interrupt_id[:200]})
    return answers, verdicts


def _encoder(said: RunInput, turn_id: UUID) -> RunEncoder:
    return RunEncoder(said.thread_id, said.run_id, turn_id, declared=said.protocol_version is not None)


def _spoken(calls: Sequence[ToldCall]) -> int:
    """The last step in which the model spoke before it waited: it asked for the last of the calls."""
    return max((call.step for call in calls), default=0)

"""/v1/projects/{id}/chat: what the AI SDK's DefaultChatTransport speaks, and stopping what is at work in a chat."""

from typing import Annotated, Literal
from uuid import UUID, uuid4

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Principal, PrincipalKind, Scope
from askbus.db.ids import new_id
from askbus.errors import Conflict, InvalidInput, NotFound, TimedOut
from askbus.limits.model import Limited
from askbus.threads.model import ClientThreadId
from askbus.turns import reads as turns
from askbus.turns.model import RetryTurn, TurnDetail, TurnState
from askbus_gateway.aisdk.encoder import MessageEncoder
from askbus_gateway.aisdk.history import ui_messages
from askbus_gateway.aisdk.parts import decisions
from askbus_gateway.aisdk.view import UI_HEADERS, UiMessageView
from askbus_gateway.frontends.conversation import Conversation
from askbus_gateway.frontends.decisions import Decisions
from askbus_gateway.frontends.desk import A_KEY, CLIENT_THREAD, KEY, LARGEST_BODY, Desk
from askbus_gateway.frontends.handed import contexts, instructions, new_message
from askbus_gateway.frontends.streaming import Streamed, Streaming, whole
from askbus_gateway.http.described import described, event_stream, route
from askbus_gateway.http.gate import Gate, body, path_id, path_name, present
from askbus_gateway.http.waiting import Waiting
from askbus_gateway.sse.turns import TurnStreams

MOST_CARDS = 50
"""How many of a conversation's latest changes are shown as cards."""


class ChatInput(BaseModel):
    """What DefaultChatTransport posts, and what the front end adds to its `body`. Of `messages` only the one that the request is about is
    read: the last, or the one that `messageId` names."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)

    id: ClientThreadId
    messages: Annotated[list[JsonValue], Field(max_length=10_000)] = []
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: str | None = None
    context: JsonValue = None
    memories: JsonValue = None
    instructions: JsonValue = None

    def continued(self) -> dict[str, JsonValue] | None:
        """The assistant's message that the client completed: the one it names, or the last."""
        named = [each for each in self.messages if isinstance(each, dict) and each.get("id") == self.message_id]
        last = (named or self.messages)[-1:]
        return last[0] if last and isinstance(last[0], dict) and last[0].get("role") == "assistant" else None


class UiMessages(BaseModel):
    """The AI SDK's UIMessages."""

    messages: list[dict[str, JsonValue]]


class Chat:
    """The routes of the AI SDK."""

    def __init__(self, gate: Gate, streams: TurnStreams, waiting: Waiting) -> None:
        self.gate = gate
        self.streams = streams
        self.waiting = waiting
        self.desk = Desk(gate)

    def routes(self) -> list[Route]:
        return [
            route("POST", "/v1/projects/{id}/chat", Streaming(self.streams, self.post)),
            route("GET", "/v1/projects/{id}/chat/{chat}", self.get),
            route("GET", "/v1/projects/{id}/chat/{chat}/stream", Streaming(self.streams, self.resume)),
            route("POST", "/v1/projects/{id}/chat/{chat}/stop", self.stop),
        ]

    @described({204: None}, params={"chat": ClientThreadId}, refuses=(Conflict, TimedOut), scope=Scope.CHAT)
    async def stop(self, request: Request) -> Response:
        """Stop what is at work in the chat."""
        by = await self.gate.principal(request)
        await self.desk.stop(by, path_id(request), path_name(request, "chat", CLIENT_THREAD))
        return Response(status_code=204)

    @described(UiMessages, params={"chat": ClientThreadId}, scope=Scope.CHAT)
    async def get(self, request: Request) -> Response:
        """A chat's messages, for a page that begins with them. A chat that there is not has none."""
        by = await self.gate.principal(request)
        thread_id = await self.desk.find(by, path_id(request), path_name(request, "chat", CLIENT_THREAD))
        if thread_id is None:
            return present(UiMessages(messages=[]))
        talk = Conversation(self.gate.pool, by, thread_id)
        told = await talk.messages()
        calls = [call for message in told for call in message.calls]
        asked = tuple(call.question_id for call in calls if call.question_id is not None and not call.over)
        questions = {question.id: question for question in await talk.questions(asked)}
        proposed = tuple(call.action_id for call in calls if call.action_id is not None)[-MOST_CARDS:]
        actions = {action.id: action for action in await talk.actions(proposed)}
        shown = ui_messages(told, questions, actions, by_person=by.kind is PrincipalKind.SESSION)
        return present(UiMessages(messages=shown))

    @described(
        {200: event_stream("A UI message stream of the AI SDK."), 204: None}, params={"chat": ClientThreadId}, scope=Scope.CHAT
    )
    async def resume(self, request: Request) -> Response | Streamed:
        """The answer that is being given, from its beginning; 204 where none is."""
        by = await self.gate.principal(request)
        thread_id = await self.desk.find(by, path_id(request), path_name(request, "chat", CLIENT_THREAD))
        turn = None if thread_id is None else await self.desk.at_work(by, thread_id)
        if thread_id is None or turn is None or (turn.state is TurnState.WAITING and turn.questions):
            return Response(status_code=204)
        return self._stream(by, thread_id, turn.id)

    @described(
        event_stream("A UI message stream of the AI SDK."),
        body=ChatInput,
        headers={KEY: A_KEY},
        refuses=(Conflict, TimedOut),
        scope=Scope.CHAT,
        limited=True,
        most=LARGEST_BODY,
    )
    async def post(self, request: Request) -> Response | Streamed:
        """A message, the assistant's message with what the client completed in it, or the wish for another answer."""
        by = await self.gate.principal(request)
        said = await body(request, ChatInput, most=LARGEST_BODY)
        project_id = path_id(request)
        if said.trigger == "regenerate-message":
            return await self._regenerate(by, await self.desk.find(by, project_id, said.id))
        continued = said.continued()
        if continued is not None:
            return await self._continue(by, await self.desk.find(by, project_id, said.id), continued)
        message = new_message(said.messages)
        if message is None:
            raise InvalidInput("messages ends with neither a user's message nor the assistant's.", {"field": "messages"})
        given = await self.desk.instructions(request, by, instructions(said.instructions, said.messages))
        context = contexts(context=said.context, memory=said.memories)
        thread_id = await self.desk.thread(by, project_id, said.id)
        turn, _new = await self.desk.send(by, thread_id, message, context=context, instructions=given)
        return self._stream(by, thread_id, turn.id)

    async def _regenerate(self, by: Principal, thread_id: UUID | None) -> Streamed:
        """Another answer to the last message, which keeps the first one (C10)."""
        turn = None if thread_id is None else await self.desk.latest(by, thread_id)
        if thread_id is None or turn is None:
            raise NotFound("There is nothing to answer again.")
        await self.gate.limits.take(Limited.CHAT, by)
        command = RetryTurn(command_id=uuid4(), by=by, turn_id=new_id(), again=turn.id, client_message_id=str(uuid4()))
        return self._stream(by, thread_id, (await self.gate.commands.ask(command)).id)

    def _stream(self, by: Principal, thread_id: UUID, turn_id: UUID) -> Streamed:
        return Streamed(by, turn_id, UiMessageView(MessageEncoder(turn_id), Conversation(self.gate.pool, by, thread_id)))

    async def _continue(self, by: Principal, thread_id: UUID | None, message: dict[str, JsonValue]) -> Response | Streamed:
        """Answers and approvals are matched to what is stored; then the message goes on from where the client has it."""
        if thread_id is None:
            raise NotFound("There is no such message.")
        turn = await self._turn_of(by, thread_id, message.get("id"))
        talk = Conversation(self.gate.pool, by, thread_id)
        calls = await talk.calls(turn.id)
        answers, verdicts = decisions(message, calls)
        decided = await Decisions(self.gate, self.waiting, by, thread_id).take(answers, verdicts)
        encoder = MessageEncoder(turn.id)
        if answers or not verdicts:
            asked = [call for call in calls if call.question_id in {answer.question_id for answer in answers}]
            known = max((call.step for call in asked), default=turn.step - 1)
            return Streamed(by, turn.id, UiMessageView(encoder, talk, known=known))
        approved = {verdict.approval_id.partition(".")[0]: verdict.approved is True for verdict in verdicts}
        told = b"".join(encoder.decided(action, approved=approved[str(action.id)]) for action in decided)
        return whole(encoder.start() + told + encoder.finish("stop"), UI_HEADERS)

    async def _turn_of(self, by: Principal, thread_id: UUID, name: JsonValue) -> TurnDetail:
        """The turn whose message the client has under this id."""
        try:
            turn = await turns.get(self.gate.pool, by, UUID(str(name)))
        except ValueError:
            raise NotFound("There is no such message.") from None
        if turn.thread_id != thread_id:
            raise NotFound("There is no such message here.")
        return turn

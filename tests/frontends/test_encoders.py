"""What the two encoders write, without anything that runs: every AG-UI event is one of the protocol's own types."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from ag_ui.core import PROTOCOL_VERSION, Event
from pydantic import TypeAdapter

from askbus.actions.model import ActionDetail, ActionState
from askbus.questions.answer import AnswerSchema
from askbus.questions.model import Priority, QuestionDetail, QuestionState
from askbus.turns.model import ERRORS
from askbus_gateway.agui.encoder import RunEncoder, answer_schema, approval_interrupt, question_interrupt
from askbus_gateway.aisdk.encoder import MessageEncoder
from askbus_gateway.frontends.cards import approval_id, approved_action
from askbus_gateway.frontends.conversation import ToldCall, ToldMessage
from askbus_gateway.frontends.transcript import Again, Begin, Calls, End, StartedCall, Text

NOW = datetime(2026, 1, 2, tzinfo=UTC)
TURN = uuid4()
EVENT: TypeAdapter[Any] = TypeAdapter(Event)


def events(data: bytes) -> list[Any]:
    """What was written, each checked to be the protocol's, and framed with LF alone on one line."""
    assert b"\r" not in data
    frames = data.decode().split("\n\n")
    assert frames.pop() == ""
    assert all(frame.startswith("data: ") and "\n" not in frame for frame in frames)
    read = [json.loads(frame.removeprefix("data: ")) for frame in frames]
    for each in read:
        EVENT.validate_python(each)
    return read


def kinds(data: bytes) -> list[str]:
    return [event["type"] for event in events(data)]


def chunks(data: bytes) -> list[Any]:
    return [json.loads(frame.removeprefix("data: ")) for frame in data.decode().split("\n\n")[:-1] if frame != "data: [DONE]"]


def call(name: str, state: str, **ids: UUID) -> ToldCall:
    return ToldCall(id=uuid4(), name=name, step=1, state=state, question_id=ids.get("question"), action_id=ids.get("action"))


def question(**more: Any) -> QuestionDetail:
    unset = "token_id turn_id title answer_schema link reference assignee_id dedupe_key settled_at settled_by answer reason"
    nothing = dict.fromkeys(
        [*unset.split(), "superseded_by", "asked_with", "settled_by_name", "snoozed_until", "remind_at", "remind_role"]
    )
    nothing |= dict.fromkeys(["remind_user", "escalate_at", "escalate_role", "escalate_user"])
    ids = {name: uuid4() for name in ("id", "workspace_id", "project_id", "user_id", "asker_id")}
    told = {"text": "Red?", "options": (), "multiple": False, "free_text": True, "priority": Priority.NORMAL, "note_count": 0}
    told |= {"escalated": False, "may_answer": True, "seen": False}
    times = {"asked_at": NOW, "expires_at": NOW, "asked_by": "Mia", "notes": (), "state": QuestionState.OPEN}
    return QuestionDetail.model_validate({**nothing, **ids, **told, **times, **more})


def action(state: ActionState = ActionState.PENDING) -> ActionDetail:
    unset = "token_id thread_id turn_id summary dedupe_key decided_at decided_by reason settled_at proposed_with decided_by_name outcome"
    nothing = dict.fromkeys(unset.split())
    ids = {name: uuid4() for name in ("id", "workspace_id", "project_id", "user_id", "proposer_id")}
    told = {"state": state, "headline": "Change a note", "digest": "d1g3st", "proposed_at": NOW, "expires_at": NOW}
    return ActionDetail.model_validate({**nothing, **ids, **told, "proposed_by": "Mia", "card": (), "undos": ()})


def encoder(*, declared: bool = True) -> RunEncoder:
    return RunEncoder("thread", "run", TURN, declared=declared)


def test_a_run_closes_whatever_it_opened() -> None:
    """The message and the step, before the run's own end, however it ends."""
    for end in ("succeeded", "cancelled"):
        run = encoder()
        told = run.started() + run.op(Begin(1)) + run.op(Text("Hel")) + run.op(Text("lo")) + getattr(run, end)()
        assert kinds(told)[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]
    run = encoder()
    failed = run.op(Begin(1)) + run.op(Text("Hel")) + run.failed(ERRORS["internal"])
    assert kinds(failed)[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_ERROR"]


def test_what_only_newer_clients_understand_is_for_those_that_declare_a_version() -> None:
    """A pinned client fails on the outcome `cancelled`."""
    assert events(encoder().started())[0]["protocolVersion"] == PROTOCOL_VERSION
    assert "protocolVersion" not in events(encoder(declared=False).started())[0]
    assert events(encoder().cancelled())[0]["outcome"] == {"type": "cancelled"}
    assert "outcome" not in events(encoder(declared=False).cancelled())[0]


def test_content_cannot_break_out_of_its_event() -> None:
    """Line breaks of any kind are escaped by JSON."""
    run = encoder()
    hostile = 'a\n\ndata: {"type":"RUN_ERROR"}\r\n\u2028'
    told = events(run.op(Begin(1)) + run.op(Text(hostile)))
    assert [event["type"] for event in told] == ["STEP_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
    assert told[-1]["delta"] == hostile


def test_a_calls_result_is_told_once_and_not_while_a_person_decides() -> None:
    """And tells which question or change it is about, not what is in it."""
    asks, changes = call("ask_user", "open", question=uuid4()), call("propose_changes", "succeeded", action=uuid4())
    run = encoder()
    run.op(Begin(1))
    run.op(Calls(tuple(StartedCall(id=str(each.id), name=each.name) for each in (asks, changes))))
    assert run.results([asks, changes], held=frozenset({changes.id})) == b""
    [told] = events(run.results([asks, changes]))
    assert (told["toolCallId"], json.loads(told["content"])) == (
        str(changes.id),
        {"state": "succeeded", "action_id": str(changes.action_id)},
    )
    assert run.results([asks, changes]) == b""
    assert run.calling


def test_the_conversation_pairs_each_call_with_what_became_of_it() -> None:
    """What waits has no result."""
    over, waits = call("query_records", "succeeded"), call("ask_user", "open", question=uuid4())
    said = ToldMessage(turn_id=TURN, step=1, role="assistant", text="Hm.", client_message_id="m", calls=(over, waits))
    asked = ToldMessage(turn_id=TURN, step=None, role="user", text="Hi", client_message_id="m", calls=())
    [snapshot] = events(encoder().messages([asked, said]))
    assert [(message["id"], message["role"]) for message in snapshot["messages"]] == [
        ("m", "user"),
        (f"{TURN}.1", "assistant"),
        (f"{over.id}.result", "tool"),
    ]


@pytest.mark.parametrize(
    ("asked", "schema"),
    [
        (question(), {"type": "string"}),
        (question(options=("a", "b")), {"type": "string"}),
        (question(options=("a", "b"), free_text=False), {"type": "string", "enum": ["a", "b"]}),
        (
            question(options=("a",), free_text=False, multiple=True),
            {"type": "array", "items": {"type": "string", "enum": ["a"]}},
        ),
    ],
)
def test_an_interrupt_says_what_an_answer_may_be(asked: QuestionDetail, schema: object) -> None:
    """As a JSON schema of the payload."""
    assert answer_schema(asked) == schema


def test_a_form_is_its_own_schema() -> None:
    """The question's, as it was asked."""
    form = AnswerSchema.model_validate({"properties": {"size": {"type": "integer"}}, "required": ["size"]})
    assert answer_schema(question(answer_schema=form))["required"] == ["size"]


def test_interrupts_are_the_protocols_and_name_their_call() -> None:
    """A change's id binds the decision to what was shown."""
    asked, changed = question(), action()
    asks, changes = call("ask_user", "open", question=asked.id), call("propose_changes", "succeeded", action=changed.id)
    interrupts = [question_interrupt(asked.id, asked, [asks]), approval_interrupt(changed, [changes])]
    [told] = events(encoder().interrupted(interrupts))
    assert [each["toolCallId"] for each in told["outcome"]["interrupts"]] == [str(asks.id), str(changes.id)]
    assert approved_action(interrupts[1]["id"]) == (changed.id, "d1g3st")  # type: ignore[arg-type]
    assert question_interrupt(asked.id, None, []) == {"id": str(asked.id), "reason": "input_required"}


def test_a_step_begun_anew_resets_it_in_a_ui_message() -> None:
    """The client drops the step's parts, and a new text begins."""
    message = MessageEncoder(TURN)
    told = b"".join(message.op(op) for op in (Begin(1), Text("Wro"), Again(1), Text("Right"), End(1)))
    assert [chunk["type"] for chunk in chunks(told)] == (
        ["start-step", "text-start", "text-delta", "reset-step", "text-start", "text-delta", "text-end", "finish-step"]
    )
    names = {chunk["id"] for chunk in chunks(told) if "id" in chunk}
    assert len(names) == 2


def test_a_ui_message_asks_people_and_runs_the_rest_itself() -> None:
    """`ask_user` is the client's to complete; the others were executed here."""
    message = MessageEncoder(TURN)
    calls = (StartedCall(id="a", name="ask_user"), StartedCall(id="b", name="query_records"))
    told = chunks(message.op(Begin(1)) + message.op(Calls(calls)))
    assert told[1:] == [
        {"type": "tool-input-start", "toolCallId": "a", "toolName": "ask_user"},
        {"type": "tool-input-available", "toolCallId": "b", "toolName": "query_records", "input": {}, "providerExecuted": True},
    ]


@pytest.mark.parametrize(
    ("state", "approved", "kind"),
    [
        (ActionState.APPLIED, True, "tool-output-available"),
        (ActionState.CONFIRMED, True, "tool-output-available"),
        (ActionState.REJECTED, False, "tool-output-denied"),
        (ActionState.EXPIRED, True, "tool-output-denied"),
        (ActionState.CONFLICTED, True, "tool-output-error"),
        (ActionState.FAILED, True, "tool-output-error"),
    ],
)
def test_a_decision_is_told_as_what_became_of_it(state: ActionState, approved: bool, kind: str) -> None:
    """An approval that came too late is no success."""
    told = chunks(MessageEncoder(TURN).decided(action(state), approved=approved))
    assert [chunk["type"] for chunk in told] == [kind, "data-action"]


def test_an_id_that_names_no_change_approves_nothing() -> None:
    """Whatever it looks like."""
    assert approved_action(approval_id(action())) is not None
    assert [approved_action(name) for name in ("", "x", "x.y", f"{TURN}", f"{TURN}.")] == [None] * 5

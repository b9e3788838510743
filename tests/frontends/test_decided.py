"""What a client's resume or message decides: by `approved` being true, and by nothing else."""

from uuid import UUID, uuid4

import pytest
from pydantic import JsonValue

from askbus.errors import InvalidInput
from askbus_gateway.agui import door as agui
from askbus_gateway.agui.door import ResumeEntry
from askbus_gateway.aisdk import parts as aisdk
from askbus_gateway.frontends.conversation import ToldCall
from askbus_gateway.frontends.decisions import Answer, Verdict, require_all

pytestmark = pytest.mark.requirement("C26", "C36")

QUESTION, CHANGE = UUID(int=1), f"{UUID(int=2)}.d1g3st"
NOT_TRUE: list[JsonValue] = [None, False, 1, "true", "yes", [True], {"approved": True}]


def asked(name: str = "ask_user") -> ToldCall:
    return ToldCall(id=uuid4(), name=name, step=1, state="open", question_id=QUESTION, action_id=None)


@pytest.mark.parametrize("approved", [True, *NOT_TRUE])
def test_nothing_but_true_approves_in_a_resume(approved: JsonValue) -> None:
    """Whatever else is said rejects."""
    entry = ResumeEntry(interrupt_id=CHANGE, status="resolved", payload={"approved": approved, "reason": "so"})
    assert agui.decisions([entry]) == ([], [Verdict(CHANGE, approved is True, "so")])


@pytest.mark.parametrize("payload", [True, "approved", None, [], {}])
def test_a_payload_without_the_word_rejects(payload: JsonValue) -> None:
    """A bare true is not `approved`."""
    entry = ResumeEntry(interrupt_id=CHANGE, status="resolved", payload=payload)
    assert agui.decisions([entry]) == ([], [Verdict(CHANGE, approved=False)])


def test_cancelled_leaves_a_change_undecided_and_declines_a_question() -> None:
    """Dismissing a card is no decision on it."""
    entries = [ResumeEntry(interrupt_id=name, status="cancelled") for name in (CHANGE, str(QUESTION))]
    assert agui.decisions(entries) == ([Answer(QUESTION, given=False)], [Verdict(CHANGE, approved=None)])


@pytest.mark.parametrize("name", ["", "x", f"{QUESTION}.", ".d", "not-an-id.digest"])
def test_an_interrupt_that_there_is_not_is_refused(name: str) -> None:
    """Before anything is looked up."""
    with pytest.raises(InvalidInput):
        agui.decisions([ResumeEntry(interrupt_id=name, status="resolved")])


def test_a_resume_that_leaves_something_open_says_what() -> None:
    """More than is open does no harm."""
    with pytest.raises(InvalidInput) as refused:
        require_all(["a", "b"], ["b", "c"])
    assert refused.value.details == {"missing": ["a"]}
    require_all(["a"], ["a", "c"])


@pytest.mark.parametrize("approved", [True, *NOT_TRUE])
def test_nothing_but_true_approves_in_a_message(approved: JsonValue) -> None:
    """Whatever else is said rejects."""
    part: JsonValue = {
        "type": "tool-confirm_changes",
        "state": "approval-responded",
        "approval": {"id": CHANGE, "approved": approved},
    }
    assert aisdk.decisions({"parts": [part]}, []) == ([], [Verdict(CHANGE, approved is True)])


def test_an_output_counts_where_its_call_asked_something() -> None:
    """Not where the client made the call up, nor where another tool was called."""
    call, other = asked(), asked("query_records")
    parts: list[JsonValue] = [
        {"type": "tool-ask_user", "toolCallId": str(call.id), "state": "output-available", "output": "red"},
        {"type": "tool-ask_user", "toolCallId": str(uuid4()), "state": "output-available", "output": "blue"},
        {"type": "tool-query_records", "toolCallId": str(other.id), "state": "output-available", "output": "green"},
        {"type": "text", "text": "x", "toolCallId": str(call.id), "state": "output-available", "output": "white"},
        "no part",
    ]
    assert aisdk.decisions({"parts": parts}, [call, other]) == ([Answer(QUESTION, given=True, value="red")], [])


def test_an_output_that_is_an_error_declines() -> None:
    """With its text as the reason."""
    call = asked()
    part: JsonValue = {"type": "dynamic-tool", "toolCallId": str(call.id), "state": "output-error", "errorText": "not now"}
    assert aisdk.decisions({"parts": [part]}, [call]) == ([Answer(QUESTION, given=False, value="not now")], [])


def test_an_approval_that_names_no_change_is_refused() -> None:
    """Before anything is looked up."""
    part: JsonValue = {"type": "tool-x", "state": "approval-responded", "approval": {"id": "x", "approved": True}}
    with pytest.raises(InvalidInput):
        aisdk.decisions({"parts": [part]}, [])

"""What a tool's output becomes: for the record, and for the model."""

import json
from uuid import uuid4

import pytest
from pydantic import BaseModel

from askbus.errors import NotFound, TimedOut
from askbus.tools.model import Asked, Outcome, Proposed, RunState, ToolResult


class Said(BaseModel):
    """Some output."""

    text: str
    number: float = 1


def test_a_result_is_compact_json() -> None:
    """No blanks, and characters as they are: the model pays for each."""
    assert ToolResult.of(Said(text="Zoë")).text() == '{"text":"Zoë","number":1.0}'


@pytest.mark.requirement("C4")
def test_what_is_too_long_is_cut_and_says_so() -> None:
    """The mark names both sizes; the result stays a result, for the record too."""
    result = ToolResult.of(Said(text="word " * 100), most=120)
    assert result.ok
    assert result.cut
    kept, mark = result.text().split("\n")
    assert len(kept.encode()) <= 120
    assert mark == f"[cut: {len(kept)} of 524 bytes are here. Ask for less at once to see the rest.]"
    assert ToolResult.model_validate(json.loads(result.model_dump_json())) == result


@pytest.mark.requirement("C4")
def test_a_cut_never_halves_a_number_or_a_character() -> None:
    """A beginning of 12345 would be another number, and would be quoted as one."""
    for most in range(60, 120):
        text = ToolResult.of(Said(text=json.dumps([12345] * 40) + "ü" * 60), most=most).text().split("\n")[0]
        assert all(part.strip(' ]"') in {"12345", ""} for part in text.split("[", 1)[1].split(","))


@pytest.mark.requirement("C20")
def test_an_error_is_short_and_keeps_what_helps() -> None:
    """Code, message and small details; details that would fill the prompt are left to the record."""
    small = ToolResult.failure(NotFound("There is no field 'x'.", {"permitted": ["y"]}))
    assert json.loads(small.text()) == {
        "error": {"code": "not_found", "message": "There is no field 'x'.", "details": {"permitted": ["y"]}}
    }
    large = ToolResult.failure(NotFound("There is no field 'x'.", {"permitted": ["y" * 5000]}))
    assert json.loads(large.text()) == {"error": {"code": "not_found", "message": "There is no field 'x'."}}
    assert not small.ok


def test_what_postgres_cannot_hold_is_replaced() -> None:
    """In results and in errors (case D07)."""
    assert ToolResult.of(Said(text="a\0b\ud83d")).content == {"text": "a\ufffdb\ufffd", "number": 1.0}
    failed = ToolResult.failure(TimedOut("a\0b", {"a\0": "\ud83d"}))
    assert failed.error is not None
    assert (failed.error.message, failed.error.details) == ("a\ufffdb", {"a\ufffd": "\ufffd"})


def test_a_number_that_json_cannot_hold_is_a_defect_of_the_tool() -> None:
    """It is not passed on as something else (RFC 8259, section 6)."""
    with pytest.raises(ValueError, match="finite"):
        ToolResult.of(Said(text="", number=float("nan")))


def test_a_result_has_content_or_an_error() -> None:
    """Never both, never neither."""
    with pytest.raises(ValueError, match="content or an error"):
        ToolResult(ok=False)
    with pytest.raises(ValueError, match="content or an error"):
        ToolResult(ok=True, error=NotFound("no").body())


def test_the_output_says_how_the_run_ends() -> None:
    """A question is waited for; a proposal is named by the run, and its text says that nothing has changed."""
    question, action = uuid4(), uuid4()
    assert Outcome.of(Asked(question_id=question)) == Outcome(RunState.ASKED, question_id=question)
    proposed = Outcome.of(Proposed(action_id=action, state="pending", headline="Change 1 customer"))
    assert (proposed.state, proposed.action_id) == (RunState.SUCCEEDED, action)
    assert proposed.result is not None
    assert "Pending, not applied" in proposed.result.text()
    assert Outcome.of(Said(text="")).state is RunState.SUCCEEDED

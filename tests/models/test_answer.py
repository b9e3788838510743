"""What an answer may be, against what people, agents and nobody in their right mind would send."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError
from pydantic_core import from_json, to_json

from askbus.errors import InvalidInput
from askbus.questions.answer import LARGEST_ANSWER, LARGEST_SCHEMA, LONGEST_ANSWER, MOST_CHOICES, AnswerSchema, check_answer
from askbus.questions.model import Ask, Question

pytestmark = pytest.mark.requirement("Q1", "Q4")

NOW = datetime(2026, 11, 3, tzinfo=UTC)


def question(**said: Any) -> Question:
    """A stored question that was asked like this."""
    ask = Ask.model_validate({"project_id": uuid4(), "text": "Well?", **said})
    unset: dict[str, None] = dict.fromkeys(set(Question.model_fields) - set(Ask.model_fields), None)
    ids = {name: uuid4() for name in ("id", "workspace_id", "user_id", "asker_id")}
    times = {"asked_at": NOW, "expires_at": NOW + timedelta(days=1)}
    return Question.model_validate(
        {**ask.model_dump(), **unset, **ids, **times, "state": "open", "note_count": 0, "escalated": False}
    )


FREE = question()
CHOICE = question(options=["yes", "no"], free_text=False)
CHOICE_OR_TEXT = question(options=["yes", "no"])
SEVERAL = question(options=["a", "b", "c"], multiple=True, free_text=False)
SEVERAL_OR_TEXT = question(options=["a", "b"], multiple=True)
FORM = question(
    answer_schema={
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 5},
            "size": {"type": "string", "enum": ["S", "M"]},
            "count": {"type": "integer", "minimum": 1, "maximum": 10},
            "price": {"type": "number", "minimum": 0},
            "rush": {"type": "boolean"},
        },
        "required": ["name"],
    }
)

FITS: list[tuple[Question, JsonValue]] = [
    (FREE, "anything"),
    (FREE, "\u2028 \U0001f600 naïve"),
    (FREE, "x" * LONGEST_ANSWER),
    (CHOICE, "yes"),
    (CHOICE_OR_TEXT, "no"),
    (CHOICE_OR_TEXT, "perhaps"),
    (SEVERAL, ["c", "a"]),
    (SEVERAL_OR_TEXT, ["a", "something else"]),
    (FORM, {"name": "Ada"}),
    (FORM, {"name": "Ada", "size": "M", "count": 10, "price": 0.5, "rush": False}),
    (FORM, {"name": "Ada", "count": 3.0, "price": 10**300}),
]


@pytest.mark.parametrize(("asked", "answer"), FITS)
def test_an_answer_that_fits_is_taken(asked: Question, answer: JsonValue) -> None:
    """Whatever the question allows."""
    check_answer(asked, answer)


def each(asked: Question, *answers: Any) -> list[tuple[Question, Any]]:
    return [(asked, answer) for answer in answers]


MISFITS = [
    *each(FREE, "", " \n\t", None, True, 0, 1.5, [], ["yes"], {}, {"answer": "yes"}),
    *each(FREE, "x" * (LONGEST_ANSWER + 1), "a\0b"),
    *each(CHOICE, "perhaps", "Yes", "yes ", "ye", ["yes"], None, True, "yes\0"),
    *each(CHOICE_OR_TEXT, ["yes"]),
    *each(SEVERAL, "a", [], ["d"], ["a", "a"], ["a", None], ["a", ["b"]], [["a"]], {"a": True}, None),
    *each(SEVERAL_OR_TEXT, ["x", "x"], [str(n) for n in range(MOST_CHOICES + 1)], [f"{n}{'x' * 10_000}" for n in range(20)]),
    *each(FORM, "Ada", [], {}, None, {"size": "M"}, {"name": "Ada", "more": 1}, {"name": "Ada", "": 1}),
    *each(FORM, *({"name": name} for name in ("A", "Ada Lovelace", None, 1, True, ["Ada"], {"first": "Ada"}, "A\0a"))),
    *each(FORM, *({"name": "Ada", "size": size} for size in ("L", "s", "", None, 1))),
    *each(FORM, *({"name": "Ada", "count": count} for count in (0, 11, 1.5, True, "3", None, [3], 10**400, -(10**400)))),
    *each(FORM, *({"name": "Ada", "price": price} for price in (-0.01, float("nan"), float("inf"), "1", True, 10**310))),
    *each(FORM, *({"name": "Ada", "rush": rush} for rush in (0, 1, "true", None))),
]


@pytest.mark.parametrize(("asked", "answer"), MISFITS, ids=range(len(MISFITS)))
def test_an_answer_that_does_not_fit_is_refused_with_a_sentence(asked: Question, answer: JsonValue) -> None:
    """The refusal says what is wanted, and repeats nothing of what was sent."""
    with pytest.raises(InvalidInput) as refused:
        check_answer(asked, answer)
    assert refused.value.message.endswith(".")
    assert "Lovelace" not in refused.value.message


def test_a_form_as_a_whole_is_no_larger_than_a_message_can_carry() -> None:
    """Each field may be as long as an answer; all of them together may not."""
    fields = {f"field {n}": {"type": "string"} for n in range(20)}
    asked = question(answer_schema={"properties": fields})
    with pytest.raises(InvalidInput, match=str(LARGEST_ANSWER)):
        check_answer(asked, dict.fromkeys(fields, "x" * 10_000))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["name", "size", "count", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(asked=st.sampled_from([FREE, CHOICE, CHOICE_OR_TEXT, SEVERAL, SEVERAL_OR_TEXT, FORM]), answer=JSON)
def test_any_json_is_taken_or_refused_and_what_is_taken_can_be_stored(asked: Question, answer: JsonValue) -> None:
    """No input ends in a defect; and what is taken is JSON that Postgres keeps: finite numbers, no U+0000."""
    try:
        check_answer(asked, answer)
    except InvalidInput:
        return
    text = to_json(answer).decode()
    assert from_json(text, allow_inf_nan=False) == answer
    assert "\\u0000" not in text


@pytest.mark.parametrize(
    "said",
    [
        {"text": ""},
        {"text": "   "},
        {"text": "a\0b"},
        {"text": "x" * 20_001},
        {"title": "x" * 201},
        {"title": "\0"},
        {"options": ["a", "a"]},
        {"options": ["a", " a "]},
        {"options": [""]},
        {"options": ["a\0"]},
        {"options": [str(n) for n in range(51)]},
        {"multiple": True},
        {"free_text": False},
        {"options": ["a"], "answer_schema": {"properties": {"a": {"type": "boolean"}}}},
        {"link": "javascript:alert(1)"},
        {"link": "https://example.org/a b"},
        {"link": "https://example.org/\0"},
        {"reference": "x" * 201},
        {"priority": "critical"},
        {"expires_in": 0},
        {"expires_in": 30 * 24 * 3600 + 1},
        {"assignee_id": "mia"},
        {"dedupe_key": ""},
        {"dedupe_key": "x" * 201},
        {"supersedes": 7},
        {"surprise": 1},
        {"project_id": None},
    ],
)
def test_a_question_that_makes_no_sense_is_not_asked(said: dict[str, object]) -> None:
    """Nobody could answer it, or nothing could store it."""
    with pytest.raises(ValidationError):
        Ask.model_validate_json(to_json({"project_id": str(uuid4()), "text": "Well?", **said}))


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {}},
        {"properties": {"": {"type": "string"}}},
        {"properties": {"a\0": {"type": "string"}}},
        {"properties": {"a": {"type": "array"}}},
        {"properties": {"a": {"type": "object", "properties": {}}}},
        {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
        {"properties": {"a": {"type": "string", "enum": []}}},
        {"properties": {"a": {"type": "string", "enum": ["x\0"]}}},
        {"properties": {"a": {"type": "string", "minLength": 3, "maxLength": 2}}},
        {"properties": {"a": {"type": "string", "minLength": LONGEST_ANSWER + 1}}},
        {"properties": {"a": {"type": "string", "title": "\0"}}},
        {"properties": {"a": {"type": "number", "minimum": 2, "maximum": 1}}},
        {"properties": {"a": {"type": "number", "minimum": "NaN"}}},
        {"properties": {"a": {"type": "number", "maximum": float("inf")}}},
        {"properties": {"a": {"type": "boolean"}}, "required": ["b"]},
        {"properties": {"a": {"type": "boolean"}}, "additionalProperties": True},
        {"properties": {"a": {"type": "string", "description": "x" * LARGEST_SCHEMA}}},
        {"properties": {str(n): {"type": "boolean"} for n in range(51)}},
        {"type": "array", "properties": {"a": {"type": "boolean"}}},
        {"$ref": "#/properties/a", "properties": {"a": {"type": "boolean"}}},
    ],
)
def test_a_schema_that_is_not_flat_or_cannot_be_met_is_refused(schema: dict[str, object]) -> None:
    """Nested values, patterns and references have no form that a person could fill in, or cost without bound."""
    with pytest.raises(ValidationError):
        AnswerSchema.model_validate_json(to_json(schema, inf_nan_mode="constants"))


def test_a_schema_comes_back_as_it_was_sent() -> None:
    """Field names as JSON Schema spells them, nothing added."""
    sent = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}, "required": ["a"]}
    ask = Ask.model_validate({"project_id": uuid4(), "text": "Well?", "answer_schema": sent})
    assert from_json(ask.model_dump_json())["answer_schema"] == sent
    assert Ask.model_validate_json(ask.model_dump_json()) == ask

"""What an answer may be: options, free text, or a flat JSON schema. Pure.

The schema's form is the flat object of MCP's elicitation (`requestedSchema`): strings, numbers, booleans and enums, nothing nested.
"""

import math
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from askbus.errors import InvalidInput

if TYPE_CHECKING:
    from askbus.questions.model import Question

LONGEST_ANSWER = 20_000


class _Property(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    title: str | None = None
    description: str | None = None


class StringProperty(_Property):
    type: Literal["string"]
    enum: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    min_length: Annotated[int | None, Field(alias="minLength", ge=0)] = None
    max_length: Annotated[int | None, Field(alias="maxLength", ge=0)] = None


class NumberProperty(_Property):
    type: Literal["number", "integer"]
    minimum: float | None = None
    maximum: float | None = None


class BooleanProperty(_Property):
    type: Literal["boolean"]


Property = Annotated[StringProperty | NumberProperty | BooleanProperty, Field(discriminator="type")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class AnswerSchema(BaseModel):
    """A flat JSON schema for the answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True, populate_by_name=True)

    type: Literal["object"] = "object"
    properties: Annotated[dict[Name, Property], Field(min_length=1, max_length=50)]
    required: tuple[str, ...] = ()


def check_answer(question: "Question", answer: JsonValue) -> None:
    """Raises InvalidInput, naming what is wanted, where `answer` does not answer `question`."""
    if question.answer_schema is not None:
        _check_object(question.answer_schema, answer)
    elif question.multiple:
        if not isinstance(answer, list) or not answer or len(set(map(str, answer))) < len(answer):
            raise InvalidInput("Choose one or more of the options, each once: the answer is a list.", _choices(question))
        for choice in answer:
            _check_choice(question, choice)
    else:
        _check_choice(question, answer)


def _choices(question: "Question") -> dict[str, JsonValue]:
    return {"options": list(question.options), "free_text": question.free_text}


def _check_choice(question: "Question", answer: JsonValue) -> None:
    if not isinstance(answer, str) or not answer.strip():
        raise InvalidInput("The answer is a text." if not question.options else "The answer is one of the options.", _choices(question))
    if len(answer) > LONGEST_ANSWER:
        raise InvalidInput(f"An answer has at most {LONGEST_ANSWER} characters.")
    if answer not in question.options and not question.free_text:
        raise InvalidInput("The answer is one of the options.", _choices(question))


def _check_object(schema: AnswerSchema, answer: JsonValue) -> None:
    if not isinstance(answer, dict):
        raise InvalidInput("The answer is an object with the fields of answer_schema.", {"fields": list(schema.properties)})
    for name in answer:
        if name not in schema.properties:
            raise InvalidInput(f"There is no field {name!r} in answer_schema.", {"fields": list(schema.properties)})
    for name in schema.required:
        if name not in answer:
            raise InvalidInput(f"The field {name!r} is required.", {"field": name})
    for name, value in answer.items():
        if complaint := _complaint(schema.properties[name], value):
            raise InvalidInput(f"The field {name!r} {complaint}.", {"field": name})


def _complaint(wanted: StringProperty | NumberProperty | BooleanProperty, value: JsonValue) -> str | None:
    match wanted:
        case BooleanProperty():
            return None if isinstance(value, bool) else "is true or false"
        case NumberProperty():
            return _number_complaint(wanted, value)
        case StringProperty():
            return _string_complaint(wanted, value)


def _number_complaint(wanted: NumberProperty, value: JsonValue) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return "is a number"
    if wanted.type == "integer" and value != int(value):
        return "is a whole number"
    if wanted.minimum is not None and value < wanted.minimum:
        return f"is at least {wanted.minimum:g}"
    if wanted.maximum is not None and value > wanted.maximum:
        return f"is at most {wanted.maximum:g}"
    return None


def _string_complaint(wanted: StringProperty, value: JsonValue) -> str | None:
    if not isinstance(value, str):
        return "is a text"
    if wanted.enum is not None and value not in wanted.enum:
        return f"is one of {', '.join(wanted.enum)}"
    if wanted.min_length is not None and len(value) < wanted.min_length:
        return f"has at least {wanted.min_length} characters"
    longest = LONGEST_ANSWER if wanted.max_length is None else wanted.max_length
    if len(value) > longest:
        return f"has at most {longest} characters"
    return None

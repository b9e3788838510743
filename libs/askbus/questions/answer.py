"""What an answer may be: options, free text, or a flat JSON schema. Pure.

The schema's form is the flat object of MCP's elicitation (`requestedSchema`): strings, numbers, booleans and enums, nothing
nested.
"""

import math
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    JsonValue,
    StringConstraints,
    model_validator,
)
from pydantic_core import to_json

from askbus.errors import InvalidInput

if TYPE_CHECKING:
    from askbus.questions.model import Question

LONGEST_ANSWER = 20_000
"""Characters of one text in an answer."""
LARGEST_ANSWER = 100_000
"""Bytes of a whole answer as JSON: a question with its answer must fit in one message on the bus."""
LARGEST_SCHEMA = 20_000
"""Bytes of a schema as JSON."""
MOST_CHOICES = 100


def storable(text: str) -> str:
    """The same text. Raises ValueError for U+0000, which Postgres keeps in no text and no jsonb."""
    if "\0" in text:
        raise ValueError("must not contain the character U+0000")
    return text


Storable = Annotated[str, AfterValidator(storable)]


def _unsaid(value: object) -> bool:
    """In JSON Schema `null` is no value for these keywords: what is not said is left out."""
    return value is None


class _Property(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)
    title: Annotated[Storable | None, Field(exclude_if=_unsaid)] = None
    description: Annotated[Storable | None, Field(exclude_if=_unsaid)] = None


class StringProperty(_Property):
    type: Literal["string"]
    enum: Annotated[tuple[Storable, ...] | None, Field(min_length=1, exclude_if=_unsaid)] = None
    min_length: Annotated[int | None, Field(alias="minLength", ge=0, le=LONGEST_ANSWER, exclude_if=_unsaid)] = None
    max_length: Annotated[int | None, Field(alias="maxLength", ge=0, exclude_if=_unsaid)] = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.min_length is not None and self.max_length is not None and self.min_length > self.max_length:
            raise ValueError("minLength is above maxLength")
        return self


class NumberProperty(_Property):
    type: Literal["number", "integer"]
    minimum: Annotated[FiniteFloat | None, Field(exclude_if=_unsaid)] = None
    maximum: Annotated[FiniteFloat | None, Field(exclude_if=_unsaid)] = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError("minimum is above maximum")
        return self


class BooleanProperty(_Property):
    type: Literal["boolean"]


Property = Annotated[StringProperty | NumberProperty | BooleanProperty, Field(discriminator="type")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(storable)]


class AnswerSchema(BaseModel):
    """A flat JSON schema for the answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["object"] = "object"
    properties: Annotated[dict[Name, Property], Field(min_length=1, max_length=50)]
    required: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _answerable(self) -> Self:
        if unknown := sorted(set(self.required) - self.properties.keys()):
            raise ValueError(f"required names {unknown[0]!r}, which is not among the properties")
        if len(to_json(self)) > LARGEST_SCHEMA:
            raise ValueError(f"a schema has at most {LARGEST_SCHEMA} bytes")
        return self


def check_answer(question: "Question", answer: JsonValue) -> None:
    """Raises InvalidInput, naming what is wanted, where `answer` does not answer `question`."""
    if question.answer_schema is not None:
        _check_object(question.answer_schema, answer)
    elif question.multiple:
        _check_choices(question, answer)
    else:
        _check_choice(question, answer)
    if len(to_json(answer)) > LARGEST_ANSWER:
        raise InvalidInput(f"An answer has at most {LARGEST_ANSWER} bytes.")


def _choices(question: "Question") -> dict[str, JsonValue]:
    return {"options": list(question.options), "free_text": question.free_text}


def _check_choices(question: "Question", answer: JsonValue) -> None:
    if not isinstance(answer, list) or not 0 < len(answer) <= MOST_CHOICES:
        raise InvalidInput("Choose one or more of the options: the answer is a list of them.", _choices(question))
    for choice in answer:
        _check_choice(question, choice)
    if len(set(map(str, answer))) < len(answer):
        raise InvalidInput("Choose each option once.", _choices(question))


def _check_choice(question: "Question", answer: JsonValue) -> None:
    wanted = "The answer is one of the options." if question.options and not question.free_text else "The answer is a text."
    if not isinstance(answer, str) or not answer.strip():
        raise InvalidInput(wanted, _choices(question))
    if answer not in question.options and not question.free_text:
        raise InvalidInput(wanted, _choices(question))
    if complaint := _text_complaint(answer, LONGEST_ANSWER):
        raise InvalidInput(f"The answer {complaint}.")


def _check_object(schema: AnswerSchema, answer: JsonValue) -> None:
    fields: list[JsonValue] = list(schema.properties)
    if not isinstance(answer, dict):
        raise InvalidInput("The answer is an object with the fields of answer_schema.", {"fields": fields})
    if any(name not in schema.properties for name in answer):
        raise InvalidInput("The answer has a field that is not in answer_schema.", {"fields": fields})
    for name in schema.required:
        if name not in answer:
            raise InvalidInput(f"The field {name!r} is required.", {"field": name})
    if not answer:
        raise InvalidInput("The answer has no field.", {"fields": fields})
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
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_a_double(value):
        return "is a number"
    if wanted.type == "integer" and value != int(value):
        return "is a whole number"
    if wanted.minimum is not None and value < wanted.minimum:
        return f"is at least {wanted.minimum:g}"
    if wanted.maximum is not None and value > wanted.maximum:
        return f"is at most {wanted.maximum:g}"
    return None


def _is_a_double(value: float) -> bool:
    """RFC 8259, section 6: beyond IEEE 754's binary64 a number is not one that everybody reads alike."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _string_complaint(wanted: StringProperty, value: JsonValue) -> str | None:
    if not isinstance(value, str):
        return "is a text"
    if wanted.enum is not None and value not in wanted.enum:
        return f"is one of {', '.join(wanted.enum)}"
    if wanted.min_length is not None and len(value) < wanted.min_length:
        return f"has at least {wanted.min_length} characters"
    return _text_complaint(value, LONGEST_ANSWER if wanted.max_length is None else min(wanted.max_length, LONGEST_ANSWER))


def _text_complaint(text: str, longest: int) -> str | None:
    if len(text) > longest:
        return f"has at most {longest} characters"
    return "has no character U+0000" if "\0" in text else None

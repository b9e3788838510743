"""A turn's pieces put in order, for vocabularies that take nothing back silently."""

import json

import pytest

from askbus.bus.signals import Piece
from askbus_gateway.frontends.transcript import Again, Begin, Calls, End, Op, StartedCall, Text, Transcript

pytestmark = pytest.mark.requirement("C25")


def piece(number: str, kind: str, **data: object) -> Piece:
    step, attempt, _position = number.split(".")
    return Piece(number, json.dumps({"type": kind, "step": int(step), "attempt": int(attempt), **data}).encode())


def told(transcript: Transcript, *pieces: Piece) -> list[Op]:
    return [op for each in pieces for op in transcript.take(each)]


def test_steps_texts_and_calls_come_as_they_are() -> None:
    """Nothing to repair."""
    call = {"id": "c", "name": "query_records"}
    seen = told(
        Transcript(),
        piece("1.1.1", "step"),
        piece("1.1.2", "delta", text="Let me "),
        piece("1.1.3", "delta", text="see."),
        piece("1.1.4", "calls", calls=[call]),
        piece("1.1.5", "end"),
        piece("3.2.1", "step"),
        piece("3.2.2", "cut", why="stopped"),
    )
    assert seen == [
        Begin(1),
        Text("Let me "),
        Text("see."),
        Calls((StartedCall.model_validate(call),)),
        End(1),
        Begin(3),
        End(3),
    ]


def test_a_step_that_is_begun_anew_takes_back_what_was_said() -> None:
    """And a piece of the worker that was overtaken counts no more."""
    transcript = Transcript()
    seen = told(
        transcript,
        piece("1.1.1", "step"),
        piece("1.1.2", "delta", text="Wro"),
        piece("1.2.1", "step"),
        piece("1.1.3", "delta", text="ng"),
        piece("1.2.2", "delta", text="Right"),
        piece("1.1.4", "end"),
    )
    assert seen == [Begin(1), Text("Wro"), Again(1), Text("Right")]
    assert transcript.text == "Right"


def test_an_answer_that_went_back_to_the_model_is_taken_back() -> None:
    """The next step says it anew."""
    seen = told(
        Transcript(),
        piece("1.1.1", "step"),
        piece("1.1.2", "delta", text="It is 9."),
        piece("1.1.3", "again"),
        piece("1.1.4", "end"),
        piece("2.1.1", "step"),
        piece("2.1.2", "delta", text="It is 8."),
    )
    assert seen == [Begin(1), Text("It is 9."), Again(1), End(1), Begin(2), Text("It is 8.")]


@pytest.mark.parametrize(
    ("before", "after", "ops"),
    [
        ("Hel", "Hello", [Text("lo")]),
        ("Hello", "Hello", []),
        ("", "Hello", [Text("Hello")]),
        ("Hullo", "Hello", [Again(1), Text("Hello")]),
        ("Hello", "", [Again(1)]),
    ],
)
def test_a_reset_adds_what_is_missing_and_takes_back_only_what_differs(before: str, after: str, ops: list[Op]) -> None:
    """The worker says again what it said so far, after NATS lost its store: most of it is there already."""
    transcript = Transcript()
    told(transcript, piece("1.1.1", "step"), *([piece("1.1.2", "delta", text=before)] if before else []))
    assert told(transcript, piece("1.1.3", "reset", text=after)) == ops


def test_pieces_of_steps_that_are_known_are_passed_over() -> None:
    """They were shown from what is stored."""
    transcript = Transcript(told=1)
    assert told(transcript, piece("1.1.1", "step"), piece("1.1.2", "delta", text="x"), piece("3.2.1", "step")) == [Begin(3)]
    assert not transcript.gap


def test_a_step_that_never_came_is_noticed() -> None:
    """Its pieces are lost: the conversation is shown whole in the end."""
    transcript = Transcript()
    told(transcript, piece("3.2.1", "step"))
    assert transcript.gap


@pytest.mark.parametrize(
    ("said", "stored", "ops"),
    [
        ("Hello.", "Hello.", [End(1)]),
        ("Hello. ", "Hello.", [End(1)]),
        ("Hel", "Hello.", [Text("lo."), End(1)]),
        ("Hullo", "Hello.", [Again(1), Text("Hello."), End(1)]),
        (None, "Hello.", [Begin(1), Text("Hello."), End(1)]),
    ],
)
def test_the_stored_answer_replaces_what_was_streamed(said: str | None, stored: str, ops: list[Op]) -> None:
    """Whatever was lost on the way."""
    transcript = Transcript()
    if said is not None:
        told(transcript, piece("1.1.1", "step"), piece("1.1.2", "delta", text=said))
    assert transcript.settle(1, stored) == ops


def test_an_answer_that_is_known_already_is_not_told_again() -> None:
    """It came with the conversation."""
    assert Transcript(told=3).settle(3, "Hello.") == []

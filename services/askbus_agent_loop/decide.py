"""What a turn does next, as one pure function of what is recorded of it. The heart of the loop.

Steps alternate: a model call is step n, the calls that it asks for are step n + 1, the next model call is step n + 2.
"""

from dataclasses import dataclass
from enum import StrEnum

from askbus_agent_loop.view import Call, TurnView

IN_A_ROW = 3
"""The same call failing in so many steps in a row ends the turn (C20); with the same result each time, its calls of tools."""

SETTINGS = {"too_many_steps": "ASKBUS_MODEL_CALLS_PER_TURN", "out_of_time": "ASKBUS_TURN_SECONDS"}
"""Which setting an operator may raise where a budget ended a turn."""


@dataclass(frozen=True)
class Budgets:
    """`turn_ms` is active time; waiting for a person is not counted."""

    model_calls: int
    turn_ms: int


class Last(StrEnum):
    """Why a model call must be an answer, without tools."""

    BUDGET = "budget"
    REPEATED = "repeated"


@dataclass(frozen=True)
class CallModel:
    """Ask the model; that is step `step`. With `last` it is the last call of this turn."""

    step: int
    last: Last | None = None


@dataclass(frozen=True)
class AwaitTools:
    """Tools are at work; each one's end wakes the turn."""


@dataclass(frozen=True)
class WaitForPerson:
    """Only a person's answer is missing."""


@dataclass(frozen=True)
class Fail:
    """The turn cannot go on; `code` is one of askbus.turns.model.ERRORS."""

    code: str


@dataclass(frozen=True)
class Nothing:
    """It is over, or somebody else's turn comes first."""


Next = CallModel | AwaitTools | WaitForPerson | Fail | Nothing


def decide(turn: TurnView, budgets: Budgets) -> Next:
    """The one thing to do now."""
    if not turn.open:
        return Nothing()
    calls = turn.calls_of(turn.step)
    late = turn.active_ms >= budgets.turn_ms
    if any(call.under_way for call in calls):
        return Fail("out_of_time") if late else AwaitTools()
    if any(call.waits for call in calls):
        return Nothing() if turn.waiting else WaitForPerson()
    if _keeps_failing(turn):
        return Fail("repeated_failure")
    if turn.model_calls >= budgets.model_calls:
        return Fail("too_many_steps")
    if late:
        return Fail("out_of_time")
    return CallModel(turn.step + 1 if calls else turn.step, _last(turn, budgets))


def _last(turn: TurnView, budgets: Budgets) -> Last | None:
    if _repeats(turn):
        return Last.REPEATED
    return Last.BUDGET if turn.model_calls + 1 >= budgets.model_calls else None


def _keeps_failing(turn: TurnView) -> bool:
    """Whether one call failed in each of the last steps, whatever stood beside it."""
    steps = [{call.key for call in calls if call.failed} for calls in _latest(turn)]
    return len(steps) == IN_A_ROW and bool(set.intersection(*steps))


def _repeats(turn: TurnView) -> bool:
    """Whether the last steps asked for the same, and got the same: a call whose result changes, as of one that waits for something, does
    not count."""
    steps = [{(call.key, call.outcome) for call in calls} for calls in _latest(turn)]
    return len(steps) == IN_A_ROW and steps.count(steps[0]) == IN_A_ROW


def _latest(turn: TurnView) -> list[tuple[Call, ...]]:
    """The calls of the last steps that had any."""
    return [said.calls for said in turn.answers if said.calls][-IN_A_ROW:]

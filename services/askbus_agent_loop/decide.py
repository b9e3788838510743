"""What a turn does next, as one pure function of what is recorded of it. The heart of the loop.

Steps alternate: a model call is step n, the calls that it asks for are step n + 1, the next model call is step n + 2.
"""

from dataclasses import dataclass

from askbus_agent_loop.view import Call, TurnView

SAME_FAILURES = 3
"""The same call failing so many times in a row ends the turn (C20)."""


@dataclass(frozen=True)
class Budgets:
    """`turn_ms` is active time; waiting for a person is not counted."""

    model_calls: int
    turn_ms: int


@dataclass(frozen=True)
class CallModel:
    """Ask the model; that is step `step`."""

    step: int


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
    if any(call.under_way for call in calls):
        return AwaitTools()
    if any(call.waits for call in calls):
        return Nothing() if turn.waiting else WaitForPerson()
    if _keeps_failing(turn):
        return Fail("repeated_failure")
    if turn.model_calls >= budgets.model_calls:
        return Fail("too_many_steps")
    if turn.active_ms >= budgets.turn_ms:
        return Fail("out_of_time")
    return CallModel(turn.step + 1 if calls else turn.step)


def _keeps_failing(turn: TurnView) -> bool:
    """Whether the last steps were one and the same call, failing each time."""
    last: list[Call] = [call for call in turn.calls if call.step <= turn.step][-SAME_FAILURES:]
    return len(last) == SAME_FAILURES and all(call.failed for call in last) and len({call.key for call in last}) == 1

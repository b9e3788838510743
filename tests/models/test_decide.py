"""What a turn does next."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from askbus.access.model import Principal, PrincipalKind, Role, Scope
from askbus.errors import InvalidInput
from askbus.tools.model import ToolResult
from askbus.turns.model import TurnState
from askbus_agent_loop.decide import AwaitTools, Budgets, CallModel, Fail, Last, Next, Nothing, WaitForPerson, decide
from askbus_agent_loop.view import Call, Said, TurnView

pytestmark = pytest.mark.requirement("C2")

BUDGETS = Budgets(model_calls=5, turn_ms=1000)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TURN = UUID(int=7)
OK = ToolResult(ok=True, content={"rows": []})
BAD = ToolResult.failure(InvalidInput("There is no field x."))


def call(step: int = 2, *, run: str | None = "succeeded", result: ToolResult | None = OK, **more: object) -> Call:
    """A finished call, unless told otherwise."""
    given: dict[str, object] = {
        "id": uuid4(),
        "step": step,
        "provider_id": "c1",
        "name": "query_records",
        "arguments": '{"collection": "orders"}',
        "refusal": None,
        "extra": None,
        "run": run,
        "result": result if run in {"succeeded", "failed", "unknown"} else None,
        "question": None,
    }
    return Call(**{**given, **more})  # type: ignore[arg-type]


def asked(state: str) -> Call:
    """A call that put a question to its user."""
    return call(run="asked", question={"id": str(uuid4()), "state": state, "answer": None, "reason": None})


def turn(*steps: tuple[Call, ...], state: TurnState = TurnState.RUNNING, **more: object) -> TurnView:
    """A turn whose model calls so far each asked for these calls."""
    messages = [Said(TURN, None, "user", "hello", None, None, NOW, ())]
    messages += [Said(TURN, 2 * n + 1, "assistant", "", None, None, NOW, calls) for n, calls in enumerate(steps)]
    principal = Principal(
        kind=PrincipalKind.SESSION,
        id=uuid4(),
        user_id=uuid4(),
        workspace_id=uuid4(),
        role=Role.MEMBER,
        scopes=frozenset({Scope.CHAT}),
    )
    view = TurnView(
        id=TURN,
        workspace_id=uuid4(),
        project_id=uuid4(),
        user_id=uuid4(),
        thread_id=uuid4(),
        message_of=TURN,
        state=state,
        step=2 * len(steps) if steps else 1,
        attempt=0,
        model_calls=len(steps),
        active_ms=0,
        holder=None,
        lease_left=0,
        model=None,
        workspace_instructions=None,
        instructions=None,
        context=(),
        asks_again=False,
        time_zone="UTC",
        principal=principal,
        visible=True,
        proposed=False,
        trace=None,
        messages=tuple(messages),
    )
    return replace(view, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        pytest.param(turn(state=TurnState.QUEUED), CallModel(1), id="a new turn asks the model"),
        pytest.param(turn((call(),)), CallModel(3), id="finished tools go back to the model"),
        pytest.param(turn((call(), call(run="started"))), AwaitTools(), id="one tool is still at work"),
        pytest.param(turn((call(run=None),)), AwaitTools(), id="no tool-runner has taken it yet"),
        pytest.param(turn((call(run=None, refusal="no such tool"),)), CallModel(3), id="a refused call runs nothing"),
        pytest.param(turn((asked("open"), call())), WaitForPerson(), id="only a person is missing"),
        pytest.param(turn((asked("open"), call(run="started"))), AwaitTools(), id="tools first, then the person"),
        pytest.param(turn((asked("open"),), state=TurnState.WAITING), Nothing(), id="it waits already"),
        pytest.param(turn((asked("answered"),), state=TurnState.WAITING), CallModel(3), id="the answer resumes it"),
        pytest.param(turn((asked("declined"),), state=TurnState.WAITING), CallModel(3), id="so does a refusal to answer"),
        pytest.param(turn((asked("answered"), asked("open"))), WaitForPerson(), id="two questions, one answered"),
        pytest.param(turn((call(run="unknown", result=BAD),)), CallModel(3), id="an unknown outcome goes back to the model"),
        pytest.param(turn((call(),), model_calls=5), Fail("too_many_steps"), id="the budget of model calls"),
        pytest.param(turn((call(),), model_calls=4), CallModel(3, Last.BUDGET), id="the last call of the budget is an answer"),
        pytest.param(turn((call(),), active_ms=1000), Fail("out_of_time"), id="the budget of time"),
        pytest.param(turn((call(run="started"),), active_ms=1000), Fail("out_of_time"), id="the clock does not wait for a tool"),
        pytest.param(turn((asked("open"),), active_ms=1000), WaitForPerson(), id="a person may take their time"),
        *[
            pytest.param(turn((call(),), state=state), Nothing(), id=f"{state} is over")
            for state in (TurnState.COMPLETED, TurnState.FAILED, TurnState.CANCELLED)
        ],
    ],
)
def test_each_situation_has_one_next_step(view: TurnView, expected: Next) -> None:
    """Each row of the table is a situation that the rows of a turn can be in."""
    assert decide(view, BUDGETS) == expected


@pytest.mark.requirement("C20")
def test_the_same_failing_call_three_times_in_a_row_ends_the_turn() -> None:
    """Keys in another order make no other call."""
    first = call(2, run="failed", result=BAD, arguments='{"a": 1, "b": 2}')
    second = call(4, run="failed", result=BAD, arguments='{"b": 2, "a": 1}')
    third = call(6, run="failed", result=BAD, arguments='{"a": 1,  "b": 2}')
    assert decide(turn((first,), (second,)), BUDGETS) == CallModel(5)
    assert decide(turn((first,), (second,), (third,)), BUDGETS) == Fail("repeated_failure")


@pytest.mark.requirement("C20")
def test_failures_that_differ_or_are_mended_do_not_end_the_turn() -> None:
    """Two of one kind and one of another, and a success between, go on."""
    bad = [call(step, run="failed", result=BAD) for step in (2, 4, 6)]
    other = call(4, run="failed", result=BAD, name="resolve")
    assert decide(turn((bad[0],), (other,), (bad[2],)), BUDGETS) == CallModel(7)
    assert decide(turn((bad[0],), (call(4),), (bad[2],)), BUDGETS) == CallModel(7)


@pytest.mark.requirement("C20")
def test_one_failing_call_in_three_steps_ends_the_turn_whatever_stands_beside_it() -> None:
    """Three times in one step is one step: the model has not heard of it yet."""
    steps = [
        (call(step, run="failed", result=BAD, arguments="{}"), call(step, arguments=f'{{"n": {step}}}')) for step in (2, 4, 6)
    ]
    assert decide(turn(*steps), BUDGETS) == Fail("repeated_failure")
    at_once = tuple(call(2, run="failed", result=BAD) for _ in range(3))
    assert decide(turn(at_once), BUDGETS) == CallModel(3)


@pytest.mark.requirement("C20")
def test_the_same_call_with_the_same_result_three_times_is_followed_by_an_answer() -> None:
    """The model is told why, once; a result that changes, or something new beside it, is no loop."""
    same = [
        (call(step, arguments=arguments),)
        for step, arguments in ((2, '{"a":1,"b":[]}'), (4, '{"b":[],"a":1}'), (6, '{ "a":1,"b":[]}'))
    ]
    assert decide(turn(*same[:2]), BUDGETS) == CallModel(5)
    assert decide(turn(*same), BUDGETS) == CallModel(7, Last.REPEATED)
    polled = [(call(step, result=ToolResult(ok=True, content={"done": step})),) for step in (2, 4, 6)]
    assert decide(turn(*polled), BUDGETS) == CallModel(7)
    beside = [(call(step), call(step, arguments=f'{{"n": {step}}}')) for step in (2, 4, 6)]
    assert decide(turn(*beside), BUDGETS) == CallModel(7)

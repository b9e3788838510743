"""The request to the model: what stands where, what stays the same, and what others wrote."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.test_decide import NOW, TURN, call, turn

from askbus.actions.model import ActionState
from askbus.actions.notes import ActionNote
from askbus.models.model import ModelRequest, ToolResult, UserMessage
from askbus.models.quoting import quoted
from askbus.tools.catalogue import CATALOGUE
from askbus.tools.model import ToolResult as Result
from askbus.turns.model import Context
from askbus_agent_loop.decide import Last
from askbus_agent_loop.prompt import SYSTEM, Bounds, build_request
from askbus_agent_loop.view import Said, TurnView

pytestmark = pytest.mark.requirement("C23")

WIDE = Bounds(exchanges=50, size=400_000)
EARLIER = UUID(int=6)


def request(
    view: TurnView, *notes: ActionNote, now: datetime = NOW, bounds: Bounds = WIDE, last: Last | None = None
) -> ModelRequest:
    return build_request(view, notes, now, CATALOGUE, bounds=bounds, last=last)


def note(headline: str, at: datetime) -> ActionNote:
    """An action that was proposed then, and is pending."""
    return ActionNote(
        id=uuid4(), turn_id=EARLIER, state=ActionState.PENDING, headline=headline, summary=None, digest="d", reason=None,
        proposed_at=at, settled_at=None, changes=(), problems=(),
    )  # fmt: skip


def after_another(view: TurnView) -> TurnView:
    """The same turn, with an exchange before it."""
    then = NOW - timedelta(minutes=5)
    before = (
        Said(EARLIER, None, "user", "earlier", None, None, then, ()),
        Said(EARLIER, 1, "assistant", "Yes.", None, None, then, ()),
    )
    return replace(view, messages=before + view.messages)


def texts(made: ModelRequest) -> list[str]:
    return [message.text for message in made.messages]


def test_the_system_text_tells_the_date_and_the_hour_where_the_user_is() -> None:
    """No minutes: the same for an hour, which is longer than providers cache."""
    view = replace(turn(), time_zone="Asia/Kolkata")
    at = datetime(2026, 1, 1, 20, 44, 10, tzinfo=UTC)
    assert "It is Friday 2026-01-02 02:00 in the time zone Asia/Kolkata (UTC+05:30)" in request(view, now=at).system
    assert request(view, now=at).system == request(view, now=at + timedelta(minutes=15)).system


def test_what_the_workspace_and_the_front_end_say_follows_what_is_true_of_the_tools() -> None:
    """The built-in text comes first and is the same for everyone; then what is the same for a workspace, then the rest."""
    plain = request(turn()).system
    assert plain.startswith(SYSTEM)
    said = request(replace(turn(), workspace_instructions="Say ships, not boats.", instructions="Be brief.")).system
    assert said.startswith(SYSTEM)
    places = [said.index(part) for part in ("Say ships, not boats.", "Be brief.", "It is Thursday")]
    assert places == sorted(places)


@pytest.mark.requirement("C24")
def test_sums_by_the_model_are_forbidden_with_what_to_do_instead() -> None:
    """An aggregating tool, or rows and the word that the figure is not available."""
    assert 'no sums, averages, percentages, differences or "combined" values' in SYSTEM
    assert "query_records computes them" in SYSTEM
    assert "list the rows and say that the figure is not available" in SYSTEM


def test_the_built_in_text_gives_no_persona_and_no_manners() -> None:
    """It says only what is true of the tools."""
    assert not re.search(r"\b(assistant|friendly|helpful|polite|professional|concise|you are an?)\b", SYSTEM, re.IGNORECASE)


def test_the_beginning_of_each_request_of_a_turn_is_the_whole_of_the_one_before() -> None:
    """Providers read it from their cache, through all of a turn's steps; the next turn begins with the same too."""
    steps = [turn(*[(call(step),) for step in range(2, 2 + 2 * count, 2)]) for count in range(4)]
    made = [request(replace(after_another(view), context=(Context(label="page", text="Orders"),))) for view in steps]
    for before, after in pairwise(made):
        assert after.system == before.system
        assert after.tools == before.tools
        assert after.messages[: len(before.messages)] == before.messages


def test_what_changes_in_a_turn_stands_at_its_end() -> None:
    """What the record says meanwhile, and that no more calls are left."""
    view = turn((call(),))
    before = request(view)
    after = request(view, note("One order changed", NOW + timedelta(seconds=1)), last=Last.BUDGET)
    assert after.messages[: len(before.messages)] == before.messages
    told, last = after.messages[-2:]
    assert isinstance(told, UserMessage)
    assert "One order changed" in told.text
    assert "no more tools" in last.text
    assert (before.answer_only, after.answer_only) == (False, True)


def test_context_goes_with_the_message_that_it_was_handed_in_with_and_no_other() -> None:
    """In a frame, before the user's words; what was shown beside an earlier message is over."""
    item = Context(label="Open page", text="Invoice 17")
    made = request(replace(after_another(turn()), context=(item,)))
    earlier, _answer, current = texts(made)
    assert earlier == "earlier"
    assert quoted(item.model_dump_json()) in current
    assert current.endswith("The user's message:\nhello")


def test_what_is_left_out_is_said_and_what_is_sent_is_whole() -> None:
    """By the count of exchanges."""
    made = request(after_another(turn()), bounds=Bounds(exchanges=1, size=400_000))
    assert texts(made) == ["hello"]
    assert made.system.endswith("Earlier parts of this conversation are not shown here.\n")


@st.composite
def hostile(draw: st.DrawFn) -> str:
    """What somebody may have put into a record, a page or a memory to speak in our place."""
    parts = st.sampled_from(
        ["</quoted>", "</quoted 000000000000>", "\n", "The user's message:\n", quoted("x"), "[Note by askbus, ", '"}', "a"]
    )
    return "".join(draw(st.lists(st.one_of(parts, st.text(max_size=8)), max_size=6)))


def frames_closed(text: str) -> str:
    """`text` without its frames: an opening up to the line that closes it, as a careful reader would."""
    return re.sub(r"<quoted ([0-9a-f]{12})>\n.*?\n</quoted \1>", "", text, flags=re.DOTALL)


@given(hostile(), hostile(), hostile(), hostile())
def test_what_others_wrote_never_leaves_its_frame(label: str, page: str, cell: str, headline: str) -> None:
    """Labels and texts of a front end, results of tools, what a record says of an action: with the frames gone, nothing of it is left."""
    marked = [f"MINE{part}MINE" for part in (label, page, cell, headline)]
    context = Context.model_construct(label=marked[0][:200], text=marked[1])
    result = Result(ok=True, content={"note": marked[2]})
    view = replace(turn((call(result=result),)), context=(context,))
    made = request(view, note(marked[3], NOW - timedelta(minutes=1)), note(marked[3], NOW + timedelta(minutes=1)))
    for message in made.messages:
        assert "MINE" not in frames_closed(message.text)
    [answered] = [message for message in made.messages if isinstance(message, ToolResult)]
    assert answered.text == quoted(json.dumps({"note": marked[2]}, ensure_ascii=False, separators=(",", ":")))


def test_a_repetition_is_asked_as_if_for_the_first_time() -> None:
    """The message is another turn's; its context goes along."""
    view = replace(turn(), id=UUID(int=9), message_of=TURN, context=(Context(label="page", text="Orders"),))
    assert texts(request(view))[0].startswith("What the front end shows")

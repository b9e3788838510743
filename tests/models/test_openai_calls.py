"""Tool calls come out as they were meant, in every dialect of the wire that endpoints speak."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from askbus.models.openai_calls import CallSlots

pytestmark = pytest.mark.requirement("C16")

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab"\\{}é', max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("kq", min_size=1, max_size=2), inner, max_size=2),
    max_leaves=4,
)
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["describe", "query_records"]), st.dictionaries(st.sampled_from(["table", "q"]), VALUES, max_size=2)
    ),
    min_size=1,
    max_size=4,
)
DIALECTS = ["openai", "no_index", "index_zero", "repeats_all", "new_ids", "empty_ids", "no_ids", "split_entries", "late_name"]


def fragments(text: str, chance: random.Random) -> list[str]:
    """`text` in a few pieces, none of them empty."""
    places = sorted({chance.randrange(1, len(text)) for _ in range(3)})
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def spoken(dialect: str, number: int, name: str, pieces: list[str]) -> list[dict[str, JsonValue]]:
    """The entries of one call."""
    first: dict[str, JsonValue] = {"index": number, "id": f"id{number}", "function": {"name": name, "arguments": pieces[0]}}
    later: list[dict[str, JsonValue]] = [{"index": number, "function": {"arguments": piece}} for piece in pieces[1:]]
    if dialect == "repeats_all":
        later = [{"index": number, "id": f"id{number}", "function": {"name": name, "arguments": piece}} for piece in pieces[1:]]
    elif dialect == "new_ids":
        later = [{**entry, "id": f"id{number}_{at}"} for at, entry in enumerate(later)]
    elif dialect == "empty_ids":
        later = [{**entry, "id": ""} for entry in later]
    elif dialect == "no_ids":
        del first["id"]
    elif dialect == "late_name":
        later.insert(0, {"index": number, "function": {"name": name}})
        first["function"] = {"arguments": pieces[0]}
    entries = [first, *later]
    if dialect == "no_index":
        for entry in entries:
            del entry["index"]
    elif dialect == "index_zero":
        for entry in entries:
            entry["index"] = 0
    return entries


@pytest.mark.parametrize("dialect", DIALECTS)
@given(calls=CALLS, seed=st.integers())
def test_calls_survive_every_dialect(dialect: str, calls: list[tuple[str, dict[str, JsonValue]]], seed: int) -> None:
    """Names, arguments and order, however the arguments are cut; ids are those of the first fragment."""
    chance = random.Random(seed)
    slots = CallSlots()
    for number, (name, arguments) in enumerate(calls):
        entries = spoken(dialect, number, name, fragments(json.dumps(arguments), chance))
        if dialect == "split_entries":
            slots.feed(list(entries))  # header and fragments in one chunk
        else:
            for entry in entries:
                slots.feed([entry])
    found, nameless = slots.calls(truncated=False)
    assert [(call.name, call.arguments) for call in found] == calls
    assert nameless == 0
    if dialect != "no_ids":
        assert [call.id for call in found] == [f"id{number}" for number in range(len(calls))]
    assert len({call.id for call in found}) == len(found)


@given(calls=CALLS, seed=st.integers())
def test_calls_survive_interleaving(calls: list[tuple[str, dict[str, JsonValue]]], seed: int) -> None:
    """Fragments of parallel calls may come in any order between calls, each call's own in order."""
    chance = random.Random(seed)
    queues = [
        spoken("openai", number, name, fragments(json.dumps(arguments), chance)) for number, (name, arguments) in enumerate(calls)
    ]
    slots = CallSlots()
    for queue in queues:
        slots.feed([queue.pop(0)])
    while waiting := [queue for queue in queues if queue]:
        slots.feed([chance.choice(waiting).pop(0)])
    assert [(call.name, call.arguments) for call in slots.calls(truncated=False)[0]] == calls


@given(
    st.lists(VALUES, max_size=6),
    st.lists(st.dictionaries(st.sampled_from(["index", "id", "function", "name", "arguments"]), VALUES), max_size=6),
)
def test_nonsense_never_raises(entries: list[JsonValue], more: list[dict[str, JsonValue]]) -> None:
    """Whatever stands where a call should: what cannot be read is no call."""
    slots = CallSlots()
    slots.feed(entries)
    for entry in more:
        slots.feed([entry])
    for call in slots.calls(truncated=False)[0]:
        assert call.name
        assert (call.arguments is None) == (call.arguments_error is not None)

"""What front ends hand in, whatever its shape."""

import pytest
from pydantic import JsonValue

from askbus.errors import InvalidInput
from askbus.turns.model import MOST_CONTEXT, Context
from askbus_gateway.frontends.handed import contexts, instructions, new_message

pytestmark = pytest.mark.requirement("C36")


@pytest.mark.parametrize(
    ("handed", "label", "text"),
    [
        ([{"description": "The open order", "value": "number 7"}], "The open order", "number 7"),
        ([{"name": "Filter", "value": {"a": [1]}}], "Filter", '{"a":[1]}'),
        ([{"description": "d", "value": "v", "more": 1}], "d", '{"description":"d","value":"v","more":1}'),
        ("just a text", "Context", "just a text"),
        ({"page": "orders"}, "Context", '{"page":"orders"}'),
        ([["a", 1]], "Context", '["a",1]'),
        (7, "Context", "7"),
        ([{"label": " ", "text": "t"}], "Context", "t"),
    ],
)
def test_context_of_any_shape_becomes_a_labelled_text(handed: JsonValue, label: str, text: str) -> None:
    """Quoted to the model under that label."""
    assert contexts(context=handed) == (Context(label=label, text=text),)


@pytest.mark.parametrize("nothing", [None, {}, [], "", [None]])
def test_nothing_handed_in_is_nothing(nothing: JsonValue) -> None:
    """An empty state says nothing."""
    assert contexts(context=nothing) == ()


def test_what_is_too_much_is_cut_with_a_mark() -> None:
    """A long text, and a long list."""
    [long] = contexts(state={"text": "x" * 20_000})
    assert len(long.text) == 8_000
    assert long.text.endswith("… [cut: 20000 characters]")
    many = contexts(context=list(range(50)))
    assert len(many) == MOST_CONTEXT
    assert many[-1].text == "31 more entries were handed in and are not here."


def test_only_the_last_message_counts_and_only_as_a_users() -> None:
    """The rest is the client's copy of what is stored here."""
    said: list[JsonValue] = [{"id": "1", "role": "user", "content": "old"}, {"id": "2", "role": "assistant", "content": "older"}]
    assert new_message(said) is None
    assert new_message([]) is None
    last: JsonValue = {"id": "3", "role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    found = new_message([*said, last])
    assert found is not None
    assert (found.id, found.text) == ("3", "a\nb")


@pytest.mark.parametrize(
    "part", [{"source": {"type": "file", "provider": "askbus"}}, {"providerReference": {}}, {"url": "data:,x"}]
)
def test_files_go_by_their_id_and_never_in_the_message(part: dict[str, JsonValue]) -> None:
    """They are checked and stored at a door of their own."""
    with pytest.raises(InvalidInput, match="attachments"):
        new_message([{"id": "1", "role": "user", "content": [{"type": "image", **part}]}])


@pytest.mark.parametrize("shape", [[], {}, [["user"]], 1, None])
def test_roles_and_kinds_of_any_shape_are_none_that_count(shape: JsonValue) -> None:
    """What a client sends there may be a list or an object."""
    assert new_message([{"role": shape, "content": "hi"}]) is None
    assert instructions(None, [{"role": shape, "content": "hi"}]) is None
    found = new_message([{"role": "user", "content": [{"type": shape, "text": "no"}, {"type": "text", "text": "yes"}]}])
    assert found is not None
    assert found.text == "yes"


@pytest.mark.parametrize("key", ["source", "providerReference"])
def test_a_stored_file_goes_with_the_message(key: str) -> None:
    """In the words of either vocabulary."""
    name = "0198a7b0-0000-7000-8000-000000000001"
    given: JsonValue = {"type": "file", "provider": "askbus", "value": name} if key == "source" else {"askbus": name}
    found = new_message([{"id": "1", "role": "user", "parts": [{"type": "file", key: given}, {"type": "text", "text": "see"}]}])
    assert found is not None
    assert [str(one) for one in found.attachments] == [name]


def test_instructions_are_the_front_ends_own_words() -> None:
    """Its field, and its system and developer messages."""
    system: list[JsonValue] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    assert instructions("Speak of orders.", system) == "Speak of orders.\n\nBe brief."
    assert instructions(None, [{"role": "user", "content": "hi"}]) is None

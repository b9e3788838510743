"""What a door refuses before it parses."""

import contextlib
import json
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from askbus.errors import InvalidInput
from askbus.incoming import DEEPEST_JSON, LARGEST_BODY, refuse_hostile

pytestmark = pytest.mark.requirement("I12")

JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab[]{}"\\\n\u0001é'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='ab[]{}"\\'), inner, max_size=3),
    max_leaves=30,
)


def depth(value: JsonValue) -> int:
    """Levels of nesting, the plain way."""
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


@given(value=JSON, extra=st.integers(0, DEEPEST_JSON + 3), braces=st.booleans(), ascii_only=st.booleans())
def test_depth_is_counted_as_a_parser_would(value: JsonValue, extra: int, braces: bool, ascii_only: bool) -> None:
    """Brackets inside of texts are text, however they are escaped."""
    for _ in range(extra):
        value = {"a": value} if braces else [value]
    data = json.dumps(value, ensure_ascii=ascii_only).encode()
    if depth(value) <= DEEPEST_JSON:
        refuse_hostile(data)
        return
    with pytest.raises(InvalidInput, match="nested"):
        refuse_hostile(data)


@given(st.text(alphabet="a\\\0", max_size=12))
def test_only_the_character_itself_is_refused_and_not_its_spelling(text: str) -> None:
    """A backslash, a u and four zeros are six characters that anybody may write."""
    for data in (json.dumps(text), json.dumps(text.replace("\0", "\\u0000"))):
        if "\0" in json.loads(data):
            with pytest.raises(InvalidInput, match=r"U\+0000"):
                refuse_hostile(data.encode())
        else:
            refuse_hostile(data.encode())


@pytest.mark.parametrize(
    "data",
    [
        b"[" * LARGEST_BODY,
        b"]" * LARGEST_BODY,
        b"[]" * (LARGEST_BODY // 2),
        b"[" * 40 + b'"\\' * (LARGEST_BODY // 2),
        b"[" * 40 + b'"' + b'\\"' * (LARGEST_BODY // 2),
        b"[" * 40 + b'"' + b'\\"' * (LARGEST_BODY // 2) + b"\\",
        b"[" * 40 + b"\\" * LARGEST_BODY + b"u0000",
        b"[" * 40 + b'""' * (LARGEST_BODY // 2),
        b'{"a":' * (LARGEST_BODY // 5),
    ],
    ids=range(9),
)
def test_no_body_takes_long_to_look_at(data: bytes) -> None:
    """One megabyte of the worst is refused, or left to the parser, in the time that a megabyte takes."""
    began = perf_counter()
    with contextlib.suppress(InvalidInput):
        refuse_hostile(data)
    assert perf_counter() - began < 2

"""A provider's error text in the log: what happened, and no key."""

import time

import pytest

from askbus.models.masks import mask
from askbus.models.model import Fault, ProviderError


@pytest.mark.requirement("C21")
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            "Incorrect API key provided: sk-proj-4711********abcd. See the docs.",
            "Incorrect API key provided: [masked] See the docs.",
        ),
        ("api_key=hunter2secret is wrong", "api_key=[masked] is wrong"),
        ('{"token": "abc123def456"}', '{"token": "[masked]"}'),
        ("Authorization: Bearer abc.def-123 was refused", "Authorization: [masked] was refused"),
        ("sent Bearer abcdefghijkl", "sent Bearer [masked]"),
        ("at https://me:hunter2@api.example/v1?key=4711&x=1 now", "at https://[masked]@api.example/v1?[masked] now"),
        ("key AIzaSyA1234567890abcdef", "key [masked]"),
        ("id 0123456789abcdef0123456789abcdef", "id [masked]"),
        ("maximum context length is 8192 tokens, you sent 9000 tokens", None),
        ("model gpt-5 is overloaded, try again in 20s?", None),
        ("the token limit was reached", None),
    ],
)
def test_a_key_is_masked_by_its_name_its_place_or_its_shape(said: str, kept: str | None) -> None:
    """And what says what is wrong stays."""
    assert mask(said) == (said if kept is None else kept)


@pytest.mark.requirement("C21")
def test_no_way_of_telling_a_providers_error_tells_a_key() -> None:
    """Its detail, its words, its representation: cut to a size for which there is no key half cut either."""
    error = ProviderError(Fault.AUTH, "x" * 480 + " key sk-live-0123456789abcdef0123456789")
    assert len(error.detail) <= 500
    for told in (error.detail, str(error), repr(error)):
        assert "sk-live" not in told


@pytest.mark.parametrize(
    "hostile", ["a" * 100_000, "sk-" * 50_000, "token " * 30_000, "?a=" * 30_000, "://" * 50_000, "a1" * 50_000]
)
def test_masking_takes_time_that_grows_with_the_size_alone(hostile: str) -> None:
    """An endpoint chooses what it says."""
    began = time.perf_counter()
    ProviderError(Fault.BAD_RESPONSE, hostile)
    assert time.perf_counter() - began < 0.5

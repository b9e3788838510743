"""How a saved secret is shown again, and what saving that means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbus.errors import InvalidInput
from askbus.masking import HIDDEN, mask, saved

pytestmark = pytest.mark.requirement("I9")


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("sk-0123456789", "••••6789"),
        ("twelve-chars", "••••hars"),
        ("eleven-char", HIDDEN),
        ("x", HIDDEN),
        ("", HIDDEN),
        ("schlüssel-äöü€", "••••äöü€"),
    ],
)
def test_the_last_four_characters_of_a_long_one_are_shown(secret: str, shown: str) -> None:
    """Of a short one they would be too much of it."""
    assert mask(secret) == shown


def test_a_mask_keeps_what_is_stored_under_its_own_name() -> None:
    """What is new takes its place, names stay as they are, what is left out is not kept."""
    stored = {"TOKEN": "sk-0123456789", "SHORT": "pin", "GONE": "old-0123456789", "LOST": None}
    given_ = {"TOKEN": "••••6789", "SHORT": HIDDEN, "NEW": "value"}
    assert saved(given_, stored) == {"TOKEN": "sk-0123456789", "SHORT": "pin", "NEW": "value"}
    strange = [
        ("NEW", "••••6789"),
        ("SHORT", "••••6789"),
        ("TOKEN", HIDDEN),
        ("LOST", HIDDEN),
        ("TOKEN", "••••9999"),
        ("TOKEN", "••••"),
    ]
    for name, value in strange:
        with pytest.raises(InvalidInput, match=name):
            saved({name: value}, stored)
    assert saved({"TOKEN": "•••"}, stored) == {"TOKEN": "•••"}


@given(st.dictionaries(st.text(min_size=1), st.text().filter(lambda text: not text.startswith("••••"))))
def test_a_form_that_comes_back_as_it_was_shown_changes_nothing(secrets: dict[str, str]) -> None:
    """Whatever the secrets, their number and their names."""
    assert saved({name: mask(secret) for name, secret in secrets.items()}, secrets) == secrets
    assert saved(secrets, {}) == secrets

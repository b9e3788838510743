"""Counts of tokens, as endpoints state them. Pure."""

from pydantic import JsonValue

from askbus.models.model import Usage

MOST_TOKENS = 1 << 40
"""More than any model takes: a larger number of tokens is a mistake of the endpoint, and none."""


def tokens(number: JsonValue) -> int | None:
    """A count of tokens, or None for what cannot be one."""
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < MOST_TOKENS else None


def total(one: Usage | None, other: Usage | None) -> Usage | None:
    """Both together, as far as they are known."""
    return one + other if one and other else one or other

"""How a secret that was saved is shown again, and what saving that means (I9). Pure.

Of a long one the last four characters are shown, so that its owner knows which it is. A form that comes back with the mask in its field
keeps what is stored: nobody has to type a secret again to change what stands beside it.
"""

from collections.abc import Mapping

from askbus.errors import InvalidInput

DOTS = "••••"
HIDDEN = DOTS * 2
SHOWN = 4
LONG_ENOUGH = 12
"""Characters from which on the last four may be shown."""


def mask(secret: str) -> str:
    """What is shown of it."""
    return DOTS + secret[-SHOWN:] if len(secret) >= LONG_ENOUGH else HIDDEN


def saved(given: Mapping[str, str], stored: Mapping[str, str | None]) -> dict[str, str]:
    """What is to be kept of an owner's secrets, by name: a mask stands for the value that is `stored` under the same name, anything else
    for itself. `stored` has None for what cannot be opened any more.

    Raises InvalidInput for any other value that starts like a mask: it is one of another name, or of what is no longer there.
    """
    return {name: _saved(name, value, stored.get(name)) for name, value in given.items()}


def _saved(name: str, value: str, stored: str | None) -> str:
    if not value.startswith(DOTS):
        return value
    if stored is not None and value == mask(stored):
        return stored
    raise InvalidInput(
        f"{name} is the mask of a secret that is not stored under this name. Send the secret itself.", {"field": name}
    )

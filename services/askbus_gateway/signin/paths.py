"""Where a browser goes on to after signing in: a path of this deployment, never another's address. Pure."""

import re

from askbus.errors import InvalidInput

LONGEST = 10_000

_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""One slash, then printable ASCII without blanks and backslashes: browsers read \\ as /, and drop tabs and line ends inside an address."""


def local_path(path: str) -> str:
    """`path`, where it is one of ours. Raises InvalidInput."""
    if len(path) > LONGEST or _LOCAL.fullmatch(path) is None:
        raise InvalidInput("return_to is a path of this site, such as /#inbox.", {"field": "return_to"})
    return path

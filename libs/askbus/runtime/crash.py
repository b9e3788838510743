"""Named crash points, one between every two effects, so that fault tests can kill a process exactly there.

In production ASKBUS_CRASH_AT is unset and a point costs one comparison.
"""

import os
from collections import Counter

_WANTED = os.environ.get("ASKBUS_CRASH_AT", "")
_HITS: Counter[str] = Counter()


def point(name: str) -> None:
    """Ends the process as kill -9 would, where ASKBUS_CRASH_AT is `name`, or `name:hit` at that hit (from 1)."""
    if not _WANTED:
        return
    _HITS[name] += 1
    if _WANTED in (name if _HITS[name] == 1 else "", f"{name}:{_HITS[name]}"):
        os._exit(137)

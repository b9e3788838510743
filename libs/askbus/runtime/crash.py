"""Named crash points, one between every two effects, so that fault tests can kill a process exactly there.

In production neither variable is set and a point costs one comparison. ASKBUS_CRASH_AT names a point for this process;
ASKBUS_CRASH_FILE names a file that holds one, which is removed when the process dies there, so that its successor lives.
"""

import os
from collections import Counter
from pathlib import Path

_WANTED = os.environ.get("ASKBUS_CRASH_AT", "")
_FILE = os.environ.get("ASKBUS_CRASH_FILE", "")
_HITS: Counter[str] = Counter()


def point(name: str) -> None:
    """Ends the process as kill -9 would, where the wanted point is `name`, or `name:hit` at that hit (from 1)."""
    if not (_WANTED or _FILE):
        return
    wanted = _WANTED or _read()
    if wanted.partition(":")[0] != name:
        return
    _HITS[wanted] += 1
    if _HITS[wanted] == int(wanted.partition(":")[2] or 1):
        if _FILE:
            Path(_FILE).unlink()
        os._exit(137)


def _read() -> str:
    try:
        return Path(_FILE).read_text("utf-8").strip()
    except FileNotFoundError:
        return ""

"""How tests are spread over processes: what shares a stack stays together, what takes long comes first.

pytest-xdist's own groups are suffixes of node ids, which pytest takes no more since 9.2; so they are said here.
"""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

TOGETHER = (
    *("faults", "browser", "loop", "frontends", "probes", "mcp_clients"),
    *("doors/files", "doors/isolation", "doors/over_mcp", "doors/own"),
)
"""Folders whose tests share one stack: one process runs them all, and the stack ends with them."""

APART = ("flows", "stack")
"""Folders whose tests take long and share nothing: each goes wherever there is time. All others are spread by file."""

FIRST = ("faults", "browser", "flows", "records/test_every_statement.py", "stack")
"""What takes longest, so that no process is left with it in the end."""


def unit(nodeid: str) -> str:
    """What is run in one go in one process, by the node id of one of its tests."""
    path = nodeid.partition("::")[0]
    for folder in TOGETHER:
        if path.startswith(f"tests/{folder}/"):
            return folder
    if any(path.startswith(f"tests/{folder}/") for folder in APART):
        return nodeid
    return path


def turn(nodeid: str) -> int:
    """The smaller, the earlier."""
    return next((place for place, start in enumerate(FIRST) if nodeid.startswith(f"tests/{start}")), len(FIRST))


class Spread(LoadScopeScheduling):  # type: ignore[misc]  # xdist tells mypy no types
    """Gives the next unit to whoever is nearly done, in the order of the collection."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

"""A change, and the cursor that says which changes a reader has. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from askbus.errors import InvalidInput

_SNAPSHOT = re.compile(r"[0-9]{1,19}:[0-9]{1,19}:(?:[0-9]{1,19}(?:,[0-9]{1,19})*)?")


@dataclass(frozen=True, slots=True)
class Change:
    """One row of the change log: which entity came to which state; never its content.

    `user_id` is set when only that user may see it. `xid` is the writing transaction, `seq` the order inside the log. A record of the
    team's own is named by `collection` and `key`, its primary key as texts.
    """

    seq: int
    xid: int
    fact: str
    entity: str
    entity_id: UUID
    status: str
    workspace_id: UUID
    project_id: UUID | None = None
    user_id: UUID | None = None
    assignee_id: UUID | None = None
    parent_id: UUID | None = None
    collection: str | None = None
    key: Mapping[str, str] | None = None
    trace: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        return cls(**{name: row[name] for name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A Postgres snapshot (`pg_snapshot`, text form `xmin:xmax:xip,…`): which transactions a reader has seen.

    A bare serial number loses what commits out of order; a snapshot does not. Snapshots of one primary are totally ordered: of
    two, one sees all that the other sees.
    """

    xmin: int
    xmax: int
    running: frozenset[int]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises InvalidInput for anything that Postgres would not have written."""
        if _SNAPSHOT.fullmatch(text) is None:
            raise InvalidInput(f"Not a feed position: {text[:100]!r}.")
        low, high, running = text.split(":")
        snapshot = cls(int(low), int(high), frozenset(int(xid) for xid in running.split(",") if xid))
        if not 0 < snapshot.xmin <= snapshot.xmax < 2**63 or not all(
            snapshot.xmin <= x < snapshot.xmax for x in snapshot.running
        ):
            raise InvalidInput(f"Not a feed position: {text[:100]!r}.")
        return snapshot

    def sees(self, xid: int) -> bool:
        """Whether a transaction had committed when the snapshot was taken."""
        return xid < self.xmin or (xid < self.xmax and xid not in self.running)

    def covers(self, other: Self) -> bool:
        """Whether this one sees all that the other sees: of two of one primary, the later one."""
        return (self.xmax, -len(self.running)) >= (other.xmax, -len(other.running))

    def __str__(self) -> str:
        return f"{self.xmin}:{self.xmax}:{','.join(map(str, sorted(self.running)))}"


@dataclass(frozen=True, slots=True)
class EventId:
    """The id of an SSE event and the position of a client: `<epoch>.<snapshot>`."""

    epoch: str
    snapshot: Snapshot

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises InvalidInput where the text is no id of ours."""
        epoch, dot, snapshot = text.partition(".")
        if not dot or not (epoch.isascii() and epoch.isalnum()):
            raise InvalidInput(f"Not an event id: {text[:100]!r}.")
        return cls(epoch, Snapshot.parse(snapshot))

    def __str__(self) -> str:
        return f"{self.epoch}.{self.snapshot}"

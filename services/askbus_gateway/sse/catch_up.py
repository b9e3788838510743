"""Bringing a client up to date: with a state of what is going on, or with exactly what it missed. The same for streams and for polls."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from askbus.access import reads
from askbus.access.model import Principal
from askbus.db.pool import Pool
from askbus.db.statements import Statement
from askbus.errors import AskbusError
from askbus.feed.model import Change, EventId, Snapshot
from askbus.feed.reader import changes_after
from askbus.feed.tail import POSITION
from askbus_gateway.sse.rules import Viewer, everywhere, followed

STATE = Statement("askbus_gateway", "sse/sql/state.sql")
LONGEST_REPLAY = 5000
"""Changes; a client that missed more gets a reset with a fresh state, which is smaller."""


class Reset(AskbusError):
    """The client's position cannot be honoured; it gets a fresh state. `message` says why, for whoever debugs it."""


@dataclass(frozen=True)
class Rights:
    """A principal as it stands now, what it may see, and for how many seconds its session or token still counts (None: for ever)."""

    principal: Principal
    viewer: Viewer
    seconds_left: float | None


@dataclass(frozen=True)
class Opening:
    """What is going on now: `{entities, counts}`, and the position that it has."""

    rights: Rights
    at: EventId
    state: dict[str, Any]


@dataclass(frozen=True)
class Missed:
    """What a client missed, in order, and the position that it reaches by it."""

    rights: Rights
    at: EventId
    changes: Sequence[Change]


class CatchUp:
    """Reads for clients that arrive or come back. `entities` are those that the client asked for, None for all."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._viewers: WeakValueDictionary[object, Viewer] = WeakValueDictionary()

    async def rights(self, principal: Principal, entities: frozenset[str] | None) -> Rights | None:
        """The rights that the principal has now; None where its session or token ended."""
        standing = await reads.standing(self.pool, principal)
        if standing is None:
            return None
        by = standing.principal
        projects = frozenset(project.id for project in await reads.projects_of(self.pool, by))
        says = (by.user_id, by.workspace_id, projects, everywhere(by), followed(by, entities))
        viewer = self._viewers.get(says)
        if viewer is None:
            viewer = self._viewers[says] = Viewer(*says)
        return Rights(by, viewer, standing.seconds_left)

    async def opening(self, principal: Principal, entities: frozenset[str] | None) -> Opening | None:
        """What is going on in the projects that the principal sees, read in one snapshot; None where it ended.

        The rights are read last, so that they are never older than the state: a change of them that it does not cover follows.
        """
        by = principal
        while True:
            follows = followed(by, entities)
            row = await STATE.one(
                self.pool,
                user_id=by.user_id,
                workspace_id=by.workspace_id,
                token_id=by.token_id,
                projects=None if by.projects is None else list(by.projects),
                entities=sorted(follows),
            )
            rights = await self.rights(by, entities)
            if rights is None:
                return None
            if rights.viewer.follows == follows:
                break
            by = rights.principal
        counts = {name: row[name] for name in ("open", "for_me", "unseen")} if "question" in follows else None
        state = {"entities": row["entities"], "counts": counts}
        return Opening(rights, EventId(row["epoch"], Snapshot.parse(row["cursor"])), state)

    async def missed(self, principal: Principal, entities: frozenset[str] | None, last_event_id: str) -> Missed | None:
        """Exactly what came after the id; None where the principal ended.

        Raises Reset where that cannot be told, InvalidInput for what is no id.
        """
        wanted = EventId.parse(last_event_id)
        position = await POSITION.one(self.pool)
        upto = Snapshot.parse(position["cursor"])
        if wanted.epoch != position["epoch"]:
            raise Reset("another epoch")
        if wanted.snapshot.xmax > upto.xmax:
            raise Reset("ahead of the log")
        rights = await self.rights(principal, entities)
        if rights is None:
            return None
        changes: list[Change] = []
        workspace_id = principal.workspace_id
        async for _cursor, page in changes_after(self.pool, str(wanted.snapshot), upto=str(upto), workspace_id=workspace_id):
            changes += page
            if len(changes) > LONGEST_REPLAY:
                raise Reset("too much was missed")
        # Asked for last: what is pruned while this reads would be missing from it.
        if wanted.snapshot.xmin <= (await POSITION.one(self.pool))["pruned"]:
            raise Reset("older than what the log keeps")
        if any(change.entity == "membership" and change.user_id == principal.user_id for change in changes):
            raise Reset("rights changed meanwhile")
        news = [change for change in changes if rights.viewer.wants(change)]
        return Missed(rights, EventId(wanted.epoch, upto), news)

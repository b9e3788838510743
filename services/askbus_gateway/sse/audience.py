"""The streams of one workspace, found by what they may see: a change of one project touches no stream of another."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from uuid import UUID

from askbus.feed.model import Change
from askbus_gateway.sse.group import Group
from askbus_gateway.sse.rules import Viewer
from askbus_gateway.sse.stream import Stream


class Audience:
    """Streams in groups that are told the same, groups by user and project.

    `apart` are those that cannot simply be written to: they are being brought up to date, do not read, or have ended.
    """

    def __init__(self) -> None:
        self.apart: dict[Stream, None] = {}
        """In the order in which they came, which then is that of their sockets in memory."""
        self._groups: dict[tuple[Viewer, str], Group] = {}
        self._by_user: defaultdict[UUID, set[Group]] = defaultdict(set)
        self._by_project: defaultdict[UUID, set[Group]] = defaultdict(set)
        self._everywhere: set[Group] = set()

    def __len__(self) -> int:
        return len(self.apart) + sum(len(group) for group in self._groups.values())

    def __iter__(self) -> Iterator[Stream]:
        yield from tuple(self.apart)
        for group in tuple(self._groups.values()):
            yield from group.members.streams

    def set_apart(self, stream: Stream) -> None:
        """It arrives, or is in no state to be written to as the others."""
        self.leave(stream)
        self.apart[stream] = None

    def settle(self) -> None:
        """Who stood apart and is writable now joins its group: it is told what the others are, from the next change on."""
        for stream in tuple(self.apart):
            transport = stream.writable
            if transport is not None:
                del self.apart[stream]
                self._group(stream).add(stream, transport)

    def _group(self, stream: Stream) -> Group:
        viewer = stream.viewer
        group = self._groups.get((viewer, stream.epoch))
        if group is None:
            group = self._groups[viewer, stream.epoch] = Group(viewer, stream.epoch)
            self._by_user[viewer.user_id].add(group)
            for project in viewer.projects:
                self._by_project[project].add(group)
            if viewer.everywhere:
                self._everywhere.add(group)
        return group

    def leave(self, stream: Stream) -> None:
        """It is over, or about to stand apart."""
        self.apart.pop(stream, None)
        group = stream.group
        if group is None:
            return
        group.remove(stream)
        if not group:
            viewer = group.viewer
            del self._groups[viewer, group.epoch]
            _drop(self._by_user, viewer.user_id, group)
            for project in viewer.projects:
                _drop(self._by_project, project, group)
            self._everywhere.discard(group)

    def concerned(self, changes: Sequence[Change]) -> list[tuple[Group, list[Change]]]:
        """The groups that are told of some of the changes, each with those that it is told of."""
        groups: set[Group] = set()
        for change in changes:
            if change.user_id is not None:
                groups |= self._by_user.get(change.user_id, set())
            elif change.project_id is not None:
                groups |= self._by_project.get(change.project_id, set()) | self._everywhere
            else:
                groups |= set(self._groups.values())
        found = []
        for group in groups:
            wanted = [change for change in changes if group.viewer.wants(change)]
            if wanted:
                found.append((group, wanted))
        return found


def _drop(index: defaultdict[UUID, set[Group]], key: UUID, group: Group) -> None:
    index[key].discard(group)
    if not index[key]:
        del index[key]

"""The streams of one workspace, found by what they may see: a change of one project touches no stream of another."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from uuid import UUID

from askbus.feed.model import Change
from askbus_gateway.sse.rules import Viewer
from askbus_gateway.sse.stream import Stream


class Audience:
    """Streams by viewer, viewers by user and project. A stream that is being brought up to date is shown everything, and keeps it aside."""

    def __init__(self) -> None:
        self.behind: set[Stream] = set()
        self._level: defaultdict[Viewer, set[Stream]] = defaultdict(set)
        self._by_user: defaultdict[UUID, set[Viewer]] = defaultdict(set)
        self._by_project: defaultdict[UUID, set[Viewer]] = defaultdict(set)
        self._everywhere: set[Viewer] = set()

    def __len__(self) -> int:
        return len(self.behind) + sum(len(streams) for streams in self._level.values())

    def __iter__(self) -> Iterator[Stream]:
        yield from tuple(self.behind)
        for streams in tuple(self._level.values()):
            yield from tuple(streams)

    def lags(self, stream: Stream) -> None:
        """It arrives, or is about to be brought up to date anew."""
        self.leave(stream)
        self.behind.add(stream)

    def caught_up(self, stream: Stream) -> None:
        """From now on it wants what its viewer may see, and nothing else."""
        self.behind.discard(stream)
        viewer = stream.viewer
        if viewer not in self._level:
            self._by_user[viewer.user_id].add(viewer)
            for project in viewer.projects:
                self._by_project[project].add(viewer)
            if viewer.everywhere:
                self._everywhere.add(viewer)
        self._level[viewer].add(stream)

    def leave(self, stream: Stream) -> None:
        """It is over, or its viewer is about to be another."""
        self.behind.discard(stream)
        viewer = stream.viewer
        if viewer not in self._level:
            return
        self._level[viewer].discard(stream)
        if not self._level[viewer]:
            del self._level[viewer]
            _drop(self._by_user, viewer.user_id, viewer)
            for project in viewer.projects:
                _drop(self._by_project, project, viewer)
            self._everywhere.discard(viewer)

    def concerned(self, changes: Sequence[Change]) -> list[Stream]:
        """Those that may have to be told of one of the changes; each of them looks for itself."""
        viewers: set[Viewer] = set()
        for change in changes:
            if change.user_id is not None:
                viewers |= self._by_user.get(change.user_id, set())
            elif change.project_id is not None:
                viewers |= self._by_project.get(change.project_id, set()) | self._everywhere
            else:
                viewers |= self._level.keys()
        found = list(self.behind)
        for viewer in viewers:
            if any(viewer.wants(change) for change in changes):
                found += self._level[viewer]
        return found


def _drop(index: defaultdict[UUID, set[Viewer]], key: UUID, viewer: Viewer) -> None:
    index[key].discard(viewer)
    if not index[key]:
        del index[key]

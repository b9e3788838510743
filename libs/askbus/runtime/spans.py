"""Reading traces back from the file that `askbus.runtime.telemetry.FileExporter` writes."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

NOT_SHARED = {"command_id"}
"""Ids that say nothing about what a trace is about."""


class RecordedSpan(BaseModel):
    """One line of the file. Times are nanoseconds since 1970."""

    model_config = ConfigDict(frozen=True)

    trace_id: str
    span_id: str
    parent_id: str | None
    service: str
    name: str
    kind: str
    start: int
    end: int
    status: str
    attributes: dict[str, JsonValue] = {}

    def names(self, wanted: Iterable[str]) -> bool:
        """Whether it belongs to one of these traces, or has one of these ids among its attributes."""
        mine = {self.trace_id, *(value for value in self.attributes.values() if isinstance(value, str))}
        return not mine.isdisjoint(wanted)


@dataclass(frozen=True)
class Trace:
    """The spans of one trace, by their start."""

    id: str
    spans: tuple[RecordedSpan, ...]

    @property
    def start(self) -> int:
        return self.spans[0].start

    @property
    def end(self) -> int:
        return max(span.end for span in self.spans)

    @property
    def services(self) -> tuple[str, ...]:
        """In the order in which they came in."""
        return tuple(dict.fromkeys(span.service for span in self.spans))

    def ids(self) -> frozenset[str]:
        """The entities that it is about: every id among its spans' attributes."""
        return frozenset(
            value
            for span in self.spans
            for name, value in span.attributes.items()
            if name.endswith("_id") and name not in NOT_SHARED and isinstance(value, str)
        )

    def tree(self) -> Iterator[tuple[tuple[bool, ...], RecordedSpan]]:
        """Each span after its parent, with a flag for each level: whether it is the last there. Orphans are roots."""
        known = {span.span_id for span in self.spans}
        below: defaultdict[str | None, list[RecordedSpan]] = defaultdict(list)
        for span in self.spans:
            below[span.parent_id if span.parent_id in known else None].append(span)

        def walk(parent: str | None, levels: tuple[bool, ...]) -> Iterator[tuple[tuple[bool, ...], RecordedSpan]]:
            siblings = below[parent]
            for span in siblings:
                here = levels if parent is None else (*levels, span is siblings[-1])
                yield here, span
                yield from walk(span.span_id, here)

        return walk(None, ())


class SpanFile:
    """The file at `path`. `unreadable` counts lines that were cut off, as by a process that died while it wrote."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable = 0

    def traces_of(self, sought: Iterable[str]) -> tuple[Trace, ...]:
        """The traces with one of these ids, and those that have one of these entities' ids on a span; oldest first."""
        wanted = set(sought)
        found = {span.trace_id for span in self._spans_with(wanted, lambda span: span.names(wanted))}
        spans: defaultdict[str, list[RecordedSpan]] = defaultdict(list)
        for span in self._spans_with(found, lambda span: span.trace_id in found):
            spans[span.trace_id].append(span)
        traces = (Trace(key, tuple(sorted(some, key=lambda span: span.start))) for key, some in spans.items())
        return tuple(sorted(traces, key=lambda trace: trace.start))

    def _spans_with(self, words: set[str], fits: Callable[[RecordedSpan], bool]) -> Iterator[RecordedSpan]:
        """Only lines that hold one of the words are parsed: the file may be large."""
        self.unreadable = 0
        if not words or not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                if not any(word in line for word in words):
                    continue
                try:
                    span = RecordedSpan.model_validate_json(line)
                except ValidationError:
                    self.unreadable += 1
                    continue
                if fits(span):
                    yield span


def as_sought(text: str) -> set[str]:
    """What a person typed, as ids are written in the file: a trace id as 32 hexadecimal digits, others with dashes.

    Raises ValueError for what is neither.
    """
    key = UUID(text.strip())
    return {key.hex, str(key)}

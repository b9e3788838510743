"""What was measured, as a table for people or JSON for machines."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from typing import Literal

Unit = Literal["ms", "µs", "1/s", "KiB", "MiB"]


@dataclass(frozen=True)
class Measure:
    """One line. `most` is the target for `ours`, `most_ratio` for ours by floor; `also` says more in words."""

    what: str
    unit: Unit
    ours: float
    floor: float | None = None
    peer: float | None = None
    most: float | None = None
    most_ratio: float | None = None
    also: str = ""

    @property
    def ratio(self) -> float | None:
        return None if not self.floor else self.ours / self.floor

    @property
    def peer_ratio(self) -> float | None:
        return None if not self.peer else self.ours / self.peer

    @property
    def target(self) -> str:
        if self.most_ratio is not None:
            return f"≤ {self.most_ratio:g} of the floor"
        return "" if self.most is None else f"≤ {self.most:g} {self.unit}"

    @property
    def met(self) -> bool | None:
        """Whether the target was reached this time; None without one."""
        if self.most_ratio is not None:
            return None if self.ratio is None else self.ratio <= self.most_ratio
        return None if self.most is None else self.ours <= self.most


@dataclass
class Report:
    """`machine` is what the numbers were taken on, in words."""

    machine: dict[str, str] = field(default_factory=dict)
    sections: dict[str, list[Measure]] = field(default_factory=dict)

    def as_json(self) -> str:
        sections = {title: [_told(measure) for measure in measures] for title, measures in self.sections.items()}
        return json.dumps({"machine": self.machine, "sections": sections}, indent=2, ensure_ascii=False)

    def as_text(self) -> str:
        width = max(len(name) for name in self.machine)
        lines = [f"{name:<{width}}  {value}" for name, value in self.machine.items()]
        for title, measures in self.sections.items():
            lines += ["", *_table(title, measures)]
        return "\n".join(lines)


def _told(measure: Measure) -> dict[str, object]:
    return {**asdict(measure), "ratio": measure.ratio, "peer_ratio": measure.peer_ratio, "met": measure.met}


HEADS = ("ours", "floor", "ratio", "peer", "ratio", "target", "met", "")


def _table(title: str, measures: Sequence[Measure]) -> list[str]:
    rows = [(title, *HEADS), *(_row(measure) for measure in measures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    kept = [column for column, width in enumerate(widths) if column == 0 or (any(row[column] for row in rows[1:]) and width)]
    lines = []
    for row in rows:
        cells = [f"{row[at]:<{widths[at]}}" if at in LEFT else f"{row[at]:>{widths[at]}}" for at in kept]
        lines.append("  ".join(cells).rstrip())
    rule = "-" * max(len(line) for line in lines)
    return [lines[0], rule, *lines[1:]]


LEFT = (0, 6, 7, 8)
"""The columns of words."""


def _row(measure: Measure) -> tuple[str, ...]:
    return (
        measure.what,
        f"{_number(measure.ours)} {measure.unit}",
        "" if measure.floor is None else f"{_number(measure.floor)} {measure.unit}",
        "" if measure.ratio is None else f"{measure.ratio:.2f}",
        "" if measure.peer is None else f"{_number(measure.peer)} {measure.unit}",
        "" if measure.peer_ratio is None else f"{measure.peer_ratio:.2f}",
        measure.target,
        {True: "yes", False: "no", None: ""}[measure.met],
        measure.also,
    )


def _number(value: float) -> str:
    """Three digits that mean something, no more."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile. Raises ValueError where there is no value."""
    if not values:
        raise ValueError("nothing was measured")
    return sorted(values)[max(ceil(len(values) * percent / 100), 1) - 1]

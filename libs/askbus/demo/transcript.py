"""What the demo prints: who did what and when, and what was checked. A check that does not hold ends the demo."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from uuid import UUID

from rich.console import Console
from rich.text import Text

NAME_WIDTH = 10
IDS = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
MARGIN = " " * (10 + NAME_WIDTH)


class NotSo(Exception):
    """A check did not hold, or was never made; the text says which."""


class Transcript:
    """Lines with the seconds since the beginning, under numbered headings. `checks` counts what held."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.checks = 0
        self._scenes = 0
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the demo began."""
        return time.monotonic() - self._began

    def note(self, text: str) -> None:
        """A line of the demo's own, without a time."""
        self._line(Text(text, "dim"))

    def failed(self, text: str) -> None:
        """The same about what went wrong."""
        self._line(Text(text, "bold red"))

    def said(self, who: str, text: str, *, quoted: bool = False) -> None:
        """`who` did or, with `quoted`, said something just now."""
        line = Text.assemble((f"{self.seconds:>6.2f} s  ", "dim"), (f"{who:<{NAME_WIDTH}}", "bold cyan"))
        line.append(f"“{text}”" if quoted else text, "italic" if quoted else "")
        self._line(line)

    def more(self, text: str) -> None:
        """More of what was said last."""
        self._line(Text(f"{MARGIN}{text}"))

    def changed(self, before: str, after: str) -> None:
        """A value as it was and as it is."""
        self._line(Text.assemble(MARGIN, (before, "red"), " → ", (after, "green")))

    def drawing(self, draw: Callable[[Console], None]) -> None:
        """What `draw` prints, its ids shortened."""
        drawn = StringIO()
        draw(Console(file=drawn, force_terminal=True, color_system="standard", highlight=False))
        self._line(Text.from_ansi(IDS.sub(lambda found: brief(found.group()), drawn.getvalue())))

    def holds(self, truth: bool, sentence: str) -> None:
        """Counts a check. Raises NotSo where the sentence is not true."""
        if not truth:
            self._line(Text(f"{MARGIN}✗ {sentence}", "bold red"))
            raise NotSo(sentence)
        self.checks += 1
        self._line(Text.assemble(f"{MARGIN}", ("✓ ", "bold green"), (sentence, "green")))

    def begin(self, heading: str) -> None:
        """A numbered heading."""
        self._scenes += 1
        self.console.print()
        self._line(Text(f"{self._scenes}. {heading}", "bold"))

    @contextmanager
    def scene(self, heading: str) -> Iterator[None]:
        """A numbered part. Raises NotSo where nothing was checked in it."""
        self.begin(heading)
        before = self.checks
        yield
        if self.checks == before:
            raise NotSo(f"nothing was checked in “{heading}”")

    def _line(self, line: Text) -> None:
        self.console.print(line, soft_wrap=True)


def brief(key: UUID | str) -> str:
    """The end of an id, where UUIDv7 keeps its randomness, for people to tell ids apart."""
    return f"…{str(key)[-6:]}"


def milliseconds(since: float) -> str:
    """How long ago `since`, a reading of time.monotonic(), was."""
    return f"{(time.monotonic() - since) * 1000:.0f} ms"

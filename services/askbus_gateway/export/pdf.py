"""A transcript as PDF: laid out here line by line, with a font for Latin, Greek and Cyrillic letters and common signs. No network, and the
same bytes for the same transcript."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pymupdf_fonts  # type: ignore[import-untyped]
from fpdf import FPDF
from fpdf.fonts import TTFFont

from askbus_gateway.export.blocks import NO_TITLE, Block, Kind, blocks
from askbus_gateway.export.transcript import Transcript

FILES = {"regular": "figo", "bold": "figbo", "signs": "symbol2"}
MISSING = "\u25a1"
MARGIN = 20.0
"""Millimetres; so are all lengths of a page."""
NOTE = (
    f"{MISSING} stands for a character that the fonts of this file do not have. The exports as Markdown and JSON have them all."
)


@dataclass(frozen=True)
class Look:
    """A block's font, its size in points, the shade of its text (0 is black), and the space before it and at its left."""

    font: str
    size: float
    shade: int
    above: float
    indent: float

    @property
    def leading(self) -> float:
        """From one line to the next."""
        return self.size * 0.5


LOOKS = {
    Kind.TITLE: Look("bold", 17, 20, 0, 0),
    Kind.FACTS: Look("regular", 9, 110, 1, 0),
    Kind.HEADING: Look("bold", 10, 60, 6, 0),
    Kind.SAID: Look("regular", 10.5, 20, 2, 3),
    Kind.ANSWER: Look("regular", 10.5, 20, 2, 3),
    Kind.ITEM: Look("regular", 9, 90, 1, 6),
    Kind.MARK: Look("regular", 9, 130, 1.5, 3),
}


def to_pdf(transcript: Transcript) -> bytes:
    """The whole file."""
    with TemporaryDirectory(prefix="askbus-") as folder:
        page = Page(transcript, Path(folder))
        for block in blocks(transcript):
            page.write(block)
        if page.missing:
            page.write(Block(Kind.MARK, NOTE))
        return bytes(page.pdf.output())


class Page:
    """The pages as they fill. fpdf2's own line breaking takes the time of a line's length for each of its characters; ours does not."""

    def __init__(self, transcript: Transcript, folder: Path) -> None:
        self.pdf = FPDF(format="A4")
        self.pdf.set_auto_page_break(auto=False)
        self.pdf.set_margin(MARGIN)
        self.pdf.set_creation_date(transcript.updated_at)
        self.pdf.set_title(transcript.title or NO_TITLE)
        self.pdf.set_producer("askbus")
        for name, font in FILES.items():
            file = folder / f"{name}.ttf"
            file.write_bytes(pymupdf_fonts.myfont(font))
            self.pdf.add_font(name, "", file)
        fonts = {name: font for name, font in self.pdf.fonts.items() if isinstance(font, TTFFont)}
        self.widths = {name: font.cw for name, font in fonts.items()}
        self.has = {name: frozenset(font.cmap) for name, font in fonts.items()}
        self.missing = False
        self.y = self.pdf.h

    def write(self, block: Block) -> None:
        look = LOOKS[block.kind]
        self.y += look.above
        self.pdf.set_text_color(look.shade)
        x, most = MARGIN + look.indent, self.pdf.w - 2 * MARGIN - look.indent
        for paragraph in self._drawable(block.text, look).splitlines() or [""]:
            for line in self._lines(paragraph, look, most):
                self._draw(line, look, x)

    def _drawable(self, text: str, look: Look) -> str:
        """Each character that a font has; others, and scripts that need shaping to be read, as a mark."""
        drawn = []
        for each in unicodedata.normalize("NFC", text).expandtabs(4):
            category = unicodedata.category(each)
            if each == "\n" or (ord(each) in self.has[look.font] and not _needs_shaping(each)) or ord(each) in self.has["signs"]:
                drawn.append(each)
            elif category not in {"Cc", "Cf", "Mn", "Me"}:
                drawn.append(" " if category[0] == "Z" else MISSING)
                self.missing |= category[0] != "Z"
        return "".join(drawn)

    def _font_of(self, each: str, look: Look) -> str:
        return look.font if ord(each) in self.has[look.font] else "signs"

    def _width(self, text: str, look: Look) -> float:
        units = sum(self.widths[self._font_of(each, look)][ord(each)] for each in text)
        return units * look.size / 1000 / self.pdf.k

    def _lines(self, paragraph: str, look: Look, most: float) -> Iterator[str]:
        """Broken at spaces, and inside of words that are longer than a line."""
        line, width = "", 0.0
        for word in paragraph.split(" "):
            piece = word if not line else f" {word}"
            taken = self._width(piece, look)
            if line and width + taken > most:
                yield line
                line, width, piece, taken = "", 0.0, word, self._width(word, look)
            if taken > most:
                for each in piece:
                    step = self._width(each, look)
                    if line and width + step > most:
                        yield line
                        line, width = "", 0.0
                    line, width = line + each, width + step
            else:
                line, width = line + piece, width + taken
        yield line

    def _draw(self, line: str, look: Look, x: float) -> None:
        if self.y + look.leading > self.pdf.h - MARGIN:
            self.pdf.add_page()
            self.pdf.set_text_color(look.shade)
            self.y = MARGIN
        self.y += look.leading
        for font, run in self._runs(line, look):
            self.pdf.set_font(font, "", look.size)
            self.pdf.text(x, self.y, run)
            x += self._width(run, look)

    def _runs(self, line: str, look: Look) -> Iterator[tuple[str, str]]:
        """The line in pieces of one font each."""
        run, font = "", look.font
        for each in line:
            if (other := self._font_of(each, look)) != font:
                if run:
                    yield font, run
                run, font = "", other
            run += each
        if run:
            yield font, run


def _needs_shaping(each: str) -> bool:
    """Right-to-left scripts, and those of South and South-East Asia: letter by letter they are no text."""
    return unicodedata.bidirectional(each) in {"R", "AL", "AN"} or "\u0900" <= each <= "\u0fff" or "\u1000" <= each <= "\u109f"

"""PDF files: how many pages, and the text of some of them. pypdf is slow and its input hostile: run it in a thread; it looks at the
clock between pages."""

import io
import time
from dataclasses import dataclass

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from askbus.errors import InvalidInput
from askbus.models.clean import clean_text

MOST_PAGES = 2_000
LOOKED_AT = 5
"""Pages in which an upload is searched for text."""
SECONDS = 15.0


@dataclass(frozen=True)
class PageText:
    """A page's text; pages are numbered from 1."""

    page: int
    text: str


def look_into(data: bytes) -> tuple[int, bool]:
    """How many pages it has, and whether the first ones have text. Raises InvalidInput where it cannot be read."""
    with _Open(data) as pdf:
        count = pdf.count
        if count > MOST_PAGES:
            raise InvalidInput(f"This PDF has {count} pages, and at most {MOST_PAGES} are taken. Send a part of it.")
        return count, any(pdf.text(number).strip() for number in range(1, min(LOOKED_AT, count) + 1))


def read_pages(data: bytes, first: int, most_pages: int, most_characters: int, seconds: float = SECONDS) -> list[PageText]:
    """The text of up to `most_pages` pages from `first` on, as many as fit into `most_characters`; of one page at least the beginning.

    After `seconds` no further page is begun. Raises InvalidInput where the file or a page cannot be read.
    """
    ends = time.monotonic() + seconds
    read: list[PageText] = []
    left = most_characters
    with _Open(data) as pdf:
        for number in range(first, min(first + most_pages, pdf.count + 1)):
            if read and time.monotonic() > ends:
                break
            text = pdf.text(number)
            if read and len(text) > left:
                break
            read.append(PageText(number, text))
            left -= len(text)
    return read


class _Open:
    """A PDF that is open for reading; whatever pypdf makes of a broken one is one clear refusal."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __enter__(self) -> "_Open":
        try:
            self._reader = PdfReader(io.BytesIO(self._data))
            locked = self._reader.is_encrypted and not self._reader.decrypt("")
            self.count = 0 if locked else len(self._reader.pages)
        except _BROKEN as error:
            raise _refusal(error) from None
        if locked:
            raise InvalidInput("This PDF is protected by a password. Send it without one.")
        if not self.count:
            raise InvalidInput("This PDF has no pages.")
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def text(self, number: int) -> str:
        try:
            return clean_text(self._reader.pages[number - 1].extract_text())
        except _BROKEN as error:
            raise _refusal(error) from None


_BROKEN = (
    PyPdfError, OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError, ArithmeticError, RecursionError,
    MemoryError, NotImplementedError, ImportError,
)  # fmt: skip
"""What pypdf raises over hostile files, its own errors and Python's."""


def _refusal(error: Exception) -> InvalidInput:
    if isinstance(error, ImportError | NotImplementedError):
        return InvalidInput("This PDF is encrypted or compressed in a way that cannot be read. Save it anew, without protection.")
    return InvalidInput("This PDF is damaged and cannot be read.")

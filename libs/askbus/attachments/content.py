"""What a file is, found out from its bytes alone; what a header or a name says is only compared with that.

It works hard: run it in a thread.
"""

import io
import warnings
from collections.abc import Mapping

from PIL import Image, UnidentifiedImageError

from askbus.attachments.csv_table import looks_like_table
from askbus.attachments.model import EXCERPT, TYPES, Found, Kind
from askbus.attachments.pdf import look_into
from askbus.attachments.shrinking import reduced
from askbus.attachments.text import decode, encoding_of, is_markup
from askbus.errors import InvalidInput

MOST_PIXELS = 50_000_000
"""Of one frame: a picture of a few kilobytes can decode to gigabytes."""
LONGEST_EDGE = 65_535
"""Pixels: as many as a JPEG can have. A line of fifty million is shrunk in half a minute and a gigabyte."""
MOST_FRAMES = 1_000
CHECKED = 256
"""Pixels of the edge to which a JPEG is decoded to see whether it is whole."""
FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF", b"GIF87a", b"GIF89a")

ACCEPTED = "Send a PNG, JPEG, WebP or GIF picture, a PDF, a text file or a CSV file"

NAMED: Mapping[str, str] = {
    "image/png": "image/png",
    "image/jpeg": "image/jpeg",
    "image/jpg": "image/jpeg",
    "image/webp": "image/webp",
    "image/gif": "image/gif",
    "application/pdf": "application/pdf",
    "text/csv": "text/csv",
    "application/csv": "text/csv",
    "application/vnd.ms-excel": "text/csv",
    "text/tab-separated-values": "text/csv",
    "text/plain": "text/plain",
    "text/markdown": "text/plain",
    "application/json": "text/plain",
}
"""Media types that a header may name, and what they come to. Windows calls a CSV file by Excel's type."""
ENDINGS: Mapping[str, str] = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp", "gif": "image/gif",
    "pdf": "application/pdf", "csv": "text/csv", "tsv": "text/csv", "txt": "text/plain", "md": "text/plain", "log": "text/plain",
    "json": "text/plain",
}  # fmt: skip
UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream"})
REFUSED = frozenset({"svg", "svgz", "html", "htm", "xhtml", "xht"})


def inspect(data: bytes, declared: str, name: str) -> Found:
    """What the content is, if it is one of the kinds that are taken and agrees with `declared` (a media type) and the name's ending.

    Raises InvalidInput that says what is wrong and what to send.
    """
    said = declared.partition(";")[0].strip().lower()
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    if ending in REFUSED:
        raise InvalidInput(f"Files named .{ending} are not taken. {ACCEPTED}.")
    if said not in UNSAID and said not in NAMED:
        raise InvalidInput(f"Files with the Content-Type {said[:100]} are not taken. {ACCEPTED}, with a type of its own.")
    found = _found(data, wanted={NAMED.get(said), ENDINGS.get(ending)})
    for claim, what in ((NAMED.get(said), "type"), (ENDINGS.get(ending), "name")):
        if claim is not None and not _agrees(claim, found.media_type):
            raise InvalidInput(
                f"The content of this file is {found.media_type}, but its {what} says {claim}. Send it as what it is.",
                {"content": found.media_type, what: claim},
            )
    return found


def _agrees(claim: str, found: str) -> bool:
    """Whether text is a table is a matter of what it is for: either may be called the other."""
    return claim == found or {TYPES[claim], TYPES[found]} == {Kind.TEXT, Kind.CSV}


def _found(data: bytes, wanted: set[str | None]) -> Found:
    if not data:
        raise InvalidInput("This file is empty.")
    if data.startswith(MAGIC):
        return _picture(data)
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return _pdf(data)
    encoding = encoding_of(data)
    if encoding is None:
        raise InvalidInput(
            f"This file is none that is taken, or it is damaged. {ACCEPTED}; text in UTF-8, in UTF-16 with a byte order mark, "
            "or in Windows-1252."
        )
    text = decode(data, encoding)
    if is_markup(text):
        raise InvalidInput(f"HTML and SVG are not taken. {ACCEPTED}.")
    table = "text/csv" in wanted or ("text/plain" not in wanted and looks_like_table(text))
    return Found("text/csv" if table else "text/plain", encoding, has_text=bool(text.strip()), excerpt=_excerpt(text))


def _excerpt(text: str) -> str:
    """The first lines, whole ones where that is possible."""
    begun = text[:EXCERPT]
    return begun if len(text) <= EXCERPT else begun.rpartition("\n")[0] or begun


def _pdf(data: bytes) -> Found:
    pages, has_text = look_into(data)
    return Found("application/pdf", pages=pages, has_text=has_text)


def _picture(data: bytes) -> Found:
    broken = InvalidInput("This picture is damaged, or none of PNG, JPEG, WebP and GIF.")
    too_large = InvalidInput(
        f"This picture has more than {MOST_PIXELS:,} pixels, or an edge of more than {LONGEST_EDGE:,}. Send a smaller one."
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit below is the lower one
            with Image.open(io.BytesIO(data), formats=tuple(FORMATS)) as picture:
                large = picture.width * picture.height > MOST_PIXELS or max(picture.size) > LONGEST_EDGE
                if large or getattr(picture, "n_frames", 1) > MOST_FRAMES:
                    raise too_large
                media_type = FORMATS[str(picture.format)]
                picture.verify()
            with Image.open(io.BytesIO(data), formats=tuple(FORMATS)) as picture:
                picture.draft("RGB", (CHECKED, CHECKED))
                picture.load()  # `verify` reads no pixel of a JPEG
            smaller = reduced(data)
    except Image.DecompressionBombError:
        raise too_large from None
    except InvalidInput:
        raise
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, KeyError, MemoryError, OverflowError):
        raise broken from None
    return Found(media_type, reduced=smaller)

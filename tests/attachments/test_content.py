"""What a file is, by its bytes."""

import io
import struct
import zlib

import pytest
from PIL import Image

from askbus.attachments.content import inspect
from askbus.attachments.model import Kind
from askbus.attachments.pdf import read_pages
from askbus.attachments.text import decode, encoding_of
from askbus.errors import InvalidInput
from askbus.testing.files import pdf, picture

pytestmark = pytest.mark.requirement("C14")

UNSAID = "application/octet-stream"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_picture_is_known_by_its_content(kind: str) -> None:
    """Nobody needs to say what it is; who says it rightly is believed."""
    media_type = f"image/{kind.lower()}"
    assert inspect(picture(kind), UNSAID, "x").media_type == media_type
    assert inspect(picture(kind), f"{media_type}; q=1", f"x.{kind}").media_type == media_type


@pytest.mark.parametrize(
    ("content", "declared", "name", "says"),
    [
        (picture("JPEG"), "image/png", "a", "image/jpeg, but its type says image/png"),
        (picture("JPEG"), UNSAID, "a.png", "image/jpeg, but its name says image/png"),
        (b"hello", "image/png", "a", "text/plain, but its type says image/png"),
        (picture(), "text/csv", "a", "image/png, but its type says text/csv"),
        (pdf("x"), "text/plain", "a", "application/pdf, but its type says text/plain"),
        (picture("BMP"), UNSAID, "a.bmp", "none that is taken"),
        (b"", UNSAID, "a", "empty"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", "a.svg", "not taken"),
        (b"hello", "text/plain", "a.html", "not taken"),
        (b"\xef\xbb\xbf <!-- x --> <!DOCTYPE html><p>", "text/plain", "a.txt", "HTML and SVG are not taken"),
        (b"<?xml version='1.0'?>\n<svg onload='x()'/>", UNSAID, "a", "HTML and SVG are not taken"),
        (b"PK\x03\x04" + bytes(40), UNSAID, "a.docx", "none that is taken"),
        (picture()[:40], UNSAID, "a", "damaged"),
        (picture("JPEG", (200, 200))[:-150], UNSAID, "a", "damaged"),
        (b"%PDF-1.7 nothing more", UNSAID, "a", "PDF is damaged"),
        (pdf("x", password="secret"), UNSAID, "a", "protected by a password"),
    ],
)
def test_what_is_not_what_it_says_is_refused(content: bytes, declared: str, name: str, says: str) -> None:
    """With a sentence that says what was found and what is taken; a name or a header alone decides nothing."""
    with pytest.raises(InvalidInput, match=says):
        inspect(content, declared, name)


@pytest.mark.parametrize("size", [(20_000, 20_000), (1, 50_000_000), (50_000_000, 1)])
def test_a_picture_that_decodes_to_gigabytes_is_refused_before_it_is_decoded(size: tuple[int, int]) -> None:
    """A few bytes that announce twenty thousand by twenty thousand pixels, or a line of fifty million, which takes as much to shrink."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", *size, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    with pytest.raises(InvalidInput, match="pixels"):
        inspect(bomb, UNSAID, "bomb.png")


def test_every_frame_of_an_animation_counts_once() -> None:
    """A moving GIF is a picture like any other."""
    made = io.BytesIO()
    frames = [Image.new("P", (4, 4), shade) for shade in range(3)]
    frames[0].save(made, "GIF", save_all=True, append_images=frames[1:])
    assert inspect(made.getvalue(), "image/gif", "x.gif").kind is Kind.IMAGE


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        ("naïve 😀".encode(), "utf-8", "naïve 😀"),
        ("naïve".encode("utf-8-sig"), "utf-8-sig", "naïve"),
        ("naïve\r\nx".encode("utf-16"), "utf-16", "naïve\nx"),
        (b"\xfe\xff" + "ä".encode("utf-16-be"), "utf-16", "ä"),
        ("Größe 5 €".encode("cp1252"), "cp1252", "Größe 5 €"),
        (b"", "utf-8", ""),
    ],
)
def test_text_is_decoded_by_one_rule(data: bytes, encoding: str, text: str) -> None:
    """A mark, else UTF-8, else Windows-1252; the mark and the kind of line break do not stay."""
    assert encoding_of(data) == encoding
    assert decode(data, encoding) == text


@pytest.mark.parametrize(
    "data", [b"a\0b", b"\x81\x8d", "x".encode("utf-16-le") * 9, b"\xff\xfe\x00", b"\x7fELF\x02", b"a\x1bb\x08"]
)
def test_bytes_that_are_no_text_are_none(data: bytes) -> None:
    """Control characters and broken sequences are what binary files have."""
    assert encoding_of(data) is None


def test_a_table_is_one_by_its_rows_or_by_its_name() -> None:
    """Prose with a comma in it is not; a file called .csv is, if it is text."""
    assert inspect(b"id,name,total\n1,Ada,2\n", UNSAID, "x").kind is Kind.CSV
    assert inspect(b"Dear Ada, hello,\nas ever\n", UNSAID, "x").kind is Kind.TEXT
    assert inspect(b"a\n1\n", "text/plain", "x.csv").kind is Kind.CSV
    assert inspect(b"a;b\n1;2\n", "application/vnd.ms-excel", "x.csv").kind is Kind.CSV


def test_a_pdf_is_counted_and_searched_for_text() -> None:
    """A scanned one has pages and no text; its pages are read from any one on, whole ones, as many as fit."""
    found = inspect(pdf("one", "two"), UNSAID, "x.pdf")
    assert (found.kind, found.pages, found.has_text) == (Kind.PDF, 2, True)
    assert inspect(pdf("", ""), UNSAID, "x").has_text is False
    three = pdf("first page", "second page", "third page")
    assert [(page.page, page.text.strip()) for page in read_pages(three, 2, 5, 10_000)] == [(2, "second page"), (3, "third page")]
    assert [page.page for page in read_pages(three, 1, 2, 10_000)] == [1, 2]
    assert [page.page for page in read_pages(three, 1, 3, 15)] == [1]
    assert [page.page for page in read_pages(three, 1, 3, 10_000, seconds=-1)] == [1]


def test_garbage_in_a_pdf_is_a_clear_refusal() -> None:
    """Wherever a byte is wrong, it is read or refused, and nothing else is raised."""
    whole = pdf("some text")
    for place in range(0, len(whole), 31):
        broken = whole[:place] + b"\xff" + whole[place + 1 :]
        try:
            inspect(broken, UNSAID, "x")
            read_pages(broken, 1, 1, 100)
        except InvalidInput:
            continue

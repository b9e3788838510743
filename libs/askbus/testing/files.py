"""Files to upload, made as small as their kind allows."""

import io
from collections.abc import Sequence

import httpx2
from fpdf import FPDF
from PIL import Image

from askbus.testing.people import Company


def picture(kind: str = "PNG", size: tuple[int, int] = (8, 8), colour: str = "red") -> bytes:
    """A picture of one colour, in any of Pillow's formats."""
    made = io.BytesIO()
    Image.new("RGB", size, colour).save(made, kind)
    return made.getvalue()


def pdf(*pages: str, password: str | None = None) -> bytes:
    """A PDF with a page for each text; an empty text is a page without any."""
    made = FPDF()
    made.set_font("helvetica", size=12)
    for text in pages:
        made.add_page()
        if text:
            made.multi_cell(0, text=text)
    if password is not None:
        made.set_encryption(owner_password=password, user_password=password)
    return bytes(made.output())


def csv_text(header: Sequence[str], rows: Sequence[Sequence[object]], delimiter: str = ",") -> bytes:
    """A CSV file of plain cells."""
    return "\n".join(delimiter.join(map(str, row)) for row in (header, *rows)).encode() + b"\n"


async def upload(
    client: httpx2.AsyncClient,
    company: Company,
    content: bytes,
    name: str,
    media_type: str = "application/octet-stream",
    **headers: str,
) -> httpx2.Response:
    """Sends a file to the project north, as the console does."""
    return await client.post(
        "/v1/attachments",
        params={"project_id": str(company.north), "name": name},
        content=content,
        headers={"content-type": media_type, "x-askbus": "1", **headers},
    )


async def uploaded(
    client: httpx2.AsyncClient, company: Company, content: bytes, name: str, media_type: str = "application/octet-stream"
) -> str:
    """The id of a file that was taken."""
    made = await upload(client, company, content, name, media_type)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])

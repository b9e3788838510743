"""Origins of pages, as browsers write them (RFC 6454, section 6.2). Pure."""

from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator

STANDARD = {"https": 443, "http": 80}


def _as_browsers_write_it(text: str) -> str:
    """Compared letter by letter, so it must be written in the one way in which browsers do. Raises ValueError, which says how."""
    url = urlsplit(text)
    if url.scheme not in STANDARD or not url.hostname:
        raise ValueError(f"{text!r} is no origin: write https://app.example, each by itself; there is no wildcard")
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    written = f"{url.scheme}://{host}" + ("" if url.port in {None, STANDARD[url.scheme]} else f":{url.port}")
    if text != written or "*" in text or not text.isascii():
        raise ValueError(f"{text!r} is not how a browser names an origin; did you mean {written}?")
    return text


Origin: TypeAlias = Annotated[str, AfterValidator(_as_browsers_write_it)]

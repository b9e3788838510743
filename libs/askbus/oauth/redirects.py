"""Where an app may send people back to: which addresses it may register, and which one it may ask for then. Pure.

OAuth 2.1 compares addresses character by character, with one exception: an app on the person's own machine listens on whatever port is
free (RFC 8252, section 7.3). Private-use schemes belong to whoever installed something last, so that only known ones are taken.
"""

import re
from collections.abc import Iterable
from urllib.parse import SplitResult, urlencode, urlsplit

LONGEST = 2000
MOST = 10
"""Addresses of one app."""

KNOWN_APPS = frozenset({"cursor://anysphere.cursor-mcp/oauth/callback", "cursor://anysphere.cursor-retrieval/oauth/callback"})
"""Private-use addresses that are taken everywhere; a deployment adds to them."""

_URI = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+")
"""What a URI is made of (RFC 3986, section 2), but for the `#` of a fragment, which none may have."""
_LOOPBACK = re.compile(r"http://(?P<host>localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?(?P<rest>(?:[/?].*)?)")
_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[0-9a-f:.]+\]")


def problem(uri: str, known: Iterable[str] = ()) -> str | None:
    """Why no app may register this address; None where one may. `known` are private-use ones beyond KNOWN_APPS, exactly."""
    if uri in KNOWN_APPS or uri in frozenset(known):
        return None
    if len(uri) > LONGEST or _URI.fullmatch(uri) is None:
        return f"A redirect URI has at most {LONGEST} characters, all of them ASCII, and no fragment."
    parts = _parted(uri)
    if parts is None or "@" in parts.netloc:
        return "A redirect URI has a host, no user and no password."
    if parts.scheme == "http":
        return None if _LOOPBACK.fullmatch(uri) else "http:// is for localhost, 127.0.0.1 and [::1] alone; use https://."
    if parts.scheme != "https":
        return "This scheme is not known here: use https://, or http:// on localhost. An operator can list it in ASKBUS_OAUTH_REDIRECTS."
    return None


def matches(registered: str, asked: str) -> bool:
    """Whether an app that registered the one may ask for the other: the same, or the same but for the port on the person's own machine."""
    if registered == asked:
        return True
    ours, theirs = _LOOPBACK.fullmatch(registered), _LOOPBACK.fullmatch(asked)
    if ours is None or theirs is None or problem(asked) is not None:
        return False
    return ours.group("host", "rest") == theirs.group("host", "rest")


def is_local(uri: str) -> bool:
    """Whether it stays on the person's own machine, where a page of somebody's can do no harm by it."""
    return urlsplit(uri).scheme != "https"


def with_answer(uri: str, answer: dict[str, str | None]) -> str:
    """The address with an answer's parameters after its own (RFC 6749, section 4.1.2)."""
    said = urlencode({name: value for name, value in answer.items() if value is not None})
    return f"{uri}{'&' if '?' in uri else '?'}{said}"


def form_target(uri: str) -> str:
    """What a Content-Security-Policy calls the place that a form's answer may lead to. It has no words for IPv6 addresses, so that the
    one of this machine is let through by its scheme."""
    parts = urlsplit(uri)
    if parts.scheme not in {"http", "https"}:
        return f"{parts.scheme}:"
    return "http:" if parts.hostname == "::1" else f"{parts.scheme}://{parts.netloc}"


def _parted(uri: str) -> SplitResult | None:
    try:
        parts = urlsplit(uri)
        if parts.port == 0 or _HOST.fullmatch(parts.netloc.rpartition("@")[2].removesuffix(f":{parts.port}")) is None:
            return None
    except ValueError:
        return None
    return parts

"""A provider's words as a log may hold them: without keys and passwords. Pure."""

import re

MASKED = "[masked]"

_PASSWORD = re.compile(r"(?<=://)[^\s/@]+@")
_QUERY = re.compile(r"(?<=\?)[\w.%-]+=[^\s\"'<>]*")
_NAMED = re.compile(
    r"(?i)((?:api[ _-]?key|access[ _-]?key|token|secret|password|passwd|authorization|credential)s?[\"']?(?:\s*[:=]\s*|\s+)[\"']?)"
    r"(?:(bearer|basic)\s+)?(?=[^\s\"',;)}\]]*[\d*])[^\s\"',;)}\]]{6,}"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/*=-]{6,}")
_SHAPED = re.compile(r"\b(?:sk|pk|rk|xai|gsk|hf|ghp|gho|AIza|AKIA|eyJ|askbus)[-_]?[\w.*-]{8,}")
_LONG = re.compile(r"\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}")


def mask(text: str) -> str:
    """`text` with everything masked that is a key by its name, its place or its shape."""
    text = _PASSWORD.sub(f"{MASKED}@", text)
    text = _QUERY.sub(MASKED, text)
    text = _NAMED.sub(lambda found: f"{found[1]}{MASKED}", text)
    text = _BEARER.sub(lambda found: f"{found[1]} {MASKED}", text)
    text = _SHAPED.sub(MASKED, text)
    return _LONG.sub(MASKED, text)

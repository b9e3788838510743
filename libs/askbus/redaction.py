"""Secrets in texts: known ones, and what has the shape of one, are replaced (I11). Pure, but for the secrets that a process said it knows.

The shapes are those that issuers publish so that scanners find them: a fixed beginning, then so many random characters. Ids, hashes and
ordinary words have none of them. A text is searched for a shape only where it has the shape's fixed part, and each shape takes time that
grows with the text alone: no repetition begins anew inside of another.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from pydantic import JsonValue

REDACTED = "[redacted secret]"
"""What stands in a secret's place. Whoever finds it in what is to be written, has not been shown what they are about to write."""

SHORTEST = 8
"""Characters of a known secret. A shorter one would be found in ordinary words."""

V = TypeVar("V")


@dataclass(frozen=True)
class _Shape:
    """`fixed`: one of these is in every text that has the shape. What a group catches goes before the secret, and stays."""

    fixed: tuple[str, ...]
    pattern: re.Pattern[str]

    def redacted(self, text: str) -> str:
        if not any(part in text for part in self.fixed):
            return text
        return self.pattern.sub(lambda found: f"{found[1] if found.re.groups else ''}{REDACTED}", text)


def _begins(*fixed: str, rest: str) -> _Shape:
    """A token that starts like this, as a word by itself."""
    starts = "|".join(re.escape(each) for each in fixed)
    first = "".join(sorted({each[0] for each in fixed}))
    return _Shape(fixed, re.compile(rf"(?=[{first}]){_WORD}(?:{starts}){rest}"))


_WORD = r"(?:(?<![A-Za-z0-9-])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2}))"
"""Where a word begins: also after what JSON and addresses write for a character that is none of a word."""
_DIGIT = r"(?=[\w-]{0,120}\d)"
_RUN = r"(?=[\w-]{0,120}?(?<![A-Za-z0-9])(?=[A-Za-z]{0,60}\d)(?=\d{0,60}[A-Za-z])[A-Za-z0-9]{6})"
"""Somewhere letters and digits in one, as random characters come and the words of a name seldom do."""
_VALUE = r"""[^\s"'`,;&<>\[\]{}()]"""
_LAST = r"""[^\s"'`,;&<>\[\]{}()\\]"""
"""The backslash before a quote belongs to the quote."""
SHAPES = (
    _begins("askbus_", rest=rf"{_DIGIT}[\w-]{{24,}}"),
    _Shape(("askbus_session",), re.compile(r"(askbus_session(?:_\d{1,5})?=)[\w-]{20,}")),
    _begins("whsec_", rest=r"[A-Za-z0-9+/]{24,}=*"),
    _begins("sk-", "pk-", "rk-", "xai-", rest=rf"{_RUN}[\w-]{{20,}}"),
    _begins("sk_live_", "sk_test_", "rk_live_", "rk_test_", rest=r"[A-Za-z0-9]{16,}"),
    _begins("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", rest=r"\w{22,}"),
    _begins("glpat-", "pypi-", rest=rf"{_DIGIT}[\w-]{{20,}}"),
    _begins("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xapp-", rest=rf"{_DIGIT}[\w-]{{10,}}"),
    _begins("AKIA", "ASIA", rest=r"[A-Z0-9]{16}(?!\w)"),
    _begins("AIza", rest=r"[\w-]{35}"),
    _begins("ya29.", rest=r"[\w-]{20,}"),
    _begins("hf_", "gsk_", "npm_", "lin_api_", "shpat_", "dop_v1_", rest=r"[A-Za-z0-9]{30,}"),
    _begins("SG.", rest=r"[\w-]{16,}\.[\w-]{16,}"),
    _begins("SA", "SU", "SO", "SN", "SC", rest=r"(?=[A-Z2-7]{0,56}[2-7])[A-Z2-7]{56}(?!\w)"),
    _begins("eyJ", rest=r"[\w-]{8,}\.eyJ[\w-]{4,}(?:\.[\w-]*)?"),
    _Shape(("://",), re.compile(r"""(://[^\s/@:"'<>]{0,100}:)[^\s/@"'<>]{1,200}(?=@)""")),
    _Shape(
        ("earer", "EARER", "asic", "ASIC"),
        re.compile(r"(?i)(?<!\w)((?:bearer|basic)[ \t]{1,4})(?=[\w.~+/-]{0,120}\d)[\w.~+/-]{16,}=*"),
    ),
    _Shape(("token=",), re.compile(r"([?&]token=)(?=[^\s&]{0,120}\d)[\w.~%-]{16,}")),
    _Shape(
        ("word", "Word", "WORD", "ecret", "ECRET", "pwd", "Pwd", "PWD", "key", "Key", "KEY", "token", "Token", "TOKEN"),
        re.compile(
            r"(?i)(?<![a-z])((?:(?:pg)?password|passwd|pwd|secret|api[_-]?key|secret[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret"
            r"|access[_-]?token|auth[_-]?token|refresh[_-]?token)"
            rf"""\\{{0,8}}["']?[ \t]{{0,4}}[:=][ \t]{{0,4}}(?:\\{{0,8}}["'])?)"""
            rf"(?={_VALUE}{{0,120}}\d)(?=[^\s]{{0,120}}[a-z]){_VALUE}{{5,}}{_LAST}"
        ),
    ),
)  # fmt: skip
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = "-----END"


class Redactor:
    """Knows some secrets by heart, and all shapes."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.known = frozenset(secret for secret in known if len(secret) >= SHORTEST)
        forms = {form for secret in self.known for form in (secret, quote(secret, safe=""))}
        self._known = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True)))) if forms else None

    def text(self, text: str) -> str:
        """The text without secrets; the same object where there are none."""
        if self._known is not None:
            text = self._known.sub(REDACTED, text)
        if "PRIVATE KEY" in text:
            text = _without_private_keys(text)
        for shape in SHAPES:
            text = shape.redacted(text)
        return text

    def value(self, value: V) -> V:
        """The same of every text in a JSON value, however deep; names of fields stay as they are."""
        return self._value(value)  # type: ignore[arg-type,return-value]  # of the same JSON type as it came

    def _value(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self._value(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(item) for item in value]
        return value


def _without_private_keys(text: str) -> str:
    """Each with all that stands up to its end; one that is cut off, up to the end of the text."""
    kept, at = [], 0
    while found := _PRIVATE_KEY.search(text, at):
        kept += [text[at : found.start()], REDACTED]
        end = text.find(_END, found.end())
        close = text.find("-----", end + len(_END)) if end >= 0 else -1
        at = close + 5 if close >= 0 else len(text)
    return "".join([*kept, text[at:]])


_current = Redactor()


def know(secrets: Iterable[str]) -> None:
    """From now on this process replaces these secrets too, wherever it redacts."""
    global _current  # noqa: PLW0603  # logs and errors are the process's, and so is what must not stand in them
    _current = Redactor({*_current.known, *secrets})


def redact(text: str) -> str:
    """The text without what this process knows to be secret, or what looks like it."""
    return _current.text(text)


def redact_value(value: V) -> V:
    """The same of every text in a JSON value."""
    return _current.value(value)

"""A transcript as Markdown (CommonMark) that nothing in it can break out of. Pure.

What people and records say is escaped and reads as it was written. An answer is a model's Markdown: it is quoted line by line, so that it
forges no heading of ours, and disarmed: no HTML, no picture that a reader would fetch, no link but to http, https and mail, no definition
that changes a link elsewhere.
"""

import re
from collections.abc import Iterator, Sequence

from askbus_gateway.export.blocks import Block, Kind, blocks
from askbus_gateway.export.transcript import Transcript

_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")
_AT_START = re.compile(r"^(\d{1,9})([.)])|^([-+=:])")
_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})(.*)")
_HIDDEN_FENCE = re.compile(r"[^`~]+(`{3,}|~{3,})")
_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_LINK = re.compile(r"\]\((?!<?(?:https?://|mailto:))")


def to_markdown(transcript: Transcript) -> str:
    """The whole file."""
    return "\n".join(line for block in blocks(transcript) for line in (*_block(block), "")).rstrip("\n") + "\n"


def _block(block: Block) -> Iterator[str]:
    match block.kind:
        case Kind.TITLE:
            yield f"# {escaped(block.text)}"
        case Kind.HEADING:
            yield f"## {escaped(block.text)}"
        case Kind.ITEM:
            yield f"- {escaped(block.text)}"
        case Kind.FACTS | Kind.MARK:
            yield f"*{escaped(block.text)}*"
        case Kind.SAID:
            yield from quoted(block.text)
        case Kind.ANSWER:
            yield from (f"> {line}".rstrip() for line in disarmed(_lines(block.text)))


def _lines(text: str) -> list[str]:
    return re.split(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text)


def quoted(text: str) -> Iterator[str]:
    """A text that shows as it is, line by line."""
    lines = _lines(text)
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        yield f"> {escaped(line)}".rstrip() + ("\\" if line.strip() and following.strip() else "")


def escaped(text: str) -> str:
    """A line of text that shows as it is."""
    line = " ".join(_lines(text))
    body = line.lstrip(" \t")
    body = _AT_START.sub(
        lambda found: f"{found[1]}\\{found[2]}" if found[1] else f"\\{found[3]}", _SIGNS.sub(r"\\\1", body).rstrip()
    )
    return "\u00a0" * (len(line) - len(line.lstrip(" \t"))) + body


def disarmed(lines: Sequence[str]) -> Iterator[str]:
    """A model's Markdown without what would act on its reader; code in fences stays as it is.

    Only fences at the very beginning of a line count, and only where there are no others: what is code in somebody's reader and what is
    not must not be a matter of opinion.
    """
    plain = any(_HIDDEN_FENCE.match(line) for line in lines)
    fence = ""
    for line in lines:
        found = None if plain else _FENCE.match(line)
        if fence:
            closes = found is not None and found[1].startswith(fence) and not found[2].strip()
            yield line
            fence = "" if closes else fence
        elif found is not None:
            fence = found[1]
            yield line
        else:
            yield _disarm(line)


def _disarm(line: str) -> str:
    line = _HTML.sub("&lt;", line).replace("![", "!\\[").replace("]:", "]\\:")
    return _LINK.sub("]\\\\(", line)

"""Inline reasoning: `<think>…</think>` at the start of an answer is taken out of the text as it streams. Pure.

Only the first thing in a message that is not white space can open a thought, and right after one the next may open. Anywhere
else the tags are text: an assistant that answers about data must be able to quote them, in a code fence or without.
"""

INLINE_REASONING = "inline_reasoning"
"""The name under which provider data keeps it; it is given back to nobody."""
_OPEN = "<think>"
_CLOSE = "</think>"


class ThinkFilter:
    """Splits a stream into text and reasoning, wherever it is cut. It holds back only what can still become the awaited tag."""

    def __init__(self) -> None:
        self._held = ""
        self._thoughts: list[list[str]] = []
        self._thinking = False
        self._answering = False

    @property
    def reasoning(self) -> str | None:
        """What was taken out so far, a line break between thoughts; None if there was none."""
        return "\n".join("".join(pieces) for pieces in self._thoughts) if self._thoughts else None

    def feed(self, text: str) -> str:
        """What of the stream so far is certainly text and was not returned before."""
        if self._answering:
            return text
        self._held += text
        while True:
            if self._thinking:
                if self._think():
                    continue
                return ""
            start = self._held.lstrip()
            if start.startswith(_OPEN):
                self._thoughts.append([])
                self._thinking = True
                self._held = start[len(_OPEN) :]
            elif _OPEN.startswith(start):
                return ""
            else:
                return self._answer()

    def close(self) -> str:
        """The stream has ended: what was held back and became no tag. A thought that was never closed stays a thought."""
        if self._thinking:
            self._thoughts[-1].append(self._held.removesuffix(_CLOSE))
            self._held = ""
        return self._answer()

    def _answer(self) -> str:
        """From here on everything is text. White space after a thought belongs to the thought."""
        text, self._held = self._held, ""
        self._answering = True
        return text.lstrip() if self._thoughts else text

    def _think(self) -> bool:
        """Move what is certainly thought out of the way; true if the thought ended."""
        thought = self._thoughts[-1]
        while (at := self._held.find(_CLOSE)) >= 0:
            after = self._held[at + len(_CLOSE) :]
            line = ("".join(thought) + self._held[:at]).rpartition("\n")[2]
            quoted = line.endswith("`") and line.count("`") % 2 == 1  # a closer in backticks is a thought about the tag
            if quoted and not after:
                return False
            if not (quoted and after.startswith("`")):
                thought.append(self._held[:at])
                self._held = after
                self._thinking = False
                return True
            thought.append(self._held[:at] + _CLOSE)
            self._held = after
        keep = next(size for size in range(len(_CLOSE) - 1, -1, -1) if self._held.endswith(_CLOSE[:size]))
        cut = len(self._held) - keep
        thought.append(self._held[:cut])
        self._held = self._held[cut:]
        return False

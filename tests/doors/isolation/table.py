"""What a row of the tables says, and how it is tried: with ids of the scene, and with ids that are made up.

The scene is the project north and what Mia made there. Each row is a request that whoever is entitled gets an answer to; the cells say what
the others get, in the order of the table's callers:

    .   it does not exist: not_found (404), the very answer that a made-up id gets
    x   refused: permission_denied (403), and again what a made-up id gets, so that it says nothing of the id
    !   refused as wrong: invalid_input (400), and what a made-up id gets
    =   in no state for it: conflict (409), and what a made-up id gets
    -   not let in: unauthenticated (401), and what a made-up id gets
    0   answered, with nothing of what the scene holds
    +   answered: they may
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from askbus.db.ids import new_id

THING = re.compile(r"{(\w+)}")
UUIDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
REFUSALS = {"not_found": ".", "permission_denied": "x", "invalid_input": "!", "conflict": "=", "unauthenticated": "-"}


@dataclass(frozen=True)
class Row:
    """A request and its cells. `name` is the route, tool or command; `{thing}` in it, in its body or query is the id of a fresh thing of
    the scene; `may` is who is entitled.

    `shows`: a text that says that an answer holds something of the scene, where no id and no kestrel does.
    """

    name: str
    cells: str
    may: str = "mia"
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    shows: str | None = None

    @property
    def things(self) -> Sequence[str]:
        return THING.findall(f"{self.name} {self.body} {self.query}")


@dataclass(frozen=True)
class Got:
    """An answer. `code` is its error's, None where there is none; `text` all of it, and `headers` what else was told."""

    code: str | None
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def neutral(self, ids: Mapping[str, str]) -> "Got":
        """The answer without the ids that were asked for, real ones or made up: somebody who sends one may read it back."""
        text = self.text
        for one in UUIDS.findall(" ".join(ids.values())):
            text = text.replace(one, "{id}")
        return Got(self.code, text, self.headers)


Send = Callable[[str, Row, Mapping[str, str]], Awaitable[Got]]
"""Sends the row's request as this caller, with these ids."""


class Scene(Protocol):
    """Makes fresh things, and knows what of them must not be read."""

    made: list[str]

    async def ids(self, things: Sequence[str]) -> dict[str, str]: ...

    def secrets(self, caller: str) -> Sequence[str]: ...


def filled(part: Any, ids: Mapping[str, str]) -> Any:
    """The same with the id of each `{thing}`."""
    if isinstance(part, str):
        return THING.sub(lambda found: ids[found[1]], part)
    if isinstance(part, Mapping):
        return {key: filled(value, ids) for key, value in part.items()}
    return [filled(value, ids) for value in part] if isinstance(part, list | tuple) else part


def cell(real: Got, made_up: Got, secrets: Sequence[str], *, named: bool) -> str:
    """What a caller got, as the table writes it; words where it is none of these. `named`: whether ids tell the two requests apart."""
    same = real == made_up
    if real.code in REFUSALS and same:
        return REFUSALS[real.code]
    if real.code is None and (not real.text or any(secret in real.text for secret in secrets)):
        return "+"
    if real.code is None and (same or not named):
        return "0"
    return f"{real.code} {real.text[:300]} but made up {made_up.code} {made_up.text[:300]}"


async def problems(scene: Scene, callers: Sequence[str], row: Row, send: Send, *, shown: bool) -> list[str]:
    """What of the row does not hold. `shown`: whoever is entitled is answered with something of the scene."""
    ids = await scene.ids(row.things)
    nobodys = {
        name: value if name == "digest" else f"{value}s" if name == "word" else str(new_id()) for name, value in ids.items()
    }
    shows = (row.shows,) if row.shows else ()

    async def tried(caller: str) -> str:
        made_up = (await send(caller, row, nobodys)).neutral(nobodys)
        real = (await send(caller, row, ids)).neutral(ids)
        return cell(real, made_up, (*scene.secrets(caller), *shows), named=bool(ids) and "word" not in ids)

    got = await asyncio.gather(*(tried(caller) for caller in callers))
    wrong = []
    if got != list(row.cells):
        wrong.append(f"{row.name}: not {row.cells!r} but {'|'.join(got)}")
    answer = (await send(row.may, row, ids)).neutral(ids)
    if answer.code is not None:
        wrong.append(f"{row.name}: {row.may} is entitled, but {answer.code} {answer.text[:300]}")
    if shown and ids and answer.text and not any(secret in answer.text for secret in (*scene.made, *shows)):
        told = f"nothing of the scene is in what {row.may} is answered, so that no cell says anything"
        wrong.append(f"{row.name}: {told}: {answer.text[:300]}")
    return wrong

"""SQL kept as SQL: one statement a file, with named parameters, called like a function."""

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Protocol, TypeAlias

import asyncpg

Row: TypeAlias = dict[str, Any]
"""A row by column name: what the database says, for a model to validate."""

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)\b")
_COMMENT = re.compile(r"--[^\n]*")


class Executor(Protocol):
    """What runs a statement: an asyncpg connection, or a pool for a single statement of its own."""

    async def fetch(self, query: str, *args: object) -> list[asyncpg.Record]: ...
    async def fetchrow(self, query: str, *args: object) -> asyncpg.Record | None: ...
    async def execute(self, query: str, *args: object) -> str: ...


class Statement:
    """One statement from a .sql file. `:name` in the file is a parameter; every call gives each by name, once.

    `ASK = Statement("askbus.questions", "sql/ask.sql")`, then `await ASK.row(db, id=…, text=…)`.
    """

    def __init__(self, package: str, path: str) -> None:
        self.path = f"{package.replace('.', '/')}/{path}"
        text = _COMMENT.sub("", files(package).joinpath(path).read_text("utf-8")).strip()
        self.parameters: list[str] = []
        self.sql = _PARAMETER.sub(self._number, text)

    def _number(self, match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in self.parameters:
            self.parameters.append(name)
        return f"${self.parameters.index(name) + 1}"

    def _arguments(self, given: dict[str, object]) -> list[object]:
        if given.keys() != set(self.parameters):
            raise TypeError(f"{self.path} takes {sorted(self.parameters)}, was given {sorted(given)}")
        return [given[name] for name in self.parameters]

    async def row(self, db: Executor, **given: object) -> Row | None:
        """The first row, or None."""
        record = await db.fetchrow(self.sql, *self._arguments(given))
        return None if record is None else dict(record)

    async def one(self, db: Executor, **given: object) -> Row:
        """The one row of a statement that always returns one; LookupError where it does not."""
        found = await self.row(db, **given)
        if found is None:
            raise LookupError(f"{self.path} returned no row")
        return found

    async def rows(self, db: Executor, **given: object) -> Sequence[Row]:
        """Every row."""
        return [dict(record) for record in await db.fetch(self.sql, *self._arguments(given))]

    async def run(self, db: Executor, **given: object) -> int:
        """Runs it and returns how many rows it touched."""
        status = await db.execute(self.sql, *self._arguments(given))
        return int(status.rpartition(" ")[2])

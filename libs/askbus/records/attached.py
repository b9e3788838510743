"""Tables of the team's own that tell their changes themselves, by a trigger in askbus's own database."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from askbus.db.pool import Connection
from askbus.errors import InvalidInput, NotFound
from askbus.records.catalogue import statement
from askbus.records.record_catalogue import ByColumn, RecordCatalogue

TRIGGER = "askbus_feed"


@dataclass(frozen=True)
class Attached:
    """A collection on the feed. `column` names the project of each record, `project` that of all; with neither, everybody hears of it."""

    collection: str
    column: str
    project: str

    @property
    def whose(self) -> str:
        """To whom its records are told, in words."""
        if self.column:
            return f"in the project that their {self.column} names"
        return f"in the project {self.project}" if self.project else "to everybody who sees a project"


@dataclass(frozen=True)
class _Table:
    """A table as Postgres has it: how SQL spells it, how the records call it, its columns and its primary key."""

    spelled: str
    schema: str
    collection: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


async def attach(db: Connection, table: str, listed: RecordCatalogue) -> Attached:
    """Puts the trigger on the table, or makes it say what the catalogue says now. `db` is an administrator's.

    Raises NotFound where there is no such table, InvalidInput where its records could not be named or its project cannot be told.
    """
    found = await _table(db, table)
    if found.schema == "askbus":
        raise InvalidInput(f"{table} is askbus's own; what changes there is on the feed already.")
    if not found.key:
        raise InvalidInput(f"{table} has no primary key, so no change could say of which record it is. Give it one first.")
    entry = listed.collections.get(found.collection) or listed.collections.get(f"{found.schema}.{found.collection}")
    project = None if entry is None else entry.project
    column = project.column if isinstance(project, ByColumn) else ""
    if column and column not in found.columns:
        raise InvalidInput(f"{table} has no column {column}, which the catalogue says names the project of each record.")
    told = Attached(found.collection, column, project if isinstance(project, str) else "")
    names = json.dumps({str(project_id): name for project_id, name in listed.projects.items()})
    arguments = [told.collection, json.dumps(found.key), told.column, told.project, names]
    quoted = await db.fetchval(
        "SELECT string_agg(quote_literal(a), ', ' ORDER BY n) FROM unnest($1::text[]) WITH ORDINALITY x (a, n)", arguments
    )
    await db.execute(
        f"CREATE OR REPLACE TRIGGER {TRIGGER} AFTER INSERT OR UPDATE OR DELETE ON {found.spelled}"
        f" FOR EACH ROW EXECUTE FUNCTION askbus.log_record({quoted})"
    )
    return told


async def detach(db: Connection, table: str) -> None:
    """Takes the trigger away. Raises NotFound where there is no such table, or it is not on the feed."""
    found = await _table(db, table)
    if found.collection not in {one.collection for one in await tables(db)}:
        raise NotFound(f"{table} is not on the feed. `askbus feed list` shows which are.")
    await db.execute(f"DROP TRIGGER {TRIGGER} ON {found.spelled}")


async def tables(db: Connection) -> Sequence[Attached]:
    """What is on the feed."""
    rows = await db.fetch(statement("attached").text)
    return [
        Attached(*(part.decode() for index, part in enumerate(row["tgargs"].split(b"\0")) if index in {0, 2, 3})) for row in rows
    ]


async def _table(db: Connection, name: str) -> _Table:
    row = await db.fetchrow(statement("attachable").text.replace(":name", "$1"), name)
    if row is None:
        raise NotFound(f"There is no table {name} in askbus's own database. Write it as SQL does: orders, or sales.orders.")
    return _Table(row["spelled"], row["schema"], row["collection"], tuple(row["columns"]), tuple(row["key"]))

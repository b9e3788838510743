"""The ledger beside the records: what became of each action and undo, in the transaction that did it. The first row wins."""

import json
from collections.abc import Sequence
from datetime import datetime
from importlib.resources import files
from uuid import UUID

import asyncpg
from pydantic import BaseModel, ConfigDict, TypeAdapter
from sqlalchemy import Row
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from askbus.access.model import Principal
from askbus.errors import Unavailable
from askbus.records.catalogue import statement
from askbus.records.changes import Image, LedgerKind, Mismatch, Outcome, OutcomeState, Problem
from askbus.records.failures import NotDone, sqlstate
from askbus.records.schema import nearest

_IMAGES = TypeAdapter(tuple[Image, ...])
_MISMATCHES = TypeAdapter(tuple[Mismatch, ...])
_UNPREPARED = frozenset({"42P01", "3F000", "42501"})


class Entry(BaseModel):
    """Which row of the ledger is being settled. An apply has the action's own id, an undo an id of its own."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    kind: LedgerKind
    action_id: UUID


class Verdict(BaseModel):
    """What the row is going to say."""

    model_config = ConfigDict(frozen=True)

    state: OutcomeState
    images: tuple[Image, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    problem: Problem | None = None


async def prepare_ledger(url: str) -> None:
    """Makes the ledger in the database at `url`; what is there already stays. Making it needs the right to create a schema.

    Raises asyncpg.PostgresError or OSError, which say what is in the way.
    """
    connection = await asyncpg.connect(_libpq(url), timeout=10)
    try:
        async with connection.transaction():
            await connection.execute(files("askbus.records").joinpath("sql/ledger.sql").read_text("utf-8"))
    except asyncpg.InsufficientPrivilegeError:
        # Somebody else made it, and gave this role the rights to use it: `rights_needed`.
        if not await connection.fetchval("SELECT to_regclass('askbus_ledger.outcomes') IS NOT NULL"):
            raise
    finally:
        await connection.close()


async def unknown_names(url: str, role: str, schemas: Sequence[str]) -> list[str]:
    """What of these the database at `url` does not have, a sentence each with the nearest names.

    Raises asyncpg.PostgresError or OSError, which say what is in the way.
    """
    connection = await asyncpg.connect(_libpq(url), timeout=10)
    try:
        roles = [row[0] for row in await connection.fetch("SELECT rolname FROM pg_catalog.pg_roles WHERE rolname !~ '^pg_'")]
        there = [row[0] for row in await connection.fetch("SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_'")]
    finally:
        await connection.close()
    unknown = [f"There is no role {role}. There are {', '.join(nearest(role, roles, 5))}."] if role not in roles else []
    return unknown + [
        f"There is no schema {schema}. There are {', '.join(nearest(schema, there, 5))}."
        for schema in schemas
        if schema not in there
    ]


def rights_needed(role: str, schemas: Sequence[str] = ("public",)) -> list[str]:
    """The statements that give `role` what it takes to read, change and undo records in `schemas`; for people to read and run."""
    quote = postgresql.dialect().identifier_preparer.quote_identifier  # type: ignore[no-untyped-call]
    named = quote(role)
    granted = [
        f"GRANT USAGE ON SCHEMA askbus_ledger TO {named};",
        f"GRANT SELECT, INSERT ON askbus_ledger.outcomes TO {named};",
    ]
    for schema in map(quote, schemas):
        granted += [
            f"GRANT USAGE ON SCHEMA {schema} TO {named};",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {named};",
            "-- Only on tables that may be changed; DELETE lets an undo take back records that askbus created:",
            f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {named};",
            f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {named};",
        ]
    return granted


async def claim(connection: AsyncConnection, entry: Entry) -> Outcome | None:
    """Waits until nobody else is settling this action, then returns the row that is there already, if one is.

    Raises Unavailable when the ledger was not prepared.
    """
    try:
        await connection.execute(statement("ledger_lock"), {"action_id": str(entry.action_id)})
        found = await read(connection, entry.id)
    except DBAPIError as error:
        if sqlstate(error) in _UNPREPARED:
            raise Unavailable(
                "The ledger is missing in the database of the records. Whoever runs askbus can make it: askbus records prepare."
            ) from error
        raise
    return None if found is None else public(found)


async def read(connection: AsyncConnection, row_id: UUID) -> Outcome | None:
    """The row as it was written, with what only undo may see."""
    row = (await connection.execute(statement("ledger_read"), {"id": str(row_id)})).one_or_none()
    return None if row is None else _outcome(row)


async def is_undone(connection: AsyncConnection, action_id: UUID) -> bool:
    return bool(await connection.scalar(statement("ledger_undone"), {"action_id": str(action_id)}))


async def write(connection: AsyncConnection, entry: Entry, verdict: Verdict, principal: Principal) -> Outcome:
    """Adds the row. A second row with the same id is refused by the primary key."""
    at: datetime | None = await connection.scalar(
        statement("ledger_write"),
        {
            "id": str(entry.id),
            "kind": entry.kind.value,
            "action_id": str(entry.action_id),
            "state": verdict.state.value,
            "user_id": str(principal.user_id),
            "workspace_id": str(principal.workspace_id),
            "images": json.dumps([image.model_dump(mode="json") for image in verdict.images]),
            "mismatches": json.dumps([mismatch.model_dump(mode="json") for mismatch in verdict.mismatches]),
            "problem": verdict.problem.model_dump_json() if verdict.problem else None,
        },
    )
    if at is None:
        raise NotDone("the ledger did not keep its row")
    return outcome_of(entry, verdict, at)


def outcome_of(entry: Entry, verdict: Verdict, at: datetime, *, dry_run: bool = False) -> Outcome:
    """What `verdict` tells the outside."""
    made = Outcome(
        id=entry.id,
        kind=entry.kind,
        action_id=entry.action_id,
        state=verdict.state,
        at=at,
        images=verdict.images,
        mismatches=verdict.mismatches,
        problem=verdict.problem,
        dry_run=dry_run,
    )
    return public(made)


def public(outcome: Outcome) -> Outcome:
    """Without the hashes of what may not be read."""
    return outcome.model_copy(update={"images": tuple(image.model_copy(update={"sealed": {}}) for image in outcome.images)})


def _outcome(row: Row[*tuple[object, ...]]) -> Outcome:
    values = row._mapping  # noqa: SLF001  # SQLAlchemy's public name for the row as a mapping
    return Outcome(
        id=values["id"],
        kind=LedgerKind(values["kind"]),
        action_id=values["action_id"],
        state=OutcomeState(values["state"]),
        at=values["at"],
        images=_IMAGES.validate_json(values["images"]),
        mismatches=_MISMATCHES.validate_json(values["mismatches"]),
        problem=Problem.model_validate_json(values["problem"]) if values["problem"] else None,
    )


def _libpq(url: str) -> str:
    """The URL without SQLAlchemy's driver name."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme.partition('+')[0]}{separator}{rest}"

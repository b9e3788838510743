"""What Postgres refuses, in words for the person who can act, and what is only a passing state of the server."""

import asyncpg
from sqlalchemy.exc import DBAPIError

from askbus.errors import AskbusError, Internal, InvalidInput, TimedOut, Unavailable


class NotDone(Exception):
    """The database took a statement and did not do it: a trigger or policy kept it back; or a reference cannot be filled."""


RETRY = frozenset({"40001", "40P01"})
"""Serialization failure and deadlock: the same again may well succeed (Postgres manual, appendix A)."""
PASSING = frozenset({"08", "53", "57"})
"""Classes of connection trouble, exhausted resources, and an administrator's or a time limit's intervention."""
TIME_LIMIT = "57014"
"""Query canceled: here always because a statement took longer than it may."""
BUSY = frozenset({"55P03", "58030", "25P03", "25P04"})
"""A lock that did not come free, an error of the disk, and a transaction that the server found too slow."""
STALE = frozenset({"42703", "42P01", "3F000", "42704"})
"""Undefined column, table, schema or object: DDL since the schema was read."""


def cause(error: DBAPIError) -> asyncpg.PostgresError | None:
    """The server's own error below SQLAlchemy's."""
    inner = error.orig.__cause__ if error.orig is not None else None
    return inner if isinstance(inner, asyncpg.PostgresError) else None


def sqlstate(error: DBAPIError) -> str:
    """The five characters of the SQLSTATE; empty when the error is not the server's."""
    return str(getattr(error.orig, "sqlstate", None) or "")


def is_stale(error: DBAPIError) -> bool:
    """Whether DDL came between reading the schema and running the statement; also a cached plan whose result type changed."""
    return sqlstate(error) in STALE or isinstance(
        error.orig.__cause__ if error.orig is not None else None,
        asyncpg.InvalidCachedStatementError | asyncpg.exceptions.OutdatedSchemaCacheError,
    )


def is_retryable(error: DBAPIError) -> bool:
    return sqlstate(error) in RETRY


def is_passing(error: DBAPIError) -> bool:
    """Whether it says nothing about the statement: the server or the way to it was in trouble, or a lock did not come free."""
    state = sqlstate(error)
    if state == TIME_LIMIT:
        return False
    return error.connection_invalidated or not state or state in RETRY or state[:2] in PASSING or state in BUSY


def is_final(error: DBAPIError) -> bool:
    """Whether the same statement would be refused again: neither the server's trouble, nor a deadlock, nor DDL in between."""
    return not (is_passing(error) or is_retryable(error) or is_stale(error))


def unavailable(error: DBAPIError) -> AskbusError:
    """A passing failure as an error of ours."""
    return Unavailable("The team's database is busy or not there now; try again.", {"sqlstate": sqlstate(error)})


def read_failure(error: DBAPIError) -> AskbusError:
    """Why a read failed. Data errors name what the database said: they come from values that the caller sent."""
    state, server = sqlstate(error), cause(error)
    if state == TIME_LIMIT:
        return TimedOut("The database did not answer in time. Narrow the filter, or ask for less at once.")
    if is_passing(error):
        return unavailable(error)
    if state == "42501":
        return Unavailable("askbus's database user may not read this; whoever runs askbus can grant it.", {"sqlstate": state})
    if state == "42601" or server is None:
        return Internal("The database could not run this read.", {"sqlstate": state})
    return InvalidInput(f"The database refused this read: {server.args[0]}.", {"sqlstate": state})


def write_failure(error: DBAPIError) -> str:
    """Why a write failed, as a sentence: the constraint and its columns by name, a trigger's own words."""
    state, server = sqlstate(error), cause(error)
    said = str(server.args[0]) if server is not None and server.args else "the database refused it"
    where = f" ({server.constraint_name})" if server is not None and getattr(server, "constraint_name", None) else ""
    detail = f" {server.detail}" if server is not None and getattr(server, "detail", None) else ""
    match state:
        case "23505":
            return f"Another record already has this value{where}.{detail}"
        case "23503":
            return f"It refers to a record that does not exist, or something refers to it{where}.{detail}"
        case "23502":
            column = getattr(server, "column_name", None)
            return f"{column or 'A field'} must have a value."
        case "23514":
            return f"A rule of the database does not allow this value{where}."
        case "42501":
            return f"askbus's database user lacks the right to do this: {said}."
        case "57014":
            return "The database did not finish in time; nothing was changed."
        case _:
            return f"The database refused it: {said}."

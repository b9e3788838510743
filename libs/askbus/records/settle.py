"""The frame in which an action is applied or undone: exactly once, in one transaction of the records' own database."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from askbus.access.model import Principal
from askbus.errors import PermissionDenied, Unavailable
from askbus.records import ledger
from askbus.records.changes import LedgerKind, Outcome, OutcomeState, Problem
from askbus.records.engine import Records, SchemaMoved
from askbus.records.failures import NotDone, is_passing, is_retryable, is_stale, unavailable, write_failure
from askbus.records.ledger import Entry, Verdict
from askbus.runtime import crash

MOST_ATTEMPTS = 4

FAILED = {LedgerKind.APPLY: OutcomeState.FAILED, LedgerKind.UNDO: OutcomeState.REFUSED}


class Progress:
    """Which operation is being worked on, so that a failure can name it."""

    operation = ""


Work = Callable[[AsyncConnection, Progress], Awaitable[Verdict]]


async def settle(records: Records, principal: Principal, entry: Entry, work: Work, *, dry_run: bool = False) -> Outcome:
    """What the ledger says about `entry`; where it says nothing yet, `work` is done and its verdict written, both or neither.

    What the database refuses for good is recorded in a second transaction. Deadlocks, and DDL in between, are tried again.
    Raises Unavailable while the database is in trouble: nothing is recorded then, and the same call may be made again.
    """
    for _ in range(MOST_ATTEMPTS):
        progress = Progress()
        try:
            return await _attempt(records, principal, entry, work, progress, dry_run=dry_run)
        except SchemaMoved:
            continue
        except DBAPIError as error:
            if is_stale(error):
                records.forget_schema()
            elif not is_retryable(error):
                if is_passing(error):
                    raise unavailable(error) from error
                return await _fail(records, principal, entry, progress, write_failure(error), dry_run=dry_run)
        except PermissionDenied as error:
            return await _fail(records, principal, entry, progress, error.message, dry_run=dry_run)
        except NotDone as error:
            return await _fail(records, principal, entry, progress, f"Nothing was changed: {error}.", dry_run=dry_run)
    raise Unavailable("The records kept changing while this was applied; try again.")


async def _attempt(
    records: Records, principal: Principal, entry: Entry, work: Work, progress: Progress, *, dry_run: bool
) -> Outcome:
    async with records.writing(principal) as connection:
        if (recorded := await ledger.claim(connection, entry)) is not None:
            return recorded
        crash.point(f"records.{entry.kind.value}.claimed")
        verdict = await work(connection, progress)
        if dry_run:
            await connection.rollback()
            return ledger.outcome_of(entry, verdict, datetime.now(UTC), dry_run=True)
        crash.point(f"records.{entry.kind.value}.before_ledger")
        progress.operation = ""
        outcome = await ledger.write(connection, entry, verdict, principal)
        crash.point(f"records.{entry.kind.value}.before_commit")
    crash.point(f"records.{entry.kind.value}.after_commit")
    return outcome


async def _fail(
    records: Records, principal: Principal, entry: Entry, progress: Progress, message: str, *, dry_run: bool
) -> Outcome:
    """Records that it cannot be done, unless somebody recorded an outcome meanwhile: then that one stands."""
    verdict = Verdict(state=FAILED[entry.kind], problem=Problem(operation=progress.operation, message=message))
    if dry_run:
        return ledger.outcome_of(entry, verdict, datetime.now(UTC), dry_run=True)
    crash.point(f"records.{entry.kind.value}.before_failure")
    try:
        async with records.writing(principal) as connection:
            if (recorded := await ledger.claim(connection, entry)) is not None:
                return recorded
            outcome = await ledger.write(connection, entry, verdict, principal)
            crash.point(f"records.{entry.kind.value}.before_failure_commit")
    except DBAPIError as error:
        raise unavailable(error) from error
    crash.point(f"records.{entry.kind.value}.after_failure")
    return outcome

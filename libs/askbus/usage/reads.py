"""What a person may see of usage: their own sums, and an owner or admin those of the workspace."""

from datetime import UTC, datetime

from askbus.access.model import Principal, Role, Scope
from askbus.db.statements import Executor, Statement
from askbus.errors import PermissionDenied
from askbus.usage.model import Of, Share, Totals, UsageFilter, UsageReport

SUMS_OF_USER = Statement("askbus.usage", "sql/sums_of_user.sql")
SUMS_OF_WORKSPACE = Statement("askbus.usage", "sql/sums_of_workspace.sql")


async def report(db: Executor, by: Principal, wanted: UsageFilter) -> UsageReport:
    """The sums that were asked for. Raises InvalidInput for an impossible span, PermissionDenied for the workspace's where the caller is
    neither its owner nor an admin, with a session: a token sees its own user's."""
    since, until = wanted.span(datetime.now(UTC))
    by.require(Scope.DATA_READ)
    statement = SUMS_OF_USER
    if wanted.of is Of.WORKSPACE:
        if by.token_id is not None or by.role not in {Role.OWNER, Role.ADMIN}:
            raise PermissionDenied("Only owners and admins of the workspace see everybody's usage, signed in.")
        statement = SUMS_OF_WORKSPACE
    rows = await statement.rows(
        db,
        by=wanted.by.value,
        since=since,
        until=until,
        user_id=by.user_id,
        workspace_id=by.workspace_id,
        projects=None if by.projects is None else list(by.projects),
    )
    shares = tuple(Share.model_validate(row) for row in rows)
    return UsageReport(by=wanted.by, of=wanted.of, shares=shares, total=total(shares))


def total(shares: tuple[Share, ...]) -> Totals:
    """What the shares come to together."""
    return Totals(**{name: sum(getattr(share, name) for share in shares) for name in Totals.model_fields})

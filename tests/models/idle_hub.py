"""A hub without a database, and who comes to it."""

from typing import cast
from uuid import UUID, uuid4

from askbus.access.model import Principal, PrincipalKind, Role, Scope
from askbus.db.pool import Pool
from askbus.feed.bridge import Source
from askbus.feed.model import Snapshot
from askbus_gateway.sse.hub import Hub
from askbus_gateway.sse.waits import Waits
from askbus_gateway.sse.wheel import Wheel


def idle_hub() -> Hub:
    """It delivers what it is given."""
    return Hub(lambda _deliver: cast("Source", None), cast("Pool", None), Waits(), Wheel(15, 1800))


def session(workspace: UUID, *, user: UUID | None = None) -> Principal:
    """Somebody's."""
    return Principal(
        kind=PrincipalKind.SESSION,
        id=uuid4(),
        user_id=user or uuid4(),
        workspace_id=workspace,
        role=Role.MEMBER,
        scopes=frozenset(Scope),
    )


def snapshot(xid: int) -> Snapshot:
    """All up to this transaction."""
    return Snapshot(xid + 1, xid + 1, frozenset())

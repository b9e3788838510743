"""Front ends whose instructions count: a workspace registers one by name, and it shows the key that it got then (C36).

The key speaks for the front end and for nobody in it: who is asking is said by the session or token beside it, as everywhere.
"""

from datetime import datetime
from uuid import UUID

import asyncpg
from pydantic import BaseModel, ConfigDict

from askbus.access.credentials import digest, new_secret
from askbus.access.model import Principal
from askbus.db.ids import new_id
from askbus.db.statements import Executor, Statement
from askbus.errors import InvalidInput, NotFound

FIND = Statement("askbus.access", "sql/find_frontend.sql")
CREATE = Statement("askbus.access", "sql/create_frontend.sql")
REMOVE = Statement("askbus.access", "sql/remove_frontend.sql")
LIST = Statement("askbus.access", "sql/list_frontends.sql")

KEY_PREFIX = "askbus_fe_"


class Frontend(BaseModel):
    """A front end that a workspace registered; its key is shown once, when it is made."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    name: str
    created_at: datetime


async def is_registered(db: Executor, by: Principal, key: str) -> bool:
    """Whether the caller's workspace registered the front end whose key this is."""
    return await FIND.row(db, hash=digest(key), workspace_id=by.workspace_id) is not None


async def register(db: Executor, workspace_id: UUID, name: str) -> str:
    """Registers a front end, or gives the one of that name another key. Returns the key, for this once. Raises InvalidInput."""
    key = KEY_PREFIX + new_secret()
    try:
        await CREATE.one(db, id=new_id(), workspace_id=workspace_id, name=name, hash=digest(key))
    except asyncpg.CheckViolationError:
        raise InvalidInput("A front end's name has 1 to 200 characters.") from None
    return key


async def remove(db: Executor, workspace_id: UUID, name: str) -> None:
    """Takes a registration back. Raises NotFound."""
    if await REMOVE.row(db, workspace_id=workspace_id, name=name) is None:
        raise NotFound(f"No front end named {name!r} is registered.")


async def registered(db: Executor, workspace_id: UUID) -> tuple[Frontend, ...]:
    """The workspace's front ends, by name."""
    return tuple(Frontend.model_validate(row) for row in await LIST.rows(db, workspace_id=workspace_id))

"""What a workspace chose for its conversations: one function, one statement each."""

from uuid import UUID

import asyncpg

from askbus.access.model import NumberCheck
from askbus.db.statements import Executor, Statement
from askbus.errors import InvalidInput

SET_MODEL = Statement("askbus.access", "sql/set_model.sql")
SET_INSTRUCTIONS = Statement("askbus.access", "sql/set_instructions.sql")
SET_NUMBER_CHECK = Statement("askbus.access", "sql/set_number_check.sql")


async def set_model(db: Executor, workspace_id: UUID, model: str | None) -> None:
    """Chooses the workspace's model by its name in the settings, or leaves it to the deployment."""
    await SET_MODEL.run(db, id=workspace_id, model=model)


async def set_number_check(db: Executor, workspace_id: UUID, check: NumberCheck) -> None:
    """What becomes of the workspace's answers with numbers that have no source."""
    await SET_NUMBER_CHECK.run(db, id=workspace_id, number_check=check.value)


async def set_instructions(db: Executor, workspace_id: UUID, instructions: str | None) -> None:
    """What the workspace tells the model in every prompt, nothing for None or blanks. Raises InvalidInput past 4,000 characters."""
    try:
        await SET_INSTRUCTIONS.run(db, id=workspace_id, instructions=(instructions or "").strip() or None)
    except asyncpg.CheckViolationError:
        raise InvalidInput("The instructions have more than 4,000 characters. Shorten them.") from None

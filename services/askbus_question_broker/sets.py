"""Several questions asked as one: all of them in one transaction, or none."""

import asyncpg

from askbus.db.pool import Connection, Pool
from askbus.errors import AskbusError, Unavailable
from askbus.questions import verbs
from askbus.questions.model import AskQuestion
from askbus.questions.sets import AskedSet, AskQuestions, Placed, id_in_set
from askbus.runtime import crash

LOOKS = 3
"""How often a set is tried that meets the same questions being asked elsewhere in the same moment."""


async def ask_set(pool: Pool, command: AskQuestions, *, trace: str | None) -> AskedSet:
    """Asks them all. The same set sent again finds the same questions.

    Raises what asking the first impossible one raises, with its place in `details`, and has asked nothing then.
    """
    for _look in range(LOOKS):
        try:
            async with pool.acquire() as db, db.transaction():
                return await _ask_all(db, command, trace)
        except (asyncpg.UniqueViolationError, asyncpg.DeadlockDetectedError):
            continue  # one of them was stored in this moment, or is being asked together with another of them
    raise Unavailable("The same questions are being asked elsewhere in this moment. Ask again.")


async def _ask_all(db: Connection, command: AskQuestions, trace: str | None) -> AskedSet:
    asks = command.said.questions
    placed: dict[int, Placed] = {}
    for place in sorted(range(len(asks)), key=lambda place: asks[place].dedupe_key or ""):  # every set waits in the same order
        wanted = id_in_set(command.set_id, place)
        one = AskQuestion(command_id=wanted, by=command.by, question_id=wanted, ask=asks[place])
        try:
            found = await verbs.ask_once(db, one, trace=trace) or await verbs.ask_once(db, one, trace=trace)
            if found is None:
                raise await verbs.refused(db, one)
        except AskbusError as error:
            raise type(error)(f"Question {place + 1} of the set: {error.message}", {**error.details, "place": place}) from None
        placed[place] = Placed(id=found.id, asked=found.id == wanted)
        crash.point("broker.ask_set.between")
    return AskedSet(questions=tuple(placed[place] for place in range(len(asks))))

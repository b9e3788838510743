"""A process that applies or undoes one action and prints the outcome's state; ASKBUS_CRASH_AT ends it where a test wants."""

import asyncio
import sys
from uuid import UUID

from pydantic import TypeAdapter

from askbus.records.apply import apply
from askbus.records.changes import PreparedOperation
from askbus.records.engine import open_records
from askbus.records.undo import undo
from askbus.testing.records import somebody


async def main(url: str, action: str, undo_id: str, operations: str) -> None:
    records = open_records(url)
    if undo_id:
        outcome = await undo(records, UUID(undo_id), UUID(action), somebody())
    else:
        outcome = await apply(
            records, UUID(action), TypeAdapter(tuple[PreparedOperation, ...]).validate_json(operations), somebody()
        )
    sys.stdout.write(outcome.state)
    await records.dispose()


asyncio.run(main(*sys.argv[1:]))

"""What people do with their threads: rename, save, delete, close."""

from askbus.db.pool import Pool
from askbus.runtime import crash
from askbus.runtime.telemetry import traceparent
from askbus.threads import verbs
from askbus.threads.model import CloseThread, DeleteThread, Gone, RenameThread, SaveThread, Thread
from askbus_agent_loop.pieces import Stops


class Threads:
    """Commands of threads that exist. Whatever works on a turn of a thread that ends is told to stop."""

    def __init__(self, pool: Pool, stops: Stops) -> None:
        self.pool = pool
        self.stops = stops

    async def on_rename_thread(self, command: RenameThread) -> Thread:
        return await verbs.rename(self.pool, command, trace=traceparent())

    async def on_save_thread(self, command: SaveThread) -> Thread:
        return await verbs.save(self.pool, command, trace=traceparent())

    async def on_delete_thread(self, command: DeleteThread) -> Gone:
        return await self._delete(command)

    async def on_close_thread(self, command: CloseThread) -> Gone:
        return await self._delete(command)

    async def _delete(self, command: DeleteThread | CloseThread) -> Gone:
        async with self.pool.acquire() as db, db.transaction():
            gone = await verbs.delete(db, command, trace=traceparent())
            crash.point("agent.delete_thread.before_commit")
        crash.point("agent.delete_thread.after_commit")
        for turn_id in gone.ended:
            await self.stops.stop(turn_id)
        return gone

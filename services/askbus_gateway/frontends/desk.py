"""What the doors of front ends do, whichever vocabulary they speak: find or begin a conversation, send, stop."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID, uuid4

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from askbus.access import frontends
from askbus.access.model import Principal, Scope
from askbus.db.ids import new_id
from askbus.db.statements import Row, Statement
from askbus.errors import Conflict, NotFound, PermissionDenied, Unavailable
from askbus.limits.model import Limited
from askbus.models.clean import clean_text
from askbus.threads.model import ClientThreadId, CreateThread
from askbus.turns import reads as turns
from askbus.turns.model import CancelTurn, Context, StartTurn, Turn, TurnDetail
from askbus_gateway.frontends.handed import NewMessage
from askbus_gateway.http.gate import Gate, invalid

FIND_THREAD = Statement("askbus_gateway.frontends", "sql/find_thread.sql")
OPEN_TURNS = Statement("askbus_gateway.frontends", "sql/open_turns.sql")
LATEST_TURN = Statement("askbus_gateway.frontends", "sql/latest_turn.sql")

KEY = "askbus-frontend"
"""The header in which a registered front end shows its key."""
A_KEY = "The key of a registered front end, whose instructions count."
CLIENT_THREAD: TypeAdapter[str] = TypeAdapter(ClientThreadId)
"""The name that a front end gives a conversation, where it stands in a path."""
LARGEST_BODY = 8 << 20
"""Bytes of a request: these clients send the whole conversation along, of which the last message is read."""
IDLE = timedelta(days=30)
"""Front ends never say when a conversation ends: it goes when nothing was said in it for so long (O8)."""


class Desk:
    """One for all doors of front ends."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    async def find(self, by: Principal, project_id: UUID, name: str) -> UUID | None:
        """The caller's thread of that name or id. None where they have none, whoever else has. Raises NotFound for the project."""
        by.require(Scope.CHAT)
        row = await FIND_THREAD.row(
            self.gate.pool,
            project_id=project_id,
            name=clean_text(name),
            id=_uuid(name),
            user_id=by.user_id,
            workspace_id=by.workspace_id,
            projects=None if by.projects is None else list(by.projects),
        )
        if row is None:
            raise NotFound("There is no such project.")
        found: UUID | None = row["id"]
        return found

    async def thread(self, by: Principal, project_id: UUID, name: str) -> UUID:
        """The same, begun where there is none."""
        found = await self.find(by, project_id, name)
        if found is not None:
            return found
        command = CreateThread(
            command_id=uuid4(), by=by, thread_id=new_id(), project_id=project_id, client_id=name, idle_limit=IDLE
        )
        try:
            return (await self.gate.commands.ask(command)).id
        except Conflict:  # another request of the same front end was first
            found = await self.find(by, project_id, name)
            if found is None:
                raise Unavailable("This conversation has just ended and is being removed. Try again.") from None
            return found

    async def instructions(self, request: Request, by: Principal, given: str | None) -> str | None:
        """What of a front end's instructions counts: all, if it shows a key that the workspace registered, or nothing.

        Raises PermissionDenied for a key that is not registered there.
        """
        key = request.headers.get(KEY)
        if key is None:
            return None
        if not await frontends.is_registered(self.gate.pool, by, key):
            raise PermissionDenied(
                "This front end is not registered in your workspace. An operator can: askbus frontend register."
            )
        return given

    async def send(
        self,
        by: Principal,
        thread_id: UUID,
        message: NewMessage,
        *,
        context: Sequence[Context],
        instructions: str | None,
    ) -> tuple[Turn, bool]:
        """The message's turn, and whether it is new. Raises InvalidInput for what is no message."""
        turn_id = new_id()
        try:
            command = StartTurn(
                command_id=uuid4(),
                by=by,
                turn_id=turn_id,
                thread_id=thread_id,
                client_message_id=message.id or str(uuid4()),
                text=message.text,
                attachments=message.attachments,
                context=tuple(context),
                instructions=instructions,
            )
        except ValidationError as error:
            raise invalid(error) from None
        await self.gate.limits.take(Limited.CHAT, by)
        turn = await self.gate.commands.ask(command)
        return turn, turn.id == turn_id

    async def at_work(self, by: Principal, thread_id: UUID) -> TurnDetail | None:
        """The thread's turn that is not over, the first of them."""
        rows = await self._open(by, thread_id)
        return await turns.get(self.gate.pool, by, rows[0]["id"]) if rows else None

    async def latest(self, by: Principal, thread_id: UUID) -> TurnDetail | None:
        """The thread's turn at work, or its last one."""
        row = await LATEST_TURN.row(self.gate.pool, thread_id=thread_id, user_id=by.user_id)
        return None if row is None else await turns.get(self.gate.pool, by, row["id"])

    async def stop(self, by: Principal, project_id: UUID, name: str) -> None:
        """Stops what is at work in the thread of this name and what waits there, the last first, so that nothing begins in between; nothing
        where there is no such thread."""
        thread_id = await self.find(by, project_id, name)
        if thread_id is None:
            return
        for row in reversed(await self._open(by, thread_id)):
            try:
                await self.gate.commands.ask(CancelTurn(command_id=uuid4(), by=by, turn_id=row["id"]))
            except Conflict:
                continue  # it is over already

    async def _open(self, by: Principal, thread_id: UUID) -> Sequence[Row]:
        return await OPEN_TURNS.rows(self.gate.pool, thread_id=thread_id, user_id=by.user_id)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None

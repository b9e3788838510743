"""Who writes which table of attachments, and how they end."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from uuid import UUID

import pytest

from askbus.attachments import reads, verbs
from askbus.attachments.model import Found, Upload
from askbus.bus.envelope import Service
from askbus.db.ids import new_id
from askbus.db.pool import Pool, open_pool
from askbus.errors import Conflict, NotFound
from askbus.testing.people import Company
from askbus.testing.servers import TestDatabase
from askbus.testing.turns import RunningTurn, request_call, running_turn

pytestmark = pytest.mark.requirement("C14", "I7")

Roles = dict[Service, Pool]


@pytest.fixture
async def roles(database: TestDatabase) -> AsyncIterator[Roles]:
    """A connection as each of the services that write."""
    async with AsyncExitStack() as stack:
        yield {
            service: await stack.enter_async_context(open_pool(database.role_url(service), size=1, name=service.value))
            for service in (Service.GATEWAY, Service.AGENT_LOOP, Service.TOOL_RUNNER)
        }


async def uploaded(roles: Roles, turn: RunningTurn) -> UUID:
    given = Upload(
        id=new_id(),
        command_id=new_id(),
        project_id=turn.project_id,
        name="notes.txt",
        found=Found("text/plain", "utf-8", has_text=True),
        content=b"hello",
    )
    return (await verbs.upload(roles[Service.GATEWAY], turn.person.principal, given)).id


async def painted(roles: Roles, call_id: UUID) -> UUID:
    made = await verbs.keep_picture(
        roles[Service.TOOL_RUNNER], call_id, media_type="image/png", name="dot.png", content=b"dot", model="painter"
    )
    return made.id


async def test_a_file_and_a_picture_of_a_thread_read_alike_and_end_with_their_project(
    pool: Pool, roles: Roles, turn: RunningTurn
) -> None:
    """Each service does its part with its own rights; a second run of the call finds the first one's picture."""
    file_id = await uploaded(roles, turn)
    await verbs.attach(roles[Service.AGENT_LOOP], turn.thread_id, [file_id])
    call_id = await request_call(pool, turn, "generate_image")
    assert await painted(roles, call_id) == await painted(roles, call_id) == call_id
    shown = await reads.of_thread(roles[Service.TOOL_RUNNER], turn.thread_id, turn.person.id)
    assert {file.id: file.name for file in shown} == {file_id: "notes.txt", call_id: "dot.png"}
    assert await reads.content(pool, call_id) == b"dot"
    await pool.execute("DELETE FROM projects WHERE id = $1", turn.project_id)
    for table in ("attachments", "attachment_contents", "thread_attachments", "pictures"):
        assert await pool.fetchval(f"SELECT count(*) FROM {table}") == 0, table


async def test_a_file_goes_to_one_thread(pool: Pool, company: Company, roles: Roles, turn: RunningTurn) -> None:
    """Again to the same one is nothing new; to another it is refused, and the first one keeps it."""
    other, hers = await running_turn(pool, company), await running_turn(pool, company, "max")
    file_id = await uploaded(roles, turn)
    for _ in range(2):
        await verbs.attach(roles[Service.AGENT_LOOP], turn.thread_id, [file_id, file_id])
    with pytest.raises(Conflict):
        await verbs.attach(roles[Service.AGENT_LOOP], other.thread_id, [file_id])
    with pytest.raises(NotFound):
        await verbs.attach(roles[Service.AGENT_LOOP], hers.thread_id, [file_id])
    assert await pool.fetchval("SELECT thread_id FROM thread_attachments") == turn.thread_id


async def test_a_picture_of_a_call_that_is_gone_is_not_kept(pool: Pool, roles: Roles, turn: RunningTurn) -> None:
    """The conversation was deleted while it was made."""
    with pytest.raises(NotFound):
        await painted(roles, new_id())

"""A turn's stream where the row and the pieces, which travel on two ways, arrive in any order."""

from collections.abc import AsyncIterator
from time import monotonic
from uuid import uuid4

import pytest

from askbus.actions import verbs as actions
from askbus.bus.connection import Connection, connect
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.bus.signals import Piece, publish_piece
from askbus.db.pool import Pool
from askbus.testing.actions import prepared_action, propose_command
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.streams import events
from askbus.testing.turns import RunningTurn, cancel_turn, running_turn
from askbus_gateway.app import make_app as make_gateway
from askbus_gateway.sse.turns import LAST_WORDS


@pytest.fixture
async def gateway(database: TestDatabase, nats_server: Server, company: Company) -> AsyncIterator[Composed]:
    """The gateway alone: the test is the agent-loop."""
    await provision(nats_server.url, ack_wait=1)
    async with compose(database, nats_server.url, [(Service.GATEWAY, make_gateway)]) as running:
        yield running


@pytest.fixture
async def bus(nats_server: Server) -> AsyncIterator[Connection]:
    """The worker's own connection."""
    nc = await connect(nats_server.url, "worker")
    yield nc
    await nc.close()


async def tell(bus: Connection, turn: RunningTurn, *pieces: tuple[str, str]) -> None:
    for number, data in pieces:
        await publish_piece(bus, turn.id, Piece(number, data.encode()))


@pytest.mark.requirement("C1")
async def test_the_last_steps_text_comes_before_the_end_also_where_the_row_was_faster(
    gateway: Composed, company: Company, pool: Pool, bus: Connection
) -> None:
    """The first step's last piece was seen long ago; that the turn is over says nothing of the second step's pieces."""
    turn = await running_turn(pool, company)
    seen = []
    async with (
        gateway.client(company["mia"]) as mia,
        mia.stream("GET", f"/v1/turns/{turn.id}/events") as response,
    ):
        async for event in events(response):
            seen.append(event.name)
            if event.name == "turn" and event.data["state"] == "running":
                await tell(bus, turn, ("1.1.1", '{"type":"step"}'), ("1.1.2", '{"type":"end"}'))
            elif event.name == "end":
                await pool.execute(
                    "UPDATE turns SET state = 'completed', settled_at = now(), step = 4, attempt = 2 WHERE id = $1", turn.id
                )
            elif event.name == "turn":
                await tell(bus, turn, ("3.2.1", '{"type":"delta","text":"Hello."}'), ("3.2.2", '{"type":"end"}'))
    assert seen == ["turn", "step", "end", "turn", "delta", "end", "done"]


@pytest.mark.requirement("C5")
async def test_a_stopped_models_last_words_come_before_the_end(
    gateway: Composed, company: Company, pool: Pool, bus: Connection
) -> None:
    """The turn is cancelled at once; what the model had said until then is told a moment later."""
    turn = await running_turn(pool, company)
    await pool.execute("UPDATE turns SET step = 1, attempt = 1 WHERE id = $1", turn.id)
    seen = []
    async with (
        gateway.client(company["mia"]) as mia,
        mia.stream("GET", f"/v1/turns/{turn.id}/events") as response,
    ):
        async for event in events(response):
            seen.append(event.name)
            if event.name == "turn" and event.data["state"] == "running":
                await cancel_turn(pool, turn)
            elif event.name == "turn":
                await tell(bus, turn, ("1.1.1", '{"type":"delta","text":"Hel"}'), ("1.1.2", '{"type":"cut","why":"stopped"}'))
    assert seen == ["turn", "turn", "delta", "cut", "done"]


async def test_a_turn_stopped_at_its_tools_ends_its_stream_at_once(
    gateway: Composed, company: Company, pool: Pool, bus: Connection
) -> None:
    """No model speaks then, so nothing is waited for."""
    turn = await running_turn(pool, company)
    seen = []
    async with (
        gateway.client(company["mia"]) as mia,
        mia.stream("GET", f"/v1/turns/{turn.id}/events") as response,
    ):
        async for event in events(response):
            seen.append((event.name, monotonic()))
            if event.name == "turn" and event.data["state"] == "running":
                await tell(bus, turn, ("1.1.1", '{"type":"end"}'))
            elif event.name == "end":
                await pool.execute("UPDATE turns SET attempt = 1 WHERE id = $1", turn.id)
                await cancel_turn(pool, turn)
    names, moments = zip(*seen, strict=True)
    assert names == ("turn", "end", "turn", "done")
    assert moments[3] - moments[2] < LAST_WORDS


@pytest.mark.requirement("C25")
async def test_a_stream_opened_right_after_the_end_has_the_last_piece_too(
    gateway: Composed, company: Company, pool: Pool, bus: Connection
) -> None:
    """The row is there, the text is stored, and the worker is just about to say that this was all."""
    turn = await running_turn(pool, company)
    await tell(bus, turn, ("3.2.1", '{"type":"step"}'), ("3.2.2", '{"type":"delta","text":"Hello."}'))
    await bus.flush()
    await pool.execute("UPDATE turns SET state = 'completed', settled_at = now(), step = 4, attempt = 2 WHERE id = $1", turn.id)
    seen = []
    async with (
        gateway.client(company["mia"]) as mia,
        mia.stream("GET", f"/v1/turns/{turn.id}/events") as response,
    ):
        async for event in events(response):
            seen.append(event.name)
            if event.name == "delta":
                await tell(bus, turn, ("3.2.3", '{"type":"end"}'))
    assert seen == ["step", "delta", "end", "done"]


@pytest.mark.requirement("R9")
async def test_a_proposal_shows_on_the_stream_while_its_turn_goes_on(gateway: Composed, company: Company, pool: Pool) -> None:
    """The moment it is made, and before its tool is done."""
    turn = await running_turn(pool, company)
    command = propose_command(turn.person.principal, company.north).model_copy(
        update={"thread_id": turn.thread_id, "turn_id": turn.id, "call_id": uuid4()}
    )
    shown = []
    async with (
        gateway.client(company["mia"]) as mia,
        mia.stream("GET", f"/v1/turns/{turn.id}/events") as response,
    ):
        async for event in events(response):
            shown.append(event.data["actions"])
            if len(shown) == 2:
                break
            await actions.propose(pool, command, prepared_action(), trace=None)
    assert shown == [[], [str(command.action_id)]]


@pytest.mark.parametrize(
    ("pieces", "end"),
    [
        (("1.1.1", "2.2.1"), "UPDATE turns SET state = 'completed', settled_at = now(), step = 3, attempt = 2 WHERE id = $1"),
        (
            ("1.1.1", "2.2.1"),
            "UPDATE turns SET state = 'cancelled', cancel_reason = 'stopped', settled_at = now(), step = 3 WHERE id = $1",
        ),
    ],
    ids=["answered", "stopped at its tools"],
)
async def test_a_model_that_was_asked_once_more_delays_no_end(
    gateway: Composed, company: Company, pool: Pool, bus: Connection, pieces: tuple[str, str], end: str
) -> None:
    """Its next step follows its last at once, so the number of a step does not say whose it is."""
    turn = await running_turn(pool, company)
    await pool.execute("UPDATE turns SET attempt = 2 WHERE id = $1", turn.id)
    seen = []
    async with (
        gateway.client(company["mia"]) as mia,
        mia.stream("GET", f"/v1/turns/{turn.id}/events") as response,
    ):
        async for event in events(response):
            seen.append((event.name, monotonic()))
            if len(seen) == 1:
                first, second = pieces
                await tell(
                    bus,
                    turn,
                    (first, '{"type":"end"}'),
                    (f"{second}0", '{"type":"calls","calls":[]}'),
                    (second, '{"type":"end"}'),
                )
            elif len(seen) == 4:
                await pool.execute(end, turn.id)
    assert [name for name, _ in seen] == ["turn", "end", "calls", "end", "turn", "done"]
    assert seen[5][1] - seen[4][1] < LAST_WORDS

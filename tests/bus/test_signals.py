"""Signals: a turn's stream that can be joined and resumed at any moment, and the broadcast that stops a turn."""

import asyncio
from uuid import UUID, uuid4

import pytest

from askbus.bus import signals
from askbus.bus.connection import Connection
from askbus.bus.envelope import Service
from askbus.bus.signals import Piece, TurnStream, on_stop, publish_piece, send_stop
from askbus.bus.streams import TURNS
from askbus.errors import Unavailable
from askbus.testing.bus import Bus
from askbus.testing.waiting import until


@pytest.fixture
async def gateway(bus: Bus) -> Connection:
    """The reader's connection; `nc` is the publisher's."""
    return await bus.connect(Service.GATEWAY)


def pieces(start: int, end: int) -> list[Piece]:
    return [Piece(f"1.1.{number}", str(number).encode()) for number in range(start, end)]


async def publish(nc: Connection, turn: UUID, some: list[Piece]) -> None:
    for piece in some:
        await publish_piece(nc, turn, piece)
    await nc.flush()


async def read(stream: TurnStream, count: int) -> list[Piece]:
    """The next pieces, as many."""
    got: list[Piece] = []
    async with asyncio.timeout(30):
        async for piece in stream:
            got.append(piece)
            if len(got) == count:
                return got
    return got


async def test_a_reader_that_comes_late_gets_the_whole_stream(nc: Connection, gateway: Connection) -> None:
    """First what is stored, then what comes."""
    turn = uuid4()
    await publish(nc, turn, pieces(0, 10))
    async with TurnStream(gateway, turn) as stream:
        await publish(nc, turn, pieces(10, 20))
        assert await read(stream, 20) == pieces(0, 20)
        assert stream.resumed


async def test_joining_while_pieces_come_loses_and_doubles_none(nc: Connection, gateway: Connection) -> None:
    """Many readers join at different moments of one stream; each sees every piece once, in order."""
    turn, count = uuid4(), 1500

    async def write() -> None:
        for start in range(0, count, 5):
            await publish(nc, turn, pieces(start, start + 5))

    async def join(moment: asyncio.Event) -> list[Piece]:
        await moment.wait()
        async with TurnStream(gateway, turn) as stream:
            return await read(stream, count)

    moments = [asyncio.Event() for _ in range(8)]
    readers = [asyncio.create_task(join(moment)) for moment in moments]
    writer = asyncio.create_task(write())
    for number, moment in enumerate(moments):
        await until(lambda number=number: _stored(gateway, number * count // 10))  # type: ignore[misc]
        moment.set()
    await writer
    for reader in readers:
        assert await reader == pieces(0, count)


async def test_what_was_published_just_before_is_not_missed(nc: Connection, gateway: Connection) -> None:
    """The server stores a moment after it delivers: a reader that joins in that moment must not fall between the two."""
    for _ in range(10):
        turn, large = uuid4(), [Piece(piece.id, b"x" * 2000) for piece in pieces(0, 500)]
        await publish(nc, turn, large)
        async with TurnStream(gateway, turn) as stream:
            assert len(stream.stored) == len(large)


async def test_resuming_goes_on_after_the_last_piece_seen(nc: Connection, gateway: Connection) -> None:
    """The client's last id is enough."""
    turn = uuid4()
    await publish(nc, turn, pieces(0, 10))
    async with TurnStream(gateway, turn, after="1.1.6") as stream:
        assert stream.resumed
        assert await read(stream, 3) == pieces(7, 10)


async def test_resuming_from_a_piece_that_is_gone_begins_anew(nc: Connection, gateway: Connection) -> None:
    """The reader is told, so that it can reset what it shows."""
    turn = uuid4()
    await publish(nc, turn, pieces(5, 10))
    async with TurnStream(gateway, turn, after="1.1.2") as stream:
        assert not stream.resumed
        assert await read(stream, 5) == pieces(5, 10)


async def test_a_stream_longer_than_one_batch_is_read_whole(nc: Connection, gateway: Connection) -> None:
    """The server hands it out in batches."""
    turn, count = uuid4(), 2 * signals.BATCH + 7
    await publish(nc, turn, pieces(0, count))
    async with TurnStream(gateway, turn) as stream:
        assert await read(stream, count) == pieces(0, count)


async def test_streams_of_two_turns_do_not_mix(nc: Connection, gateway: Connection) -> None:
    """One's pieces are not the other's."""
    mine, other = uuid4(), uuid4()
    await publish(nc, other, pieces(0, 3))
    async with TurnStream(gateway, mine) as stream:
        await publish(nc, other, pieces(3, 6))
        await publish(nc, mine, pieces(10, 12))
        assert await read(stream, 2) == pieces(10, 12)


async def test_a_reader_that_is_too_slow_is_ended(nc: Connection, gateway: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes back with its id; silently dropping pieces would leave a hole in the text."""
    monkeypatch.setattr(signals, "BEHIND", 10)
    turn = uuid4()
    async with TurnStream(gateway, turn) as stream:
        await publish(nc, turn, pieces(0, 20))
        await gateway.flush()
        with pytest.raises(Unavailable):
            await read(stream, 20)


async def test_a_reader_whose_connection_was_lost_is_ended(bus: Bus, gateway: Connection) -> None:
    """What was published meanwhile did not reach it."""
    async with TurnStream(gateway, uuid4()) as stream:
        reading = asyncio.create_task(read(stream, 1))
        await bus.nats.kill()
        await bus.nats.start()
        with pytest.raises(Unavailable):
            await reading


async def test_without_the_stream_reading_is_unavailable(nc: Connection, gateway: Connection) -> None:
    """The reader is told at once."""
    await nc.jsm().delete_stream(TURNS)
    with pytest.raises(Unavailable):
        async with TurnStream(gateway, uuid4()):
            pass


async def test_a_stop_reaches_every_worker(bus: Bus, nc: Connection, gateway: Connection) -> None:
    """One of them works on the turn; what is no turn's id stops nobody."""
    stopped: list[tuple[int, UUID]] = []
    for number, worker in enumerate([nc, await bus.connect(Service.AGENT_LOOP)]):
        await on_stop(worker, lambda turn, number=number: stopped.append((number, turn)))  # type: ignore[misc]
    turn = uuid4()
    await gateway.publish("sig.stop.no-turn", b"")
    await send_stop(gateway, turn)

    async def both() -> bool:
        return len(stopped) == 2

    await until(both)
    assert sorted(stopped) == [(0, turn), (1, turn)]


async def _stored(nc: Connection, count: int) -> bool:
    return (await nc.jsm().stream_info(TURNS)).state.messages >= count

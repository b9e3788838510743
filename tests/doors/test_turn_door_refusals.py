"""The two doors of turns that answer with a stream: what goes wrong before it begins is an error like every other door's."""

import asyncpg
import pytest

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.testing.composed import compose
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway.app import make_app as make_gateway
from askbus_gateway.http.gate import Gate

SOME_ID = "01a22c6f-33c7-72c8-808b-1e9644e5c2f7"


@pytest.mark.parametrize(
    ("trouble", "status", "code"),
    [
        pytest.param(asyncpg.CannotConnectNowError("starting up"), 503, "unavailable", id="Postgres is away"),
        pytest.param(RuntimeError("a defect"), 500, "internal", id="a defect of ours"),
    ],
)
async def test_trouble_before_the_stream_is_an_error_of_the_usual_shape(
    database: TestDatabase,
    nats_server: Server,
    company: Company,
    monkeypatch: pytest.MonkeyPatch,
    trouble: Exception,
    status: int,
    code: str,
) -> None:
    """Whoever asks for a stream is told like everybody whether it is worth while to come back, and no word of the cause."""

    async def fails(*_args: object) -> None:
        raise trouble

    await provision(nats_server.url, ack_wait=1)
    async with compose(database, nats_server.url, [(Service.GATEWAY, make_gateway)]) as running:
        monkeypatch.setattr(Gate, "principal", fails)
        async with running.client(company["mia"]) as mia:
            accept = {"accept": "text/event-stream"}
            started = await mia.post(f"/v1/threads/{SOME_ID}/turns", json={"text": "hello"}, headers=accept)
            followed = await mia.get(f"/v1/turns/{SOME_ID}/events", headers=accept)
    for answer in (started, followed):
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert str(trouble) not in answer.text

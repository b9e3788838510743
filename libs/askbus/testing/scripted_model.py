"""A model that is a script: a process that speaks the wires of OpenAI and Anthropic and says what its script says.

    python -m askbus.testing.scripted_model --port 8181 --script demo.json

It prints its base URL as the first line of its output. Tests steer and watch it over HTTP beside the wire:

| request                            | answer                                                                            |
| ---------------------------------- | --------------------------------------------------------------------------------- |
| GET /control/requests              | the requests it saw, oldest first, each with its state                            |
| GET /control/until?state=…&count=… | the same, once so many requests have been in that state; 408 after `timeout` s    |
| POST /control/release {"name": …}  | opens that `hold`: whatever waits at it goes on, and so does what comes later      |

Whoever shares a model with others gives each hold a name of its own, as `{{said}}` does: a request that nobody awaits any more, or a
second attempt at the same step, then takes nothing from anyone.

A request is open, held, finished, cut, refused (an error was asked for) or disconnected (the client left).
"""

import argparse
import asyncio
import json
import socket
import sys
from collections import defaultdict, deque
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import parse_qs

import uvicorn
import uvloop
from pydantic import BaseModel, JsonValue
from starlette.types import Receive, Scope, Send

from askbus.testing.anthropic_wire import MESSAGES
from askbus.testing.chat_wire import CHAT
from askbus.testing.image_wire import answer_image
from askbus.testing.script import Cue, Script, ScriptError, Step
from askbus.testing.wire import Answer, Wire

State: TypeAlias = Literal["open", "held", "finished", "cut", "refused", "disconnected"]
_REMEMBERED = 1000
_WIRES = (CHAT, MESSAGES)


class SeenRequest(BaseModel):
    """A request, as tests look at it. `states` is where it has been, last the state it is in;
    `connection` is the client's port, the same for requests over one connection."""

    number: int
    connection: int
    authorization: str | None
    body: JsonValue
    states: list[State]
    path: str = ""

    @property
    def state(self) -> State:
        return self.states[-1]


class _Cut(Exception):
    """Leaves the application in the middle of a response, upon which the server drops the connection."""


class _Disconnected(Exception):
    """The client left."""


class ScriptedModelApp:
    """The ASGI application. `api_key` is asked for if it is set."""

    def __init__(self, script: Script, api_key: str | None = None) -> None:
        self._script = script
        self._api_key = api_key
        self._seen: deque[SeenRequest] = deque(maxlen=_REMEMBERED)
        self._count = 0
        self._asked: defaultdict[tuple[int, int], int] = defaultdict(int)
        self._holds: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._changed = asyncio.Condition()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path, method = scope["path"], scope["method"]
        wire = next((wire for wire in _WIRES if path.endswith(wire.path)), None)
        if method == "POST" and wire is not None:
            await self._answer(wire, scope, receive, send)
        elif method == "POST" and path.endswith("/images/generations"):
            await self._image(scope, receive, send)
        elif method == "GET" and path == "/control/requests":
            await _respond(send, 200, self._requests())
        elif method == "GET" and path == "/control/until":
            await self._until(scope, send)
        elif method == "POST" and path == "/control/release":
            self._holds[json.loads(await _body(receive))["name"]].set()
            await _respond(send, 200, b"{}")
        else:
            await _respond(send, 404, CHAT.error(404, "no such path"))

    async def _image(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = await _body(receive)
        status, answer = answer_image(raw)
        self._count += 1
        seen = SeenRequest(
            number=self._count, connection=0, authorization=None, body=json.loads(raw), states=[], path=scope["path"]
        )
        self._seen.append(seen)
        await _respond(send, status, answer)
        await self._move(seen, "finished" if status == 200 else "refused")

    async def _answer(self, wire: Wire, scope: Scope, receive: Receive, send: Send) -> None:
        raw = await _body(receive)
        body = json.loads(raw)
        authorization = next((value.decode() for name, value in scope["headers"] if name == b"authorization"), None)
        self._count += 1
        port = (scope.get("client") or ("", 0))[1]
        seen = SeenRequest.model_construct(number=self._count, connection=port, authorization=authorization, body=body, states=[])
        self._seen.append(seen)
        await self._move(seen, "open")
        if self._api_key is not None and authorization != f"Bearer {self._api_key}":
            await self._refuse(seen, send, 401, wire.error(401, "invalid_api_key: not the key of this endpoint"))
            return
        asked = wire.asked(body)
        try:
            step = self._with_faults(self._script.cue(asked.messages))
        except ScriptError as error:
            await self._refuse(seen, send, 400, wire.error(400, f"scripted model: {error}"))
            return
        if step.error_status is not None:
            refusal = wire.error(step.error_status, step.error_message)
            await self._refuse(seen, send, step.error_status, refusal, step.retry_after)
        elif asked.stream:
            await self._stream(seen, step, wire.stream_of(step, len(raw), asked.usage), receive, send)
        else:
            await _respond(send, 200, wire.body_of(step, len(raw)))
            await self._move(seen, "finished")

    def _with_faults(self, cue: Cue) -> Step:
        """The step, without its faults once they have happened often enough."""
        self._asked[cue.key] += 1
        spent = cue.step.times is not None and self._asked[cue.key] > cue.step.times
        return cue.step.without_faults() if spent else cue.step

    async def _stream(self, seen: SeenRequest, step: Step, answer: Answer, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await _write(send, answer.opening)
        try:
            if step.delay_ms or step.hold is not None or step.hang is not None or step.cut is not None:
                await self._perform(seen, step, answer, receive, send)
            else:
                for piece in answer.pieces:
                    await _write(send, piece)
        except _Disconnected:
            await self._move(seen, "disconnected")
            return
        for event in answer.ending:
            await _write(send, event)
        await send({"type": "http.response.body", "body": b""})
        await self._move(seen, "finished")

    async def _perform(self, seen: SeenRequest, step: Step, answer: Answer, receive: Receive, send: Send) -> None:
        """The pieces, with what the script does to them before each and after the last. Raises _Disconnected or _Cut."""
        gone = asyncio.create_task(_disconnect(receive))
        try:
            for at in range(len(answer.pieces) + 1):
                if step.hold is not None and step.hold_after == at:
                    await self._move(seen, "held")
                    await _unless(gone, self._holds[step.hold].wait())
                    await self._move(seen, "open")
                if step.cut == at:
                    await self._move(seen, "cut")
                    raise _Cut
                if step.hang == at:
                    await _unless(gone, asyncio.Event().wait())
                if at < len(answer.pieces):
                    await _unless(gone, asyncio.sleep(step.delay_ms / 1000))
                    await _write(send, answer.pieces[at])
        finally:
            gone.cancel()

    async def _refuse(self, seen: SeenRequest, send: Send, status: int, body: bytes, retry_after: float | None = None) -> None:
        headers = [(b"retry-after", f"{retry_after:g}".encode())] if retry_after is not None else []
        await _respond(send, status, body, headers)
        await self._move(seen, "refused")

    async def _move(self, seen: SeenRequest, state: State) -> None:
        seen.states.append(state)
        async with self._changed:
            self._changed.notify_all()

    def _requests(self) -> bytes:
        return json.dumps([seen.model_dump() for seen in self._seen]).encode()

    async def _until(self, scope: Scope, send: Send) -> None:
        query = {name: values[-1] for name, values in parse_qs(scope["query_string"].decode()).items()}
        state, count = query.get("state", "finished"), int(query.get("count", "1"))

        def reached() -> bool:
            return sum(state in seen.states for seen in self._seen) >= count

        try:
            async with asyncio.timeout(float(query.get("timeout", "10"))), self._changed:
                await self._changed.wait_for(reached)
        except TimeoutError:
            await _respond(send, 408, self._requests())
            return
        await _respond(send, 200, self._requests())


async def _unless(gone: asyncio.Task[None], waiting: Awaitable[object]) -> None:
    """Wait for `waiting`, but not past the client's leaving. Raises _Disconnected."""
    waiter = asyncio.ensure_future(waiting)
    await asyncio.wait({gone, waiter}, return_when=asyncio.FIRST_COMPLETED)
    if not waiter.done():
        waiter.cancel()
        raise _Disconnected


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(receive: Receive) -> bytes:
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def _write(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _respond(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    length = (b"content-length", str(len(body)).encode())
    all_headers = [(b"content-type", b"application/json"), length, *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})


async def serve(app: ScriptedModelApp, listener: socket.socket, *, until_stdin_closes: bool = False) -> None:
    """Serve until told to stop; with `until_stdin_closes` also until the parent, which holds the other end, is gone."""
    config = uvicorn.Config(
        app, http="httptools", lifespan="off", log_level="critical", access_log=False, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    watch = asyncio.create_task(_stop_at_end_of_stdin(server)) if until_stdin_closes else None
    await server.serve(sockets=[listener])
    if watch is not None:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch


async def _stop_at_end_of_stdin(server: uvicorn.Server) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    server.should_exit = True


def main() -> None:
    """Listen, say where, serve."""
    parser = argparse.ArgumentParser(description="A model that is a script.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--script", type=Path, action="append", required=True, help="may be given several times; first entry that fits"
    )
    parser.add_argument("--api-key", help="refuse other keys with 401")
    parser.add_argument("--until-stdin-closes", action="store_true", help="end with the parent process")
    options = parser.parse_args()
    app = ScriptedModelApp(Script.load(*options.script), options.api_key)
    listener = socket.create_server((options.host, options.port))
    sys.stdout.write(f"http://{options.host}:{listener.getsockname()[1]}/v1\n")
    sys.stdout.flush()
    uvloop.run(serve(app, listener, until_stdin_closes=options.until_stdin_closes))


if __name__ == "__main__":
    main()

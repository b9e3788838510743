"""A stand-in for a service in tests of the supervisor: it answers /readyz, and writes down how it was started and ended."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path


async def main() -> None:
    """Serves until SIGTERM; the only argument is the file that tells of each start and end, one JSON object a line."""
    diary = Path(sys.argv[1])

    def note(event: str) -> None:
        settings = {name: value for name, value in os.environ.items() if name.startswith("ASKBUS_")}
        with diary.open("a") as file:
            file.write(json.dumps({"event": event, "pid": os.getpid(), "settings": settings}) + "\n")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    note("start")
    if os.environ.get("ASKBUS_CRASH_AT"):
        os._exit(137)
    port = int(os.environ.get("ASKBUS_HEALTH_PORT") or os.environ["ASKBUS_HTTP_PORT"])
    async with await asyncio.start_server(answer, "127.0.0.1", port):
        await stop.wait()
    note("drained")


asyncio.run(main())

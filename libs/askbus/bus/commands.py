"""Asking an owner: typed request, typed reply or typed error, over core NATS request/reply."""

import asyncio
from functools import cache
from typing import Any, TypeVar

import nats.errors
from opentelemetry.trace import SpanKind
from pydantic import BaseModel, ValidationError, create_model

from askbus.bus.connection import Connection
from askbus.bus.envelope import Command
from askbus.errors import AskbusError, ErrorBody, Internal, TimedOut, TooLarge, Unavailable
from askbus.runtime import crash, telemetry

R = TypeVar("R", bound=BaseModel)


PAUSE = 0.05


class Absent(Unavailable):
    """Nobody has received the command."""


class Commands:
    """The way to every owner. `timeout` in seconds; `patience`, too: how long an owner that is not there may take to come (back)."""

    def __init__(self, nc: Connection, timeout: float = 5, patience: float = 2) -> None:
        self._nc = nc
        self._timeout = timeout
        self._patience = patience

    async def ask(self, command: Command[R], timeout: float | None = None) -> R:
        """Sends the command and returns what the owner made of it.

        Raises the owner's refusal as it raised it; Unavailable when no owner came in time, so that nothing happened; TimedOut when none
        answered in time: then it may have happened, and the same command may be sent again.
        """
        timeout = self._timeout if timeout is None else timeout
        with telemetry.span(type(command).__name__, kind=SpanKind.CLIENT, subject=command.subject()):
            telemetry.mark(command)
            result = await self._ask_patiently(command, timeout)
        if isinstance(result, AskbusError):
            raise result
        return result

    async def _ask_patiently(self, command: Command[R], timeout: float) -> R | AskbusError:
        """A command that reached nobody is sent again for a while: services and NATS restart, and come back in any order."""
        clock = asyncio.get_running_loop().time
        until = clock() + min(self._patience, timeout)
        while True:
            result = await self._ask(command, timeout)
            if not isinstance(result, Absent) or clock() >= until:
                return result
            await asyncio.sleep(PAUSE)

    async def _ask(self, command: Command[R], timeout: float) -> R | AskbusError:
        owner, verb = command.owner.value, type(command).__name__
        trace = telemetry.traceparent()
        if not self._nc.is_connected:
            return Absent("The message bus is not reachable right now. Try again.")
        crash.point(f"command.{verb}.before_send")
        try:
            reply = await self._nc.request(
                command.subject(),
                command.model_dump_json().encode(),
                timeout=timeout,
                headers={"traceparent": trace} if trace else None,
            )
        except nats.errors.NoRespondersError:
            return Absent(f"No {owner} is running. Try again.", {"owner": owner, "command": verb})
        except nats.errors.TimeoutError:
            return TimedOut(f"{owner} did not answer {verb} in time. Send it again.", {"owner": owner, "command": verb})
        except nats.errors.MaxPayloadError:
            return TooLarge(f"{verb} is too large for one message.")
        except nats.errors.Error as error:
            return Unavailable("The message bus is not reachable right now. Try again.", {"reason": type(error).__name__})
        crash.point(f"command.{verb}.after_reply")
        return _decode(type(command), reply.data)


def _decode(kind: type[Command[R]], data: bytes) -> R | AskbusError:
    ok_type = kind.reply_type()
    try:
        reply = _typed_reply(ok_type).model_validate_json(data)
    except ValidationError:
        return Internal(f"{kind.owner.value} answered {kind.__name__} with something that is no {ok_type.__name__}.")
    error: ErrorBody | None = getattr(reply, "error")  # noqa: B009  # the model is made at run time
    if error is not None:
        return AskbusError.of(error)
    ok: object = getattr(reply, "ok")  # noqa: B009
    if not isinstance(ok, ok_type):
        return Internal(f"{kind.owner.value} answered {kind.__name__} with neither a result nor an error.")
    return ok


@cache
def _typed_reply(ok_type: type[BaseModel]) -> type[BaseModel]:
    """`Reply` with its success typed, so that it is read from JSON in one go: strict models take UUIDs from JSON text alone."""
    optional: Any = ok_type | None
    return create_model(f"{ok_type.__name__}Reply", ok=(optional, None), error=(ErrorBody | None, None))

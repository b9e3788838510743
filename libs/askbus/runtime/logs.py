"""Structured logs: the fact's word, then keys; never content.

What an error says may quote values, rows, provider text or keys, and a library's message may quote anything. So an exception is told by its
kind and where it was raised, and of a library's message only the words that stand in its source.
"""

import asyncio
import logging
import sys
from collections.abc import MutableMapping
from types import TracebackType
from typing import Any

import structlog
from opentelemetry import trace

from askbus.bus import faults
from askbus.redaction import redact_value
from askbus.runtime.settings import Settings

log = structlog.get_logger()

Event = MutableMapping[str, Any]

QUOTING = ("pypdf",)
"""Libraries that put what they read into the message itself."""


def _with_trace(_logger: object, _method: str, event: Event) -> Event:
    """Every line names its trace, so that logs and spans are found from each other."""
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = f"{context.trace_id:032x}"
        event["span_id"] = f"{context.span_id:016x}"
    return event


def _without_words(_logger: object, _method: str, event: Event) -> Event:
    """An exception as kind and frames; one given as a value is no other."""
    given = event.pop("exc_info", None)
    event.pop("stack_info", None)
    if given:
        error = given if isinstance(given, BaseException) else given[1] if isinstance(given, tuple) else sys.exception()
        if error is not None:
            event.update(faults.told(error))
    for key, value in event.items():
        if isinstance(value, BaseException):
            event[key] = faults.kind(value)
    return event


def _without_secrets(_logger: object, _method: str, event: Event) -> Event:
    """The last word on each line, whoever wrote it: our own keys may hold what somebody else chose."""
    for key, value in event.items():
        if isinstance(value, str | list | tuple | dict):
            event[key] = redact_value(value)
    return event


def _foreign(_logger: object, _method: str, event: Event) -> Event:
    """A library's message as it stands in its source: of what is put into it, only numbers."""
    record: logging.LogRecord = event["_record"]
    arguments = event.pop("positional_args", ())
    event["logger"] = record.name
    if not isinstance(record.msg, str) or record.name.partition(".")[0] in QUOTING:
        event["event"] = "library.message"
        return event
    try:
        event["event"] = record.msg % _shown(arguments) if arguments else record.msg
    except (TypeError, ValueError, KeyError):  # no template for these: as it stands
        event["event"] = record.msg
    return event


def _shown(arguments: object) -> object:
    if isinstance(arguments, dict):
        return {name: _shown(value) for name, value in arguments.items()}
    if isinstance(arguments, tuple):
        return tuple(_shown(value) for value in arguments)
    return arguments if isinstance(arguments, int | float) else f"<{type(arguments).__name__}>"


def configure(service: str, settings: Settings) -> None:
    """Sets up logging of this process, ours and the libraries', as one stream of JSON lines (or text for people) on stderr; also of what
    ends the process, or a thread of it."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _with_trace,
        _without_words,
        _without_secrets,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if settings.log_format == "json" else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[_foreign, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            use_get_message=False,
            pass_foreign_args=True,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(level, logging.WARNING))
    sys.excepthook = _process_died
    sys.unraisablehook = _unraisable


def _process_died(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if isinstance(error, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)
        return
    log.critical("process.failed", exc_info=error)


def _unraisable(found: "sys.UnraisableHookArgs") -> None:
    log.error("process.unraisable", exc_info=found.exc_value)


def on_loop_exception(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """The event loop's handler of what nobody awaited: asyncio's own prints the exception's words."""
    task: object = context.get("task") or context.get("future")
    what = str(context.get("message", "")).partition(" in callback")[0]
    work = task.get_coro() if isinstance(task, asyncio.Task) else None
    log.error("loop.exception", what=what, work=getattr(work, "__qualname__", None), exc_info=context.get("exception"))

"""Traces: W3C trace context in, OpenTelemetry spans out, to an OTLP collector or a local file."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Link, Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from pydantic import BaseModel

from askbus.redaction import redact_value
from askbus.runtime.settings import Settings

_PROPAGATOR = TraceContextTextMapPropagator()
_tracer = trace.get_tracer("askbus")


class FileExporter(SpanExporter):
    """Appends spans to a file, one JSON object a line; several processes may append to one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        lines = "".join(f"{json.dumps(_as_line(span))}\n" for span in spans)
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write(lines)
        return SpanExportResult.SUCCESS


def _as_line(span: ReadableSpan) -> dict[str, object]:
    context = span.get_span_context()
    return {
        "trace_id": f"{context.trace_id:032x}" if context else "",
        "span_id": f"{context.span_id:016x}" if context else "",
        "parent_id": f"{span.parent.span_id:016x}" if span.parent else None,
        "service": span.resource.attributes.get("service.name"),
        "name": span.name,
        "kind": span.kind.name.lower(),
        "start": span.start_time,
        "end": span.end_time,
        "status": span.status.status_code.name.lower(),
        "attributes": dict(span.attributes or {}),
    }


@contextmanager
def configure(service: str, settings: Settings) -> Iterator[None]:
    """Exports this process's spans for as long as the context lasts, then flushes. Without a target nothing is recorded."""
    if settings.trace_file is None and settings.otlp_endpoint is None:
        yield
        return
    provider = TracerProvider(
        resource=Resource.create({"service.name": f"askbus-{service}"}),
        sampler=ParentBased(TraceIdRatioBased(settings.trace_ratio)),
        shutdown_on_exit=False,
    )
    if settings.trace_file is not None:
        provider.add_span_processor(BatchSpanProcessor(FileExporter(settings.trace_file), schedule_delay_millis=500))
    if settings.otlp_endpoint is not None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  # 90 ms, rarely wanted

        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{settings.otlp_endpoint.rstrip('/')}/v1/traces")))
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        provider.shutdown()


def traceparent() -> str | None:
    """The current span as a W3C `traceparent`, to be stored in a row or sent in a header; None outside a trace."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier.get("traceparent")


def mark(request: BaseModel) -> None:
    """Puts the ids that a request names on the current span: what was asked in one trace is found again in those that went on."""
    current = trace.get_current_span()
    if not current.is_recording():
        return
    for name in type(request).model_fields:
        value = getattr(request, name)
        if isinstance(value, UUID):
            current.set_attribute(name, str(value))


LONGEST_STATE = 512
"""Characters of a `tracestate` that is taken over (W3C Trace Context, section 3.3.1.5: at least so many)."""


def carried_trace(traceparent: object, tracestate: object = None) -> Context | None:
    """The trace that a message carries in itself, by the values of these keys (W3C Trace Context). None where that is no trace."""
    if not isinstance(traceparent, str):
        return None
    carrier = {"traceparent": traceparent}
    if isinstance(tracestate, str) and len(tracestate) <= LONGEST_STATE:
        carrier["tracestate"] = tracestate
    context = _PROPAGATOR.extract(carrier, Context())
    return context if trace.get_current_span(context).get_span_context().is_valid else None


@contextmanager
def span(
    name: str, *, kind: SpanKind = SpanKind.INTERNAL, parent: str | None = None, **attributes: str | int | float
) -> Iterator[Span]:
    """A span around a piece of work. `parent` continues a trace from a header or a row. Ids go in attributes, not in the name.

    An exception that leaves it marks it as an error by kind; its words may hold content and are not recorded.
    """
    context = _PROPAGATOR.extract({"traceparent": parent}) if parent else otel_context.get_current()
    with _span(name, kind, context, attributes) as current:
        yield current


@contextmanager
def span_of_message(name: str, carried: Context, **attributes: str | int | float) -> Iterator[Span]:
    """The same around what a message asks for that carries its trace in itself. The span of what brought it is linked."""
    around = trace.get_current_span().get_span_context()
    with _span(name, SpanKind.SERVER, carried, attributes, [Link(around)] if around.is_valid else []) as current:
        yield current


@contextmanager
def _span(
    name: str, kind: SpanKind, context: Context, attributes: Mapping[str, str | int | float], links: Sequence[Link] = ()
) -> Iterator[Span]:
    with _tracer.start_as_current_span(
        name,
        context=context,
        kind=kind,
        links=links,
        attributes=redact_value(dict(attributes)),
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        try:
            yield current
        except Exception as error:
            current.set_status(StatusCode.ERROR)
            current.set_attribute("error.type", type(error).__name__)
            raise

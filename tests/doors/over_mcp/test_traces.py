"""A call continues the trace that it carries in `_meta`, before the one of its HTTP request, and ignores what is no trace."""

from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.doors.over_mcp.talk import LEGACY, Stage, call

from askbus.runtime import telemetry
from askbus.testing.people import Agent

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CARRIED = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "rojo=1,congo=2"}
HTTP = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """What the services of this process export."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracer", provider.get_tracer("test"))
    return exporter


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name == name]


def trace_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


async def ask_once(stage: Stage, agent: Agent, text: str, *, header: str | None = None, **how: Any) -> str | None:
    """The trace that the question was asked in, by its row."""
    async with stage.running.client(agent) as robot:
        if header is not None:
            robot.headers["traceparent"] = header
        await call(robot, "ask_user_question", {"text": text}, **how)
    row: str | None = await stage.pool.fetchval("SELECT trace FROM questions WHERE text = $1", text)
    return row


@pytest.mark.requirement("M1")
@pytest.mark.parametrize("revision", ["2026-07-28", LEGACY])
async def test_a_call_continues_the_trace_that_it_carries(
    stage: Stage, agent: Agent, spans: InMemorySpanExporter, revision: str
) -> None:
    """The client's span is the parent of the call's and of all that follows, down to the row; what the HTTP request continues is linked."""
    row = await ask_once(stage, agent, f"Traced ({revision})?", header=f"00-{HTTP}-{PARENT}-01", revision=revision, **CARRIED)
    assert row is not None
    assert row.startswith(f"00-{TRACE}-")
    [span] = named(spans, "tools/call ask_user_question")
    [http] = named(spans, "POST /mcp")
    assert span.parent is not None
    assert span.context is not None
    assert (trace_of(span), f"{span.parent.span_id:016x}") == (TRACE, PARENT)
    assert span.context.trace_state.to_header() == CARRIED["tracestate"]
    assert trace_of(http) == HTTP
    assert [link.context for link in span.links] == [http.context]


@pytest.mark.requirement("M1")
@pytest.mark.parametrize(
    "carried",
    ["", 7, None, {}, "00-zz", "a" * 5000, f"00-{'0' * 32}-{PARENT}-01", f"ff-{TRACE}-{PARENT}-01", f"00-{TRACE}-{'0' * 16}-01"],
)
async def test_what_is_no_trace_is_ignored(stage: Stage, agent: Agent, spans: InMemorySpanExporter, carried: Any) -> None:
    """The call succeeds, and goes on in the trace of its HTTP request."""
    text = f"Untraced ({carried!r:.60})?"
    row = await ask_once(stage, agent, text, header=f"00-{HTTP}-{PARENT}-01", traceparent=carried, tracestate="x" * 600)
    assert row is not None
    assert row.startswith(f"00-{HTTP}-")
    assert not named(spans, "tools/call ask_user_question")

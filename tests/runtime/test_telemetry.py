"""Spans: one trace over rows and headers, and no content."""

import json
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from askbus.runtime import telemetry


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """What this test's spans look like to an exporter."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracer", provider.get_tracer("test"))
    return exporter


def test_a_trace_goes_on_from_what_a_row_or_header_holds(spans: InMemorySpanExporter) -> None:
    """The traceparent of one span makes the next one its child, in whichever process."""
    with telemetry.span("first"):
        carried = telemetry.traceparent()
    with telemetry.span("second", parent=carried):
        pass
    first, second = spans.get_finished_spans()
    assert first.context is not None
    assert second.context is not None
    assert second.parent is not None
    assert second.context.trace_id == first.context.trace_id
    assert second.parent.span_id == first.context.span_id


@pytest.mark.parametrize("garbage", ["", "00-zz", "a" * 5000, "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_a_traceparent_that_is_none_begins_a_trace_of_its_own(spans: InMemorySpanExporter, garbage: str) -> None:
    """Headers come from strangers."""
    with telemetry.span("alone", parent=garbage):
        pass
    assert spans.get_finished_spans()[0].parent is None


def test_an_errors_words_are_not_recorded(spans: InMemorySpanExporter) -> None:
    """They may hold what a person wrote; the kind of the error says enough."""

    def fail() -> None:
        with telemetry.span("work"):
            raise ValueError("the customer's secret")

    with pytest.raises(ValueError, match="secret"):
        fail()
    [span] = spans.get_finished_spans()
    assert span.status.status_code.name == "ERROR"
    assert dict(span.attributes or {}) == {"error.type": "ValueError"}
    assert "secret" not in span.to_json()


def test_several_processes_append_whole_lines_to_one_file(spans: InMemorySpanExporter, tmp_path: Path) -> None:
    """`askbus trace` reads the file while it grows."""
    for name in ("one", "two"):
        with telemetry.span(name):
            pass
    path = tmp_path / "spans.jsonl"
    for exporter in (telemetry.FileExporter(path), telemetry.FileExporter(path)):
        exporter.export(spans.get_finished_spans())
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["name"] for line in lines] == ["one", "two", "one", "two"]

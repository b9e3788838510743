"""One turn and what came of it as trees over all services, read from the file in which they keep their spans."""

import asyncio
from collections.abc import Sequence

from askbus.bus.envelope import Service
from askbus.cli.trace import draw, short
from askbus.demo.browser import WITHIN
from askbus.demo.ground import Ground
from askbus.demo.transcript import NotSo
from askbus.runtime.spans import SpanFile, Trace

AT_WORK = {service.value for service in Service} - {Service.EXPIRY.value}
"""Who works on a turn that asks its user and proposes a change."""


async def the_traces_are_whole(ground: Ground, trace_ids: Sequence[str]) -> None:
    """A trace for each thing that the person did, and in it all that followed, each span below the one that caused it."""
    t = ground.transcript
    traces = await _complete(SpanFile(ground.stack.trace_file), trace_ids)
    t.drawing(lambda console: draw(console, traces))
    names = sorted({short(service) for trace in traces for service in trace.services})
    t.holds(set(names) >= AT_WORK, f"every service that had a part is in it: {', '.join(names)}")
    spans = sum(len(trace.spans) for trace in traces)
    t.holds(all(_whole(trace) for trace in traces), f"all {spans} spans hang below the {len(traces)} requests")


async def _complete(file: SpanFile, trace_ids: Sequence[str]) -> Sequence[Trace]:
    """The traces, once the services have written what they hold back for half a second."""
    try:
        async with asyncio.timeout(WITHIN):
            while True:
                traces = file.traces_of(trace_ids)
                names = {short(service) for trace in traces for service in trace.services}
                if len(traces) == len(trace_ids) and names >= AT_WORK and all(_whole(trace) for trace in traces):
                    return traces
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise NotSo(f"the traces {', '.join(trace_ids)} are not complete in {file.path}") from None


def _whole(trace: Trace) -> bool:
    """Whether one span alone has no parent here, and that because it has none: the request itself, not one whose parent is missing."""
    roots = [span for levels, span in trace.tree() if not levels]
    return len(roots) == 1 and roots[0].parent_id is None

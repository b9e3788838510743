"""The reference client's reading of server-sent events, in the browser that runs it."""

import pytest
from tests.browser.visits import Visits

TEXT = (
    ': a comment\n\nretry: 1500\n\nid: 1\nevent: changes\ndata: {"a":\ndata: 1}\n\n'
    'data:2\r\n\r\nevent: empty\n\nid: 3\rdata: "three"\r\rid\ndata: null\n\ndata: 5\nunknown: x\n\ndata: unfinished'
)

EVENTS = [
    {"event": "changes", "data": {"a": 1}, "id": "1"},
    {"event": "message", "data": 2, "id": "1"},
    {"event": "message", "data": "three", "id": "3"},
    {"event": "message", "data": None, "id": ""},
    {"event": "message", "data": 5, "id": ""},
]

READ = """async text => {
    const { EventParser } = await import('/console/stream.js');
    const readings = [];
    for (let cut = 0; cut <= text.length; cut += 1) {
        const parser = new EventParser();
        readings.push({ events: [...parser.take(text.slice(0, cut)), ...parser.take(text.slice(cut))], retry: parser.retry });
    }
    return readings;
}"""


@pytest.mark.requirement("S9")
async def test_events_are_read_alike_wherever_the_network_cuts_them(visit: Visits) -> None:
    """Line ends of every kind, comments, data on several lines, ids that stay (WHATWG, server-sent events, section 9.2.6)."""
    page = await visit(None)
    readings = await page.evaluate(READ, TEXT)
    assert len(readings) == len(TEXT) + 1
    assert [reading for reading in readings if reading != {"events": EVENTS, "retry": 1500}] == []

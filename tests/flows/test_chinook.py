"""The turn half of the demo on a database that nobody here made, in a Postgres cluster of its own."""

import os
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from askbus.demo.chinook import play_chinook
from askbus.demo.transcript import Transcript

SQL = os.environ.get("ASKBUS_CHINOOK_SQL")


@pytest.mark.skipif(SQL is None, reason="set ASKBUS_CHINOOK_SQL to Chinook's Postgres SQL to run this")
@pytest.mark.requirement("R2", "R4", "R9", "R15", "R16", "R17")
async def test_a_figure_and_a_change_on_chinook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest three invoices as one exact decimal from one tool call; an address changed by a confirmed action, and restored."""
    monkeypatch.delenv("ASKBUS_CHINOOK_SQL")
    printed = StringIO()
    await play_chinook(Transcript(Console(file=printed, highlight=False)), tmp_path, Path(SQL or ""))
    for checked in (
        "✓ it took exactly one tool call, query_records",
        "✓ the tool gave one exact decimal, 71.58, which SQL of our own confirms",
        "frantisekw@jetbrains.com → frantiska@wichterlova.example",
        "✓ the whole row is, byte for byte, what it was before",
        "✓ the ledger beside the records holds one apply and one undo",
        "✓ the second Postgres has ended too",
    ):
        assert checked in printed.getvalue()

"""Records as a person reads them: in their own time zone, in the deployment's words, and of their project alone."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue
from tests.doors.tools.stage import APPLIER, RELAY, RUNNER, Stage

from askbus.access import preferences, verbs

PLACED: dict[str, JsonValue] = {"collection": "orders", "fields": ["amount", "placed"], "limit": 1}
MONTHS: dict[str, JsonValue] = {"collection": "orders", "group_by": [{"field": "placed", "unit": "month"}], "limit": 1}


@pytest.mark.requirement("R3", "R23")
async def test_values_are_shown_in_the_persons_zone_and_words(stage: Stage, tmp_path: Path) -> None:
    """The user's zone before the workspace's and the deployment's, their language before the deployment's."""
    path = tmp_path / "records.toml"
    path.write_text('[collections.orders.fields.amount]\ncurrency = "EUR"\n[collections.logins]\nproject = "south"\n', "utf-8")
    async with stage.running(RELAY, RUNNER, APPLIER, records_catalogue=path, locale="de", time_zone="Asia/Tokyo"):
        placed: Any = (await stage.call("query_records", PLACED)).content
        assert placed["display"] == [["1", "100,10\xa0€", "01.01.2026, 09:00:00 JST"]]
        owner = await stage.pool.fetchrow("SELECT user_id, workspace_id FROM turns WHERE id = $1", stage.turn.id)
        assert owner is not None
        await verbs.set_time_zone(stage.pool, owner["workspace_id"], "Europe/Berlin")
        placed = (await stage.call("query_records", PLACED)).content
        assert placed["display"][0][2] == "01.01.2026, 01:00:00 CET"
        await verbs.set_user_time_zone(stage.pool, owner["user_id"], "America/New_York")
        months: Any = (await stage.call("query_records", MONTHS)).content
        assert (months["rows"], months["display"]) == ([["2025-12-01T00:00:00-05:00"]], [["Dez. 2025"]])
        await preferences.set_user_locale(stage.pool, owner["user_id"], "fr")
        months = (await stage.call("query_records", MONTHS)).content
        assert months["display"] == [["déc. 2025"]]
        elsewhere = await stage.call("query_records", {"collection": "logins"})
        assert elsewhere.result is not None
        assert "no collection 'logins'" in elsewhere.result.text()

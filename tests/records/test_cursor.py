"""Pages by cursor: every record once, whatever comes and goes meanwhile."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable

import pytest

from askbus.access.model import Principal
from askbus.errors import InvalidInput
from askbus.records.engine import Records
from askbus.records.model import QueryPlan, Rows
from askbus.records.query import query
from askbus.testing.records import TeamDatabase

pytestmark = pytest.mark.requirement("R2", "R3")

Ask = Callable[..., Awaitable[Rows]]


async def test_pages_by_cursor_hold_every_record_once(team: TeamDatabase, records: Records, member: Principal) -> None:
    """In any order, with ties and missing values, by two columns of a key; the pages together are the whole."""
    await team.run(
        "CREATE TABLE r (a int, b text, day date, word text, ratio float8, raw bytea, tags text[], price money, pa int, pb text, "
        "PRIMARY KEY (a, b), CONSTRAINT parent FOREIGN KEY (pa, pb) REFERENCES r)",
        "INSERT INTO r SELECT n / 3, chr(97 + n % 3), CASE WHEN n % 4 > 0 THEN date '2026-01-01' + n % 4 END, "
        "(ARRAY['x', 'É', NULL, ''])[1 + n % 4], (ARRAY['NaN', '0.1', '-Infinity', NULL]::float8[])[1 + n % 4], "
        "decode(lpad(n::text, 2, '0'), 'hex'), ARRAY[n::text, NULL], n * 1.25, CASE WHEN n > 3 THEN 0 END, "
        "CASE WHEN n > 3 THEN chr(97 + n % 3) END FROM generate_series(0, 16) AS n",
    )
    for order in (
        [],
        [{"field": "day"}],
        [{"field": "day", "direction": "desc"}],
        [{"field": "word", "direction": "desc"}, {"field": "day"}],
        [{"field": "ratio"}, {"field": "raw", "direction": "desc"}],
        [{"field": "parent.word"}, {"field": "tags"}],
        [{"field": "price", "direction": "desc"}],
    ):
        asked = {"collection": "r", "order_by": order, "fields": ["a"]}
        whole = (await query(records, member, QueryPlan.model_validate(asked))).rows
        page = await query(records, member, QueryPlan.model_validate({**asked, "limit": 4}))
        seen = list(page.rows)
        while page.next_cursor is not None and len(seen) < 20:
            page = await query(records, member, QueryPlan.model_validate({**asked, "limit": 4, "cursor": page.next_cursor}))
            assert (page.total, page.next_offset, "Rows before the cursor are not here." in page.cut) == (17, None, True)
            seen += page.rows
        assert (len(whole), seen) == (17, list(whole))


async def test_a_cursor_loses_nothing_to_what_comes_and_goes(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """Where an offset would skip a record when one before it is deleted."""
    first = await query(records, member, QueryPlan(collection="orders", fields=("id",), limit=2))
    await shop.run("DELETE FROM orders WHERE id = 1")
    assert first.next_cursor is not None
    plan = QueryPlan(collection="orders", fields=("stage",), limit=1, cursor=first.next_cursor)
    following = await query(records, member, plan)
    assert (following.rows, following.total) == (((3, "won"),), 3)
    assert following.cut[0] == "1 of 3 rows are here (the limit); go on with next_cursor."


async def test_a_cursor_of_another_query_is_refused(ask: Ask) -> None:
    """So is one that was made up; its values are bound, whatever they are."""
    page = await ask("orders", limit=1)
    assert page.next_cursor is not None
    with pytest.raises(InvalidInput, match="not one of this query's"):
        await ask("orders", cursor=page.next_cursor, where={"field": "stage", "value": "won"})
    for made_up in ("x", "é", "bnVsbA", "e30"):
        with pytest.raises(InvalidInput, match="not one of this query's"):
            await ask("orders", cursor=made_up)
    mark, _ = json.loads(urlsafe_b64decode(page.next_cursor + "=="))
    for value in ("1 OR 1=1", "'; DROP TABLE lines; --"):
        forged = urlsafe_b64encode(json.dumps([mark, value]).encode()).decode()
        with pytest.raises(InvalidInput, match="refused this read"):
            await ask("orders", cursor=forged)


async def test_a_result_that_must_fit_ends_with_a_cursor_that_fits(kept_records: Records, member: Principal) -> None:
    """The cursor names the last row that is here, not the last that was read."""
    plan = QueryPlan(collection="orders")
    most = len((await query(kept_records, member, plan)).model_dump_json()) - 1
    first = await query(kept_records, member, plan, most_bytes=most)
    assert (first.total, first.next_offset) == (4, len(first.rows))
    assert 0 < len(first.rows) < 4
    assert first.next_cursor is not None
    assert len(first.model_dump_json()) <= most
    rest = await query(kept_records, member, plan.model_copy(update={"cursor": first.next_cursor}))
    assert [row[0] for row in (*first.rows, *rest.rows)] == [1, 2, 3, 4]

"""Read, match and propose, over a file of many rows."""

import pytest
from tests.doors.files.stage import AT_ONCE, ROWS, Chat

from askbus.testing.files import csv_text
from askbus.testing.waiting import until


@pytest.mark.requirement("C31", "C4")
async def test_five_hundred_rows_are_read_matched_and_proposed_within_the_budgets(chat: Chat) -> None:
    """Read once, looked up by two hundred names, proposed by a hundred changes; nothing is cut, and every row is right."""
    await chat.shop.run(
        f"INSERT INTO customers (name, country) SELECT 'Müller & Söhne ' || n, 'XX' FROM generate_series(1, {ROWS}) n"
    )
    rows = [(f"mueller & soehne {n}".replace("ue", "u").replace("oe", "o"), f"C{n % 50}", f"{n},50") for n in range(1, ROWS + 1)]
    file_id = await chat.upload(csv_text(("name", "country", "amount"), rows, ";"), "customers.csv")
    done = await chat.say(await chat.thread(), "match the list", file_id)
    assert (done["state"], done["answer"]) == ("completed", f"Proposed for {ROWS} rows."), done
    assert done["model_calls"] <= 24
    runs = "SELECT c.name, r.result FROM tool_runs r JOIN tool_calls c USING (id) WHERE r.turn_id = $1"
    results = await chat.pool.fetch(runs, done["id"])
    assert {row["name"]: row["result"]["ok"] and not row["result"]["cut"] for row in results} == dict.fromkeys(
        ("read_attachment", "resolve_names", "propose_changes"), True
    )
    read = next(row["result"]["content"] for row in results if row["name"] == "read_attachment")
    assert (read["total"], len(read["rows"]), read["next"]) == (ROWS, ROWS, None)
    assert [column["kind"] for column in read["columns"]] == ["text", "text", "decimal"]
    assert read["rows"][6][2] == "7.50"
    await until(lambda: _actions(chat))
    operations = [one for row in await chat.pool.fetch("SELECT operations FROM actions") for one in row["operations"]]
    assert len(operations) == ROWS
    assert {(one["label"], one["changes"][0]["after"]) for one in operations} == {
        (f"Müller & Söhne {n}", f"C{n % 50}") for n in range(1, ROWS + 1)
    }


async def _actions(chat: Chat) -> bool:
    return bool(await chat.pool.fetchval("SELECT count(*) = $1 FROM actions", ROWS // AT_ONCE))

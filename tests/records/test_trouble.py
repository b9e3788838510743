"""What the records' database may do while an action is applied: each trouble has one right end, and the ledger says which."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import asyncpg
import pytest

from askbus.access.model import Principal
from askbus.errors import Unavailable
from askbus.records.apply import apply
from askbus.records.changes import Operation, OutcomeState, PreparedOperation
from askbus.records.engine import Records, Timeouts, open_records
from askbus.records.propose import prepare
from askbus.records.undo import undo
from askbus.testing.postgres_proxy import Heard, Moment, PostgresProxy
from askbus.testing.records import TeamDatabase
from askbus.testing.servers import Server

pytestmark = pytest.mark.requirement("R15", "R16")


async def shown(
    records: Records, member: Principal, collection: str, record: object, **values: object
) -> tuple[PreparedOperation, ...]:
    wanted = {"id": "a", "kind": "update", "collection": collection, "record": record, "values": values}
    return (await prepare(records, member, [Operation.model_validate(wanted)])).operations


async def ledger(team: TeamDatabase) -> list[object]:
    return [row[0] for row in await team.rows("SELECT state FROM askbus_ledger.outcomes ORDER BY at")]


@pytest.fixture
async def proxy(postgres_server: Server) -> AsyncIterator[PostgresProxy]:
    async with PostgresProxy(postgres_server.url).serving() as made:
        yield made


@pytest.mark.parametrize(("moment", "left"), [(Moment.BEFORE, []), (Moment.AFTER, ["applied"])])
async def test_a_connection_that_is_lost_at_the_commit_leaves_it_to_the_ledger(
    shop: TeamDatabase, member: Principal, proxy: PostgresProxy, moment: Moment, left: list[object]
) -> None:
    """Nobody can know whether it was committed: it is no failure, and the next attempt finds out, and does it at most once."""
    records = open_records(proxy.url(shop.url))
    operations, action = await shown(records, member, "orders", 1, note="mine"), uuid4()
    proxy.strike_at(Heard("askbus records", "COMMIT;", 1), moment, proxy.cut)
    with pytest.raises(Unavailable):
        await apply(records, action, operations, member)
    assert await ledger(shop) == left
    assert [(await apply(records, action, operations, member)).state for _ in range(2)] == [OutcomeState.APPLIED] * 2
    undo_id = uuid4()
    proxy.strike_at(Heard("askbus records", "COMMIT;", 1), moment, proxy.cut)
    with pytest.raises(Unavailable):
        await undo(records, undo_id, action, member)
    assert (await undo(records, undo_id, action, member)).state is OutcomeState.UNDONE
    assert await ledger(shop) == ["applied", "undone"]
    assert await shop.value("SELECT note FROM orders WHERE id = 1") == "first"
    await records.dispose()


RAISED = """
CREATE FUNCTION raised() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$;
CREATE TRIGGER raised BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION raised();
"""


@pytest.mark.parametrize("code", ["53100", "53200", "40001", "55P03", "57P01", "58030", "25P04"])
async def test_a_server_in_trouble_is_no_refusal(shop: TeamDatabase, records: Records, member: Principal, code: str) -> None:
    """A full disk, no memory, a serialization failure, a lock, a shutdown, an I/O error, a time limit on whole
    transactions: nothing is recorded; later it goes through."""
    operations, action = await shown(records, member, "orders", 1, note="mine"), uuid4()
    await shop.run(RAISED.format(code=code))
    with pytest.raises(Unavailable):
        await apply(records, action, operations, member)
    assert await ledger(shop) == []
    await shop.run("DROP FUNCTION raised() CASCADE")
    assert (await apply(records, action, operations, member)).state is OutcomeState.APPLIED


async def test_a_statement_that_takes_too_long_fails_and_is_told(shop: TeamDatabase, member: Principal) -> None:
    """It would take as long the next time: recorded as failed, nothing is written."""
    records = open_records(shop.url, timeouts=Timeouts(write=0.3, lock=0.1))
    operations = await shown(records, member, "orders", 1, note="mine")
    await shop.run(RAISED.replace("RAISE EXCEPTION 'no' USING ERRCODE = '{code}'", "PERFORM pg_sleep(60); RETURN NEW"))
    outcome = await apply(records, uuid4(), operations, member)
    assert outcome.state is OutcomeState.FAILED
    assert outcome.problem is not None
    assert (outcome.problem.operation, outcome.problem.message) == (
        "a",
        "The database did not finish in time; nothing was changed.",
    )
    assert await shop.value("SELECT note FROM orders WHERE id = 1") == "first"
    await records.dispose()


async def test_a_row_that_somebody_moves_to_another_partition_is_a_conflict(
    team: TeamDatabase, records: Records, member: Principal
) -> None:
    """Postgres calls it a serialization failure; tried again, the record is not where it was when it was shown."""
    await team.run(
        "CREATE TABLE m (id int PRIMARY KEY, note text) PARTITION BY RANGE (id)",
        "CREATE TABLE m_a PARTITION OF m FOR VALUES FROM (0) TO (10); CREATE TABLE m_b PARTITION OF m FOR VALUES FROM (10) TO (20)",
        "INSERT INTO m VALUES (1, 'old')",
    )
    operations = await shown(records, member, "m", 1, note="mine")
    person = await asyncpg.connect(team.url)
    moving = person.transaction()
    await moving.start()
    await person.execute("UPDATE m SET id = 11 WHERE id = 1")
    applying = asyncio.create_task(apply(records, uuid4(), operations, member))
    while not await team.value("SELECT count(*) FROM pg_locks WHERE NOT granted"):
        assert not applying.done()
    await moving.commit()
    await person.close()
    assert (await applying).state is OutcomeState.CONFLICTED
    assert await team.rows("SELECT * FROM m") == [(11, "old")]


async def test_a_deferred_constraint_fails_with_its_name_and_undone_whole(
    team: TeamDatabase, records: Records, member: Principal
) -> None:
    """It is checked before the ledger is written, so its failure can be told; values that swap pass, and swap back."""
    await team.run(
        "CREATE TABLE seats (id int PRIMARY KEY, place int NOT NULL, guest int, "
        "CONSTRAINT one_each UNIQUE (place) DEFERRABLE INITIALLY DEFERRED)",
        "CREATE TABLE guests (id int PRIMARY KEY)",
        "ALTER TABLE seats ADD CONSTRAINT known FOREIGN KEY (guest) REFERENCES guests DEFERRABLE INITIALLY DEFERRED",
        "INSERT INTO guests VALUES (1); INSERT INTO seats VALUES (1, 1), (2, 2)",
    )
    wanted = [{"id": f"o{n}", "kind": "update", "collection": "seats", "record": n, "values": {"place": 3 - n}} for n in (1, 2)]
    swap = (await prepare(records, member, [Operation.model_validate(one) for one in wanted])).operations
    guest = await shown(records, member, "seats", 1, guest=1)
    await team.run("DELETE FROM guests")
    failed = await apply(records, uuid4(), guest, member)
    assert failed.state is OutcomeState.FAILED
    assert failed.problem is not None
    assert "known" in failed.problem.message
    done: UUID = uuid4()
    assert (await apply(records, done, swap, member)).state is OutcomeState.APPLIED
    assert await team.rows("SELECT id, place FROM seats ORDER BY id") == [(1, 2), (2, 1)]
    assert (await undo(records, uuid4(), done, member)).state is OutcomeState.UNDONE
    assert await team.rows("SELECT id, place FROM seats ORDER BY id") == [(1, 1), (2, 2)]

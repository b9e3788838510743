"""What applying may not do: act for somebody who may not, take trouble for a refusal, or need more rights than it says."""

import asyncio
from uuid import uuid4

import asyncpg
import pytest

from askbus.access.model import Principal, Role
from askbus.errors import Unavailable
from askbus.records.apply import apply
from askbus.records.changes import Operation, OutcomeState, PreparedOperation
from askbus.records.deny import Policy
from askbus.records.engine import Records, SchemaMoved, Timeouts, open_records
from askbus.records.ledger import prepare_ledger, rights_needed
from askbus.records.model import QueryPlan
from askbus.records.propose import prepare
from askbus.records.query import query
from askbus.records.undo import undo
from askbus.testing.records import SHOP, TeamDatabase, somebody, team_database
from askbus.testing.servers import Server

pytestmark = pytest.mark.requirement("R16")


async def note(records: Records, member: Principal, text: str = "x") -> tuple[PreparedOperation, ...]:
    """A prepared change of the first order's note."""
    wanted = {"id": "a", "kind": "update", "collection": "orders", "record": 1, "values": {"note": text}}
    return (await prepare(records, member, [Operation.model_validate(wanted)])).operations


@pytest.mark.requirement("R11")
async def test_permission_is_asked_again_when_it_is_applied(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """Who became a viewer, and what the deployment locked meanwhile: recorded as failed, nothing written."""
    operations = await note(records, member)
    demoted = await apply(records, uuid4(), operations, somebody(Role.VIEWER))
    locked = open_records(shop.url, Policy(never_written=frozenset({"orders"})))
    denied = open_records(shop.url, Policy(denied_columns=frozenset({"orders.note"})))
    outcomes = [demoted] + [await apply(opened, uuid4(), operations, member) for opened in (locked, denied)]
    assert [outcome.state for outcome in outcomes] == [OutcomeState.FAILED] * 3
    said = [outcome.problem.message for outcome in outcomes if outcome.problem]
    for words, message in zip(("change nothing", "the deployment lists it", "may not be read or written"), said, strict=True):
        assert words in message
    assert await shop.value("SELECT note FROM orders WHERE id = 1") == "first"
    done = await apply(records, uuid4(), operations, member)
    assert (await undo(locked, uuid4(), done.id, member)).state is OutcomeState.REFUSED
    await locked.dispose()
    await denied.dispose()


async def test_a_lock_that_does_not_come_free_is_no_refusal(shop: TeamDatabase, member: Principal) -> None:
    """Nothing is recorded while a person holds the record; the same action goes through afterwards."""
    records = open_records(shop.url, timeouts=Timeouts(lock=0.2))
    operations, action = await note(records, member), uuid4()
    person = await asyncpg.connect(shop.url)
    async with person.transaction():
        await person.execute("SELECT FROM orders WHERE id = 1 FOR UPDATE")
        with pytest.raises(Unavailable):
            await apply(records, action, operations, member)
    await person.close()
    assert await shop.value("SELECT count(*) FROM askbus_ledger.outcomes") == 0
    assert (await apply(records, action, operations, member)).state is OutcomeState.APPLIED
    await records.dispose()


async def test_a_database_that_goes_away_is_no_refusal(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """Connections that were cut are replaced for reads; an apply says that it may be sent again."""
    operations, action = await note(records, member), uuid4()
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'askbus records'"
    await shop.rows(cut)
    assert (await query(records, member, QueryPlan(collection="orders"))).total == 4
    await shop.rows(cut)
    with pytest.raises(Unavailable):
        await apply(records, action, operations, member)
    assert (await apply(records, action, operations, member)).state is OutcomeState.APPLIED
    nowhere = open_records("postgresql://nobody:x@127.0.0.1:1/none")
    with pytest.raises(Unavailable, match="cannot be reached"):
        await nowhere.schema()
    await nowhere.dispose()


async def test_a_deadlock_is_tried_again(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """The person locks the line and then the order, the action's trigger the other way round; Postgres ends one of them."""
    await shop.run(
        "SET deadlock_timeout = 1",
        "CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "UPDATE lines SET qty = qty WHERE order_id = NEW.id; RETURN NEW; END $$",
        "CREATE TRIGGER touch AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION touch()",
    )
    operations = await note(records, member)
    person = await asyncpg.connect(shop.url, server_settings={"deadlock_timeout": "1min"})
    edit = person.transaction()
    await edit.start()
    await person.execute("UPDATE lines SET qty = 9 WHERE id = 1")
    applying = asyncio.create_task(apply(records, uuid4(), operations, member))
    while not await shop.value("SELECT count(*) FROM pg_locks WHERE NOT granted"):
        assert not applying.done()
    await person.execute("UPDATE orders SET amount = 1 WHERE id = 1")
    await edit.commit()
    assert (await applying).state is OutcomeState.APPLIED
    assert await shop.rows("SELECT note, amount::int FROM orders WHERE id = 1") == [("x", 1)]
    await person.close()


async def test_ddl_during_an_apply_waits_or_is_seen(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """Either the change is applied on the old shape or it conflicts on the new one; a half-known schema is never written with."""
    states = []
    for place in range(8):
        operations = await note(records, member, f"n{place}")
        ddl = "RENAME COLUMN note TO remark" if place % 2 else f"ADD COLUMN c{place} int"
        outcome, _ = await asyncio.gather(apply(records, uuid4(), operations, member), shop.run(f"ALTER TABLE orders {ddl}"))
        states.append(outcome.state)
        if place % 2:
            await shop.run("ALTER TABLE orders RENAME COLUMN remark TO note")
        applied = await shop.value("SELECT note FROM orders WHERE id = 1") == f"n{place}"
        assert applied == (outcome.state is OutcomeState.APPLIED), outcome
    assert set(states) <= {OutcomeState.APPLIED, OutcomeState.CONFLICTED}


async def test_a_schema_that_is_held_stays_until_the_end(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """What was known and is old makes the attempt start again; what is held keeps DDL waiting, and stays true."""
    await records.schema()
    await shop.run("ALTER TABLE orders ADD COLUMN more int")
    async with records.writing(member) as connection:
        with pytest.raises(SchemaMoved):
            await records.held_schema(connection, ["orders"])
    async with records.writing(member) as connection:
        held = await records.held_schema(connection, ["orders"])
        assert "more" in held.collection("orders").columns
        ddl = asyncio.create_task(shop.run("ALTER TABLE orders DROP COLUMN more"))
        while not await shop.value("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            assert not ddl.done()
        assert (await records.schema(connection, look=True)).fingerprint == held.fingerprint
    await ddl


async def test_without_the_ledger_nothing_is_applied(postgres_server: Server, member: Principal) -> None:
    """The refusal says which command makes it; making it twice, or by several at once, is the same as once."""
    async with team_database(postgres_server.url, ledger=False) as team:
        await team.run(SHOP)
        records = open_records(team.url)
        operations, action = await note(records, member), uuid4()
        with pytest.raises(Unavailable, match="askbus records prepare"):
            await apply(records, action, operations, member)
        assert await team.value("SELECT note FROM orders WHERE id = 1") == "first"
        await asyncio.gather(*(prepare_ledger(team.url) for _ in range(3)))
        assert (await apply(records, action, operations, member)).state is OutcomeState.APPLIED
        await prepare_ledger(team.url)
        assert await team.value("SELECT count(*) FROM askbus_ledger.outcomes") == 1
        await records.dispose()


async def test_the_rights_that_are_printed_are_enough(shop: TeamDatabase, member: Principal) -> None:
    """A role with exactly these applies and undoes; it cannot change or remove what the ledger holds."""
    role = f"applier {shop.url[-8:]}"
    await shop.run(f"CREATE ROLE \"{role}\" LOGIN PASSWORD 'applier'", "\n".join(rights_needed(role)))
    url = f"postgresql://{role.replace(' ', '%20')}:applier@{shop.url.partition('@')[2]}"
    records = open_records(url)
    created = Operation.model_validate({"id": "a", "kind": "create", "collection": "customers", "values": {"name": "Neu"}})
    changed = {"id": "b", "kind": "update", "collection": "orders", "record": 1, "values": {"note": "x"}}
    operations = (await prepare(records, member, [created, Operation.model_validate(changed)])).operations
    done = await apply(records, uuid4(), operations, member)
    assert done.state is OutcomeState.APPLIED
    assert (await undo(records, uuid4(), done.id, member)).state is OutcomeState.UNDONE
    connection = await asyncpg.connect(url)
    for statement in ("UPDATE askbus_ledger.outcomes SET state = 'failed'", "DELETE FROM askbus_ledger.outcomes"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    await connection.close()
    await records.dispose()
    await shop.run(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"')


@pytest.mark.parametrize(
    "row",
    [
        "(gen_random_uuid(), 'apply', gen_random_uuid(), 'failed', gen_random_uuid(), gen_random_uuid())",
        "('{0}', 'apply', '{0}', 'undone', '{0}', '{0}')",
        "('{0}', 'apply', '{0}', 'applied', '{0}', '{0}')",
        "('{0}', 'undo', '{0}', 'refused', '{0}', '{0}')",
    ],
)
async def test_the_ledger_cannot_hold_nonsense(kept_shop: TeamDatabase, row: str) -> None:
    """An apply has the action's own id, a state that fits its kind, and images if and only if something was done."""
    values = row.format(uuid4())
    with pytest.raises(asyncpg.CheckViolationError):
        await kept_shop.run(
            f"INSERT INTO askbus_ledger.outcomes (id, kind, action_id, state, user_id, workspace_id) VALUES {values}"
        )

"""The schema is the live one: everything that may be read is in it, and DDL shows at once."""

import pytest

from askbus.access.model import Principal
from askbus.errors import NotFound
from askbus.records.deny import Policy
from askbus.records.describe import Description, describe
from askbus.records.engine import Records, open_records
from askbus.records.model import Kind, QueryPlan
from askbus.records.query import query
from askbus.testing.records import TeamDatabase

pytestmark = pytest.mark.requirement("R1")


async def test_every_kind_of_relation_is_listed_once(team: TeamDatabase, records: Records) -> None:
    """A partitioned table stands for its partitions; views and materialised views are there, and cannot be written."""
    await team.run(
        "CREATE TABLE parted (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
        "CREATE TABLE parted_a PARTITION OF parted FOR VALUES FROM ('2026-01-01') TO ('2026-07-01')",
        "CREATE VIEW seen AS SELECT id FROM parted",
        "CREATE MATERIALIZED VIEW kept AS SELECT count(*) AS n FROM parted",
        "CREATE TABLE plain (id int PRIMARY KEY)",
    )
    schema = await records.schema()
    assert {name: found.kind for name, found in schema.collections.items()} == {
        "parted": "table", "seen": "view", "kept": "materialized view", "plain": "table",
    }  # fmt: skip
    assert [name for name, found in schema.collections.items() if found.read_only] == ["kept", "seen"]
    assert schema.collection("parted").key == ("id", "day")


async def test_what_is_not_the_teams_is_not_there(team: TeamDatabase, records: Records) -> None:
    """System catalogues, askbus's own schemas and what an extension brought are no collections."""
    await team.run("CREATE SCHEMA askbus; CREATE TABLE askbus.threads (id int PRIMARY KEY); CREATE EXTENSION pg_stat_statements")
    schema = await records.schema()
    assert dict(schema.collections) == {}
    for name in ("pg_class", "pg_catalog.pg_class", "information_schema.tables", "askbus.threads", "askbus_ledger.outcomes"):
        with pytest.raises(NotFound):
            schema.collection(name)


async def test_columns_are_described_as_the_catalogue_has_them(team: TeamDatabase, records: Records) -> None:
    """Types with their sizes, enums, domains down to their base, defaults, identities, generated columns, comments."""
    await team.run(
        "CREATE TYPE mood AS ENUM ('good', 'bad')",
        "CREATE DOMAIN short AS varchar(5) NOT NULL",
        "CREATE DOMAIN shorter AS short CHECK (VALUE <> 'x')",
        "CREATE TABLE thing (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, price numeric(10,2), credit numeric(5,-2), "
        "how mood, code shorter, total numeric GENERATED ALWAYS AS (price * 2) STORED, made timestamptz NOT NULL DEFAULT now(), "
        "fixed char(3), tags text[], doc jsonb, spent money, raw bytea, span interval)",
        "COMMENT ON TABLE thing IS 'What we sell'; COMMENT ON COLUMN thing.price IS 'without tax'",
    )
    thing = (await records.schema()).collection("thing")
    kinds = {name: column.kind for name, column in thing.columns.items()}
    assert kinds == {
        "id": Kind.INTEGER, "price": Kind.DECIMAL, "credit": Kind.DECIMAL, "how": Kind.ENUM, "code": Kind.TEXT,
        "total": Kind.DECIMAL, "made": Kind.TIMESTAMPTZ, "fixed": Kind.TEXT, "tags": Kind.ARRAY, "doc": Kind.JSON,
        "spent": Kind.DECIMAL, "raw": Kind.BINARY, "span": Kind.OTHER,
    }  # fmt: skip
    assert thing.columns["price"].numeric == (10, 2)
    assert thing.columns["credit"].numeric == (5, -2)
    assert (thing.columns["code"].length, thing.columns["code"].base, thing.columns["code"].nullable) == (
        5,
        "character varying",
        False,
    )
    assert (thing.columns["fixed"].length, thing.columns["fixed"].base) == (3, "bpchar")
    assert thing.columns["how"].labels == ("good", "bad")
    assert [name for name, column in thing.columns.items() if column.computed] == ["id", "total"]
    assert [name for name, column in thing.columns.items() if column.required] == ["code"]
    assert (thing.comment, thing.columns["price"].comment) == ("What we sell", "without tax")


async def test_references_are_called_by_their_column(team: TeamDatabase, records: Records) -> None:
    """customer_id leads to `customer`; the way back is named by the table, and by the reference where two could be meant."""
    await team.run(
        "CREATE TABLE people (id int PRIMARY KEY, name text)",
        "CREATE TABLE deals (id int PRIMARY KEY, owner_id int REFERENCES people, approver_id int REFERENCES people, parent int)",
        "ALTER TABLE deals ADD FOREIGN KEY (parent) REFERENCES deals",
        "CREATE TABLE profiles (person_id int PRIMARY KEY REFERENCES people, bio text)",
    )
    schema = await records.schema()
    deals, people = schema.collection("deals").relations, schema.collection("people").relations
    assert {name: (way.target, way.many) for name, way in deals.items()} == {
        "owner": ("people", False), "approver": ("people", False), "parent": ("deals", False), "deals": ("deals", False),
        "deals_by_parent": ("deals", True),
    }  # fmt: skip
    assert {name: (way.target, way.many) for name, way in people.items()} == {
        "deals_by_owner": ("deals", True), "deals_by_approver": ("deals", True), "profiles": ("profiles", False),
    }  # fmt: skip


async def test_a_table_outside_the_search_path_is_called_with_its_schema(team: TeamDatabase, records: Records) -> None:
    """Two tables of one name stay apart; a bare name with its schema in front means the same table."""
    await team.run(
        "CREATE TABLE item (id int PRIMARY KEY); CREATE SCHEMA old; CREATE TABLE old.item (id int PRIMARY KEY, gone date)"
    )
    schema = await records.schema()
    assert sorted(schema.collections) == ["item", "old.item"]
    assert schema.collection("public.item") is schema.collection("item")
    assert "gone" in schema.collection("old.item").columns


async def test_a_new_column_is_readable_in_the_next_call(team: TeamDatabase, records: Records, member: Principal) -> None:
    """A name that is missing makes askbus look again, so nobody waits for a cache."""
    await team.run("CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 1)")
    await query(records, member, QueryPlan(collection="t"))
    await team.run("ALTER TABLE t ADD COLUMN b text DEFAULT 'new'")
    found = await query(records, member, QueryPlan(collection="t", fields=("b",)))
    assert found.rows == ((1, "new"),)


async def test_ddl_shows_without_being_asked_for(team: TeamDatabase, member: Principal) -> None:
    """The catalogue is looked at again after a while: here at every call."""
    await team.run("CREATE TABLE t (id int PRIMARY KEY, a int)", "CREATE TYPE mood AS ENUM ('good')")
    records = open_records(team.url)
    records.fresh_for = 0
    before = await records.schema()
    assert await records.schema() is before
    for ddl in (
        "ALTER TABLE t ADD COLUMN how mood",
        "ALTER TYPE mood ADD VALUE 'bad'",
        "ALTER TABLE t ALTER COLUMN a SET NOT NULL",
        "ALTER TABLE t ALTER COLUMN a SET DEFAULT 3",
        "ALTER TABLE t ADD UNIQUE (a)",
        "COMMENT ON COLUMN t.a IS 'amount'",
        "ALTER TABLE t RENAME COLUMN a TO b",
        "CREATE VIEW v AS SELECT id FROM t",
        "ALTER TABLE t RENAME TO u",
        "DROP VIEW v",
    ):
        await team.run(ddl)
        after = await records.schema()
        assert after.fingerprint != before.fingerprint, ddl
        before = after
    assert list(before.collections) == ["u"]
    await team.run("ANALYZE u", "VACUUM u", "INSERT INTO u VALUES (1, 1)")
    assert await records.schema() is before
    await records.dispose()


async def test_a_read_survives_ddl_that_it_does_not_know_of(team: TeamDatabase, records: Records, member: Principal) -> None:
    """A renamed table, a retyped column under a prepared statement: the read is made again on the new shape."""
    await team.run("CREATE TABLE t (id int PRIMARY KEY, a int, c int); INSERT INTO t VALUES (1, 7, 8)")
    plan = QueryPlan(collection="t")
    assert (await query(records, member, plan)).rows == ((1, 7, 8),)
    await team.run("ALTER TABLE t ALTER COLUMN a TYPE numeric(10,2), DROP COLUMN c")
    found = await query(records, member, plan)
    assert (found.rows, [column.kind for column in found.columns]) == (((1, "7.00"),), [Kind.INTEGER, Kind.DECIMAL])
    with pytest.raises(NotFound, match="no field 'c' of t") as refused:
        await query(records, member, QueryPlan(collection="t", fields=("c",)))
    assert str(refused.value).endswith("Permitted: id, a.")


async def test_columns_without_the_right_to_read_are_not_there(team: TeamDatabase) -> None:
    """askbus's database user sees what the owner granted, and names nothing else."""
    await team.run(
        "CREATE TABLE t (id int PRIMARY KEY, open text, closed text); CREATE TABLE hidden (id int PRIMARY KEY)",
        f"CREATE ROLE {(role := 'reader_' + team.url[-8:])} LOGIN PASSWORD 'reader'",
        f"GRANT SELECT (id, open) ON t TO {role}",
    )
    address = team.url.partition("@")[2]
    records = open_records(f"postgresql://{role}:reader@{address}")
    schema = await records.schema()
    assert {name: list(found.columns) for name, found in schema.collections.items()} == {"t": ["id", "open"]}
    assert schema.collection("t").read_only == "t is a table that cannot be written"
    await records.dispose()
    await team.run(f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_a_description_for_the_model_is_bounded_and_says_what_it_leaves_out(shop: TeamDatabase, records: Records) -> None:
    """Small databases fit whole; of large ones the rest is named, to be asked for."""
    schema = await records.schema()
    whole = describe(schema)
    assert ([one.name for one in whole.collections], whole.names_only) == (["customers", "lines", "logins", "orders"], ())
    assert "password_hash" not in whole.model_dump_json()
    orders = whole.collections[3]
    assert orders.fields[1:4] == (
        "customer_id: integer, required", "amount: numeric(12,2), required",
        "stage: stage, one of lead, won, lost, never empty, has a default",
    )  # fmt: skip
    assert (orders.references, orders.referred_by) == (("customer (customer_id) -> customers",), ("lines",))
    part = describe(schema, most=10)
    assert ([one.name for one in part.collections], part.names_only) == (["customers"], ("lines", "logins", "orders"))
    with pytest.raises(NotFound, match="orders"):
        describe(schema, ["order"])


async def test_a_large_schema_is_searched_and_paged_within_the_budget(team: TeamDatabase, records: Records) -> None:
    """Four hundred tables: the best matches come first, what is not described is named or counted, and pages miss nothing."""
    columns = ", ".join(f"column_{n} text" for n in range(12))
    tables = "; ".join(f'CREATE TABLE "module_{n}_entries" (id int PRIMARY KEY, {columns})' for n in range(400))
    wide = ", ".join(f"measurement_number_{n} numeric(12, 4)" for n in range(1000))
    await team.run(
        tables,
        f'CREATE TABLE "SensorReadings" (id int PRIMARY KEY, {wide})',
        "CREATE TABLE bills (id int PRIMARY KEY, total numeric); COMMENT ON TABLE bills IS 'What customers are to pay: invoices'",
        "CREATE TABLE invoice_lines (id int PRIMARY KEY); CREATE TABLE notes (id int PRIMARY KEY, invoice_no text)",
    )
    schema = await records.schema()

    def names(found: Description) -> list[str]:
        return [one.name for one in found.collections]

    assert (names(describe(schema, search="invoices")), names(describe(schema, search="Sensor readings"))[0]) == (
        ["invoice_lines", "bills", "notes"], "SensorReadings",
    )  # fmt: skip
    assert "module_7_entries" in describe(schema, search="modul_7_entrys").model_dump_json()
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = describe(schema, most=4_000, offset=offset)
        assert len(page.model_dump_json()) < 5_000
        assert page.total == 404
        seen += [*names(page), *page.names_only]
        assert ("use search" in " ".join(page.cut)) is (page.next_offset is not None)
        offset = page.next_offset
    assert sorted(seen) == sorted(schema.collections)
    [readings] = describe(schema, ["SensorReadings"]).collections
    assert 100 < len(readings.fields) < 1001
    assert "SensorReadings has 1001 fields" in describe(schema, ["SensorReadings"]).cut[0]
    assert len(describe(schema, ["SensorReadings"]).model_dump_json()) < 13_000


async def test_a_name_beyond_measure_is_repeated_in_part(shop: TeamDatabase, records: Records) -> None:
    """Whoever reads the refusal gets the beginning of it, of a collection and of a field."""
    schema = await records.schema()
    for name in ("x" * 100_000, "it's\n" * 20_000):
        for ask in (schema.collection, schema.collection("orders").column):
            with pytest.raises(NotFound) as refused:
                ask(name)
            assert len(str(refused.value)) + len(str(refused.value.details)) < 1500


async def test_a_deployments_own_list_denies_and_frees(shop: TeamDatabase) -> None:
    """Columns and collections that only the deployment knows to be delicate, and names that only look so."""
    policy = Policy(
        denied_columns=frozenset({"orders.note"}),
        readable_columns=frozenset({"logins.password_hash"}),
        never_written=frozenset({"lines"}),
    )
    records = open_records(shop.url, policy)
    schema = await records.schema()
    assert "note" not in schema.collection("orders").columns
    assert "password_hash" in schema.collection("logins").columns
    assert schema.collection("lines").read_only == "lines is never changed here: the deployment lists it"
    await records.dispose()

"""What a deployment says of its records holds in every read and write, and what it says wrongly is told line by line."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from askbus.access.model import Principal
from askbus.errors import InvalidInput, NotFound, PermissionDenied
from askbus.records.apply import apply
from askbus.records.changes import Operation, OutcomeState
from askbus.records.describe import describe
from askbus.records.display import Presentation
from askbus.records.engine import Records, open_records
from askbus.records.model import QueryPlan
from askbus.records.names import Resolution, ResolveRequest
from askbus.records.propose import prepare
from askbus.records.query import query
from askbus.records.record_catalogue import BadCatalogue, RecordCatalogue, load
from askbus.records.resolve import resolve
from askbus.records.undo import undo
from askbus.runtime.settings import Settings, SettingsError
from askbus.runtime.team import check_catalogue, team_records
from askbus.testing.records import TeamDatabase

pytestmark = pytest.mark.requirement("R23")

NORTH, SOUTH, ELSEWHERE = UUID(int=11), UUID(int=12), UUID(int=13)

SAID = f"""
[projects]
"{NORTH}" = "north"
"{SOUTH}" = "south"

[collections.customers]
name = ["email", "name"]
label = "email"
link = "https://crm.example.com/c/{{id}}?tab=1"
fields.country.never_written = true

[collections.orders]
fields.amount.currency = "EUR"
fields.note.denied = true

[collections.logins]
project = "north"

[collections.lines]
never_written = true
fields.qty.unit = "pcs"

[collections.deals]
project.column = "project"
fields.margin.format = "fraction"
fields.year.format = "plain"
"""

DEALS = """
CREATE TABLE deals (id int PRIMARY KEY, project text, title text, margin numeric, year int, parent int REFERENCES deals);
INSERT INTO deals VALUES (1, 'north', 'Alpha', 0.125, 2026, NULL), (2, 'south', 'Beta', 0.5, 2026, 1), (3, 'north', 'Gamma', 0.07, 2025, 2);
"""


def said(text: str, folder: Path) -> RecordCatalogue:
    path = folder / "records.toml"
    path.write_text(text, "utf-8")
    return load(path)


@pytest.fixture
async def listed(shop: TeamDatabase, tmp_path: Path) -> AsyncIterator[Records]:
    """The shop with deals of two projects, as the deployment's file has it."""
    await shop.run(DEALS)
    records = open_records(shop.url, listed=said(SAID, tmp_path))
    await records.check()
    yield records
    await records.dispose()


async def test_values_are_shown_as_the_deployment_says(listed: Records, member: Principal) -> None:
    """Currency and unit also of what is computed, percents, years, links; the reader's language around it."""
    german = Presentation(locale="de-DE", zone="America/New_York")

    async def shown(**plan: object) -> tuple[tuple[str, ...], ...]:
        return (await query(listed.within(NORTH), member, QueryPlan.model_validate(plan), german)).display

    assert await shown(collection="orders", fields=["amount", "placed"], limit=1) == (
        ("1", "100,10\xa0€", "31.12.2025, 19:00:00 EST"),
    )
    figures = [{"op": op, "field": "amount"} for op in ("sum", "avg", "median", "max")]
    assert await shown(collection="orders", aggregates=figures) == (("700,75\xa0€", "175,19\xa0€", "150,15\xa0€", "400,40\xa0€"),)
    assert await shown(collection="customers", aggregates=[{"op": "sum", "field": "orders.lines.qty"}]) == (("8\xa0pcs",),)
    assert await shown(collection="deals", fields=["margin", "year"], limit=1) == (("1", "12,5\xa0%", "2026"),)
    found = await query(listed, member, QueryPlan(collection="customers", fields=("name",), limit=1))
    assert found.links == ("https://crm.example.com/c/1?tab=1",)


async def test_records_are_found_and_named_as_the_deployment_says(listed: Records, member: Principal) -> None:
    """By e-mail address before all, which is also what a card calls them."""
    found = await resolve(listed, member, ResolveRequest(collection="customers", text="ADA@example.org"))
    assert found.match is not None
    assert found.match.label == "ada@example.org"


async def test_what_is_denied_or_never_written_is_refused(listed: Records, member: Principal) -> None:
    """In reads and in proposals; it is not described either."""
    with pytest.raises(PermissionDenied, match="may not be read"):
        await query(listed, member, QueryPlan(collection="orders", fields=("note",)))
    for collection, field, says in (
        ("customers", "country", "never changed here"),
        ("lines", "qty", "deployment lists it"),
        ("orders", "note", "may not"),
    ):
        wanted = Operation.model_validate(
            {"id": "a", "kind": "update", "collection": collection, "record": 1, "values": {field: "1"}}
        )
        with pytest.raises(InvalidInput, match=says):
            await prepare(listed, member, [wanted])
    assert "note" not in describe(await listed.schema(), ["orders"]).model_dump_json()


@pytest.mark.requirement("R2", "R11")
async def test_a_project_reads_its_own_records_alone(listed: Records, member: Principal) -> None:
    """Whole collections and records by a column: in lists, figures, references, filters and names."""
    north, south, other = (listed.within(project) for project in (NORTH, SOUTH, ELSEWHERE))
    plan = QueryPlan(collection="deals", fields=("title", "parent.title"))
    assert (await query(north, member, plan)).rows == ((1, "Alpha", None), (3, "Gamma", None))
    assert (await query(south, member, plan)).rows == ((2, "Beta", None),)
    assert (await query(other, member, plan)).total == 0
    sums = QueryPlan.model_validate({"collection": "deals", "aggregates": [{"op": "sum", "field": "margin"}, {"op": "count"}]})
    assert (await query(north, member, sums)).rows == (("0.195", 2),)
    children = {"collection": "deals", "where": {"field": "deals_by_parent.title", "op": "is_null", "value": False}}
    assert (await query(north, member, QueryPlan.model_validate(children))).total == 0
    assert (await resolve(south, member, ResolveRequest(collection="deals", text="Alpha"))).outcome is Resolution.NONE
    assert (await query(north, member, QueryPlan(collection="logins"))).total == 1
    for records in (south, other):
        with pytest.raises(NotFound):
            await query(records, member, QueryPlan(collection="logins"))
        assert "logins" not in describe(await records.schema()).model_dump_json()


@pytest.mark.requirement("R11", "R15", "R17")
async def test_a_project_changes_its_own_records_alone(listed: Records, shop: TeamDatabase, member: Principal) -> None:
    """What is proposed, applied and undone in one project reaches no record of another, even when it changes hands in between."""
    north, south = listed.within(NORTH), listed.within(SOUTH)

    def operation(kind: str, record: object, **values: object) -> Operation:
        return Operation.model_validate({"id": "a", "kind": kind, "collection": "deals", "record": record, "values": values})

    for wanted, says in (
        (operation("update", 2, title="x"), "no such record"),
        (operation("update", 1, project="south"), "belongs to the project"),
        (operation("create", None, id=9, project="south"), "belongs to the project"),
        (operation("update", 1, parent=2), "no such deals"),
    ):
        with pytest.raises(InvalidInput, match=says):
            await prepare(north, member, [wanted])
    created = await apply(
        north, uuid4(), (await prepare(north, member, [operation("create", None, id=9, title="New")])).operations, member
    )
    assert (created.state, await shop.value("SELECT project FROM deals WHERE id = 9")) == (OutcomeState.APPLIED, "north")
    assert (await undo(south, uuid4(), created.id, member)).state is OutcomeState.REFUSED
    assert (await undo(north, uuid4(), created.id, member)).state is OutcomeState.UNDONE
    prepared = (await prepare(north, member, [operation("update", 1, title="Changed")])).operations
    await shop.run("UPDATE deals SET project = 'south' WHERE id = 1")
    assert (await apply(north, uuid4(), prepared, member)).state is OutcomeState.CONFLICTED
    await shop.run(
        "UPDATE deals SET project = 'north' WHERE id = 1",
        "CREATE FUNCTION away() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.project := 'south'; RETURN NEW; END $$",
        "CREATE TRIGGER away BEFORE UPDATE ON deals FOR EACH ROW EXECUTE FUNCTION away()",
    )
    moved = await apply(north, uuid4(), prepared, member)
    assert moved.state is OutcomeState.FAILED
    assert moved.problem is not None
    assert "another project" in moved.problem.message
    assert await shop.rows("SELECT project, title FROM deals WHERE id = 1") == [("north", "Alpha")]


async def test_what_the_database_does_not_have_is_told_line_by_line(shop: TeamDatabase, tmp_path: Path) -> None:
    """With the nearest names, before anybody relies on it."""
    wrong = """
    [collections.order]
    [collections.customers]
    label = "nam"
    link = "https://crm.example.com/{name}"
    project.column = "team"
    fields.emial.denied = true
    fields.name.currency = "EUR"
    """
    records = open_records(shop.url, listed=said(wrong, tmp_path))
    with pytest.raises(BadCatalogue) as told:
        await records.check()
    assert str(told.value).splitlines() == [
        "collections.order: there is no such collection; there are orders, customers, lines",
        "collections.customers.label: customers has no field nam that may be read; there are name, email, country",
        "collections.customers.project: customers has no field team; there are name, email, country",
        "collections.customers.fields.emial: customers has no such field; there are email, id, name",
        "collections.customers.fields.name: a text field has no currency, unit or format of numbers",
        "collections.customers.link: name is no field of the key; that is id",
    ]
    await records.dispose()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("collections = 3", "collections: "),
        ("[collections.orders]\ncolour = 'red'", "collections.orders.colour: Extra inputs"),
        ("[collections.orders.fields.amount]\ncurrency = 'euro'", "currency: String should match"),
        ("[projects]\nnorth = 'north'", "projects.north"),
        ("[collections", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, says: str) -> None:
    """With the place in it."""
    with pytest.raises(BadCatalogue, match=says):
        said(text, tmp_path)


async def test_a_process_does_not_start_on_a_catalogue_that_is_wrong(shop: TeamDatabase, tmp_path: Path) -> None:
    """The file is read when the process starts and held against the database; one that is away is not waited for."""
    path = tmp_path / "records.json"

    def settings(url: str) -> Settings:
        return Settings.load(
            database_url="postgresql://nowhere/askbus", nats_url="nats://nowhere", records_url=url, records_catalogue=path
        )

    path.write_text('{"collections": {"order": {}}}', "utf-8")
    records = team_records(settings(shop.url), shop.url)
    with pytest.raises(SettingsError, match=r"(?s)ASKBUS_RECORDS_CATALOGUE.*collections\.order: there is no such.*orders"):
        await check_catalogue(records)
    await records.dispose()
    away = team_records(settings(shop.url), shop.url + "_is_not_there")
    await check_catalogue(away)
    await away.dispose()
    path.write_text("{", "utf-8")
    with pytest.raises(SettingsError, match="cannot be read"):
        team_records(settings(shop.url), shop.url)

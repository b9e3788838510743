"""Names are found by index where there is one, and the same records without."""

from collections.abc import AsyncIterator, Sequence
from random import Random

import pytest

import askbus.records.resolve as resolving
from askbus.access.model import Principal
from askbus.records import indexes
from askbus.records.engine import Records, open_records
from askbus.records.indexes import sql, suggested_indexes
from askbus.records.name_search import Search
from askbus.records.names import Resolution, ResolveNamesRequest, ResolveRequest, ResolveResult
from askbus.records.resolve import resolve
from askbus.records.resolve_names import resolve_names
from askbus.testing.records import TeamDatabase, team_database
from askbus.testing.servers import Server

pytestmark = pytest.mark.requirement("R5")

NAMES = (
    "Straße", "STRASSE", "strasse", "İzmir", "IZMIR", "\u0131zmir", "izmir", "Zoë", "Zoe\u0308", "ZOE", "100% Fun", "100_ Fun", "a_b",
    "axb", "O'Neill", "O\u2019Neill", "ONeill", "שלם", "\u200fשלם", "مرحبا", "Łódź", "Lodz", "ﬁne", "FINE", "  two  blanks ",
    "two blanks", "two\tblanks", r"c\d", "Ærø", "AERO", "x" * 3000, "Annabel", "Anna-Belle", "annabell", "Annabelle", "98",
    "\u043c\u043e\u0441\u043a\u0432\u0430", "\u041c\u043e\u0441\u043a\u0432\u0430", "m\u043ec\u043a\u0432\u0430",
)  # fmt: skip
"""Case foldings, combining marks, what patterns and quotes would read otherwise, right-to-left, invisible and look-alike letters."""

QUESTIONS = (
    *NAMES, "Strase", "izmier", "annabele", "%", "_", "''", "\u0661", "two blank", "\u043c\u043e\u0441\u0432\u0430", "o neill",
    "nothing like it",
)  # fmt: skip
PEOPLE = 'CREATE TABLE "People" (id int PRIMARY KEY, name text COLLATE "C", label varchar(40))'


@pytest.fixture(scope="module")
async def bare(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """Many names, and nothing that helps to find them."""
    async with team_database(postgres_server.url, ledger=False) as made:
        await made.run(PEOPLE, *_rows(NAMES))
        yield made


@pytest.fixture(scope="module")
async def indexed(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """The same with the extensions, in a schema of their own."""
    async with team_database(postgres_server.url, ledger=False) as made:
        await made.run(
            'CREATE SCHEMA "Ext"; CREATE EXTENSION pg_trgm SCHEMA "Ext"; CREATE EXTENSION unaccent SCHEMA "Ext"',
            PEOPLE,
            *_rows(NAMES),
        )
        yield made


def _rows(names: Sequence[str]) -> list[str]:
    quoted = [name.replace("'", "''") for name in names]
    return ["".join(f"INSERT INTO \"People\" VALUES ({place}, '{name}', NULL);" for place, name in enumerate(quoted))]


async def _same_answers(
    one: TeamDatabase, other: TeamDatabase, member: Principal, texts: Sequence[str], *, similar: bool = True
) -> int:
    """Asks both for each and for all together; how many were found. Which similar names are chosen from hundreds may differ."""

    def comparable(answer: ResolveResult) -> ResolveResult:
        return answer if similar or answer.outcome is not Resolution.NONE else answer.model_copy(update={"near": ()})

    first, second = open_records(one.url), open_records(other.url)
    try:
        found = 0
        for text in texts:
            request = ResolveRequest(collection="People", text=text[:500])
            answer = await resolve(first, member, request)
            assert comparable(answer) == comparable(await resolve(second, member, request)), text
            found += answer.outcome is not Resolution.NONE
        many = ResolveNamesRequest(collection="People", texts=tuple(text[:500] for text in texts[:200]))
        if similar:
            assert await resolve_names(first, member, many) == await resolve_names(second, member, many)
        return found
    finally:
        await first.dispose()
        await second.dispose()


async def _plan(records: Records, text: str) -> str:
    """How Postgres would find records with this name, and then those with one that looks alike."""
    schema = await records.schema()
    search = Search(schema, schema.collection("People"), (), text)
    plans: list[str] = []
    async with records.reading() as connection:
        for one in (search.same([text]), search.alike(text)):
            assert one is not None
            plans += (await connection.exec_driver_sql(f"EXPLAIN {sql(one)}")).scalars().all()
    return "\n".join(plans)


async def test_answers_are_the_same_with_indexes_as_without(
    bare: TeamDatabase, indexed: TeamDatabase, member: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suggested indexes are made, used and not suggested again; whatever is asked, they find what reading everything finds."""
    monkeypatch.setattr(indexes, "LARGE", 10)
    records = open_records(indexed.url)
    try:
        suggested = [one for suggestion in await suggested_indexes(records) for one in suggestion.statements]
        assert [one.split("USING ")[1].split()[0] for one in suggested[:-1]] == ["hash", "gin", "hash", "gin"]
        await indexed.run(*suggested, f'ALTER DATABASE "{indexed.name}" SET enable_seqscan = off')
        await records.dispose()
        assert await suggested_indexes(records) == []
        plan = await _plan(records, "annabel")
        assert plan.count("Bitmap Index Scan") == 4
        assert "Seq Scan" not in plan
    finally:
        await records.dispose()
    assert await _same_answers(bare, indexed, member, QUESTIONS) > len(NAMES) - 5


@pytest.mark.drill
async def test_answers_are_the_same_for_any_names(
    bare: TeamDatabase, indexed: TeamDatabase, member: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names out of letters that are folded, dropped or read as patterns, and questions that are nearly such a name."""
    random = Random(20)  # no secret
    letters = "aAbBnN oO'%_ß\u0130\u0131éE\u0301\u0308łŁ\u200b\u0430\u03bf9שم"
    names = ["".join(random.choices(letters, k=random.randint(1, 9))) for _ in range(500)]
    monkeypatch.setattr(indexes, "LARGE", 10)
    for database in (bare, indexed):
        await database.run('TRUNCATE "People"', *_rows(names))
    records = open_records(indexed.url)
    statements = [one for suggestion in await suggested_indexes(records) for one in suggestion.statements]
    await records.dispose()
    await indexed.run(*statements, f'ALTER DATABASE "{indexed.name}" SET enable_seqscan = off')
    asked = [name[1:] + random.choice(letters) for name in names[:100]]
    assert await _same_answers(bare, indexed, member, [one for one in (*names, *asked) if one.strip()], similar=False) > 400


async def test_numbers_and_uuids_are_found_by_their_key(team: TeamDatabase, records: Records, member: Principal) -> None:
    """However they are written; what cannot be such a key names nothing, and no number looks like another."""
    number, uuid = 2**63 - 1, "0198f2c4-0000-7000-8000-00000000abcd"
    await team.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, total int); CREATE TABLE jobs (id uuid PRIMARY KEY)",
        f"INSERT INTO orders VALUES (98, 1), ({number}, 1), (-5, 1); INSERT INTO jobs VALUES ('{uuid}')",
    )

    async def found(collection: str, text: str) -> object:
        result = await resolve(records, member, ResolveRequest(collection=collection, text=text))
        assert result.near == ()
        return result.match and result.match.key["id"]

    assert [await found("orders", text) for text in ("98", "\uff19\uff18", str(number), "-5")] == [98, 98, str(number), -5]
    assert [await found("orders", text) for text in ("098", "99", str(number + 1), "9" * 400, "x", "+98")] == [None] * 6
    assert [await found("jobs", text) for text in (uuid, uuid.upper(), uuid[:-1])] == [uuid, uuid, None]


async def test_similar_names_that_take_too_long_are_not_waited_for(
    team: TeamDatabase, member: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is given without them and says so, for one name and for many."""
    await team.run("CREATE TABLE people (id int PRIMARY KEY, name text)")
    await team.run("INSERT INTO people SELECT n, repeat('ab', 200) || 'é' || n FROM generate_series(1, 3000) AS n")
    monkeypatch.setattr(resolving, "PART_FOR_NEAR", 0.0001)
    records = open_records(team.url)
    try:
        one = await resolve(records, member, ResolveRequest(collection="people", text="abacus"))
        assert (one.outcome, one.near) == (Resolution.NONE, ())
        assert "askbus doctor" in one.note
        many = await resolve_names(records, member, ResolveNamesRequest(collection="people", texts=("abacus", "abba")))
        assert [found.outcome for found in many.unsure] == [Resolution.NONE, Resolution.NONE]
        assert many.note == one.note
    finally:
        await records.dispose()


async def test_what_references_and_used_fields_lack_is_suggested_once(
    team: TeamDatabase, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A foreign key without an index, and a field that reads often use; quoted names work, small tables are left alone."""
    monkeypatch.setattr(indexes, "LARGE", 50)
    await team.run(
        'CREATE TABLE "Owner" (id int PRIMARY KEY); CREATE TABLE small (id int PRIMARY KEY, owner int REFERENCES "Owner")',
        'CREATE TABLE "Order" (id int PRIMARY KEY, "owner id" int REFERENCES "Owner", placed date) PARTITION BY RANGE (id)',
        'CREATE TABLE part PARTITION OF "Order" FOR VALUES FROM (0) TO (1000)',
        'INSERT INTO "Owner" VALUES (1)',
        "INSERT INTO \"Order\" SELECT n, 1, '2026-01-01' FROM generate_series(1, 100) AS n; ANALYZE",
    )
    used = {"Order": ["placed", "id", "missing"], "small": ["owner"]}
    statements = [one for suggestion in await suggested_indexes(records, used) for one in suggestion.statements]
    assert statements == ['CREATE INDEX ON "public"."Order" ("owner id");', 'CREATE INDEX ON "public"."Order" ("placed");']
    await team.run(*statements)
    assert await suggested_indexes(records, used) == []


async def test_behind_policies_no_index_on_names_is_promised(team: TeamDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Postgres asks a policy before it compares what a policy may hide, so the suggestion is what the policy compares."""
    monkeypatch.setattr(indexes, "LARGE", 50)
    await team.run(
        "CREATE TABLE people (id int PRIMARY KEY, name text); ALTER TABLE people ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY mine ON people USING (id < 10)",
        "INSERT INTO people SELECT n, 'n' || n FROM generate_series(1, 100) AS n; ANALYZE",
        f"CREATE ROLE {(reader := f'reader_{team.name[-12:]}')}; GRANT SELECT ON people TO {reader}",
    )
    records = open_records(team.url, role=reader)
    try:
        [suggestion] = await suggested_indexes(records)
        assert suggestion.statements == ()
        assert "row-level security" in suggestion.why
    finally:
        await records.dispose()
        await team.run(f"DROP OWNED BY {reader}; DROP ROLE {reader}")

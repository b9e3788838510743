"""Names to records: sure, or a question to the person, and never a guess."""

from collections.abc import Sequence

import pytest

from askbus.access.model import Principal, Scope
from askbus.errors import InvalidInput, NotFound, PermissionDenied
from askbus.records.engine import Records
from askbus.records.fold import difference, fold, skeleton
from askbus.records.names import Candidate, Resolution, ResolveRequest, ResolveResult
from askbus.records.resolve import resolve
from askbus.testing.records import TeamDatabase, somebody

pytestmark = pytest.mark.requirement("R5")


def keys(candidates: Sequence[Candidate]) -> list[object]:
    return [candidate.key["id"] for candidate in candidates]


async def find(records: Records, member: Principal, text: str, collection: str = "people", **more: object) -> ResolveResult:
    return await resolve(records, member, ResolveRequest.model_validate({"collection": collection, "text": text, **more}))


@pytest.fixture(params=["without extensions", "with pg_trgm"])
async def people(team: TeamDatabase, request: pytest.FixtureRequest) -> TeamDatabase:
    """Names that are easy to take for each other, with and without the extension in a schema of its own."""
    if request.param == "with pg_trgm":
        await team.run('CREATE SCHEMA "Ext Ensions"; CREATE EXTENSION pg_trgm SCHEMA "Ext Ensions"')
    await team.run(
        "CREATE TABLE people (id int PRIMARY KEY, first_name text, last_name text, email text, password text)",
        "INSERT INTO people VALUES (1, 'Zoë', 'Quinn', 'zoe@example.org', 'x'), (2, 'Zoe', 'Quinn', NULL, 'x'), "
        "(3, 'José', 'Núñez', 'jn@example.org', 'x'), (4, 'Søren', 'Kierkegaard', NULL, 'x'), (5, 'Ada', NULL, NULL, 'x')",
    )
    return team


async def test_one_record_with_that_name_is_the_match(people: TeamDatabase, records: Records, member: Principal) -> None:
    """By the full name as people write it, by a part of it, by its e-mail address; case and accents do not matter."""
    for text in ("José Núñez", "jose nunez", "NÚÑEZ", "jn@example.org", "  José Núñez "):
        found = await find(records, member, text)
        assert (found.outcome, found.match and found.match.key, found.near) == (Resolution.MATCH, {"id": 3}, ()), text
    assert (await find(records, member, "soren kierkegaard")).match == Candidate(
        key={"id": 4}, label="Søren Kierkegaard", difference="accents or letter variants differ"
    )
    assert (await find(records, member, "Ada")).match == Candidate(key={"id": 5}, label="Ada")


async def test_an_exact_name_is_sure_beside_names_that_read_alike(
    people: TeamDatabase, records: Records, member: Principal
) -> None:
    """Zoe Quinn is meant, and Zoë Quinn is shown with the difference."""
    found = await find(records, member, "Zoe Quinn")
    assert found.match == Candidate(key={"id": 2}, label="Zoe Quinn")
    assert found.near == (Candidate(key={"id": 1}, label="Zoë Quinn", difference="accents or letter variants differ"),)


async def test_several_records_are_a_list_to_choose_from(people: TeamDatabase, records: Records, member: Principal) -> None:
    """Neither is picked, though both are close."""
    for text in ("Quinn", "zoe quinn", "ZOË QUINN"):
        found = await find(records, member, text)
        assert (found.outcome, found.match, sorted(map(str, keys(found.candidates)))) == (Resolution.AMBIGUOUS, None, ["1", "2"])


async def test_a_misspelt_name_gives_near_misses_and_no_match(people: TeamDatabase, records: Records, member: Principal) -> None:
    """The person is asked; nothing alike gives nothing."""
    found = await find(records, member, "Kirkegaard")
    assert (found.outcome, found.match, keys(found.near)) == (Resolution.NONE, None, [4])
    nothing = await find(records, member, "Wittgenstein")
    assert (nothing.outcome, nothing.near) == (Resolution.NONE, ())


async def test_only_permitted_fields_and_collections_are_looked_in(
    people: TeamDatabase, records: Records, member: Principal
) -> None:
    """A denied column is refused by name; so is what does not exist."""
    assert keys((await find(records, member, "Quinn", fields=["last_name"])).candidates) == [1, 2]
    with pytest.raises(PermissionDenied, match="password"):
        await find(records, member, "x", fields=["password"])
    assert (await find(records, member, "x")).outcome is Resolution.NONE
    with pytest.raises(NotFound, match="people"):
        await find(records, member, "x", collection="persons")
    with pytest.raises(InvalidInput, match="NUL"):
        await find(records, member, "a\0b")
    with pytest.raises(PermissionDenied, match="data:read"):
        await resolve(records, somebody(scopes=frozenset({Scope.CHAT})), ResolveRequest(collection="people", text="Ada"))


async def test_wildcards_in_a_name_are_letters_like_any_other(team: TeamDatabase, records: Records, member: Principal) -> None:
    """What LIKE or a regular expression would read as a pattern finds itself and nothing else, in any case and normal form."""
    names = ["100% Fun", "100x Fun", "a_b", "axb", r"c\d", "(e|f).*", "Caf\u00e9 %", "cafe\u0301 %"]
    await team.run("CREATE TABLE shops (id int PRIMARY KEY, name text)")
    for place, name in enumerate(names):
        await team.run(f"INSERT INTO shops VALUES ({place}, '{name}')")

    async def found(text: str) -> list[object]:
        result = await resolve(records, member, ResolveRequest(collection="shops", text=text))
        return [one.key["id"] for one in ([result.match] if result.match else result.candidates)]

    assert [await found(name) for name in names[:6]] == [[0], [1], [2], [3], [4], [5]]
    assert [await found(text) for text in ("100% fun", "A_B", "%", "_", ".*", "100_ Fun")] == [[0], [2], [], [], [], []]
    assert await found("CAFE %") == [6, 7]


async def test_a_long_list_is_cut_and_says_so(team: TeamDatabase, records: Records, member: Principal) -> None:
    """The exact one is found among any number of others; without one, nobody is picked from a cut list."""
    await team.run(
        "CREATE TABLE people (id int PRIMARY KEY, name text)",
        "INSERT INTO people SELECT n, 'smith' FROM generate_series(1, 50) AS n; INSERT INTO people VALUES (99, 'Smith')",
    )
    found = await find(records, member, "Smith")
    assert (found.match and found.match.key, len(found.near), found.truncated) == ({"id": 99}, 5, True)
    several = await find(records, member, "SMITH")
    assert (several.outcome, len(several.candidates), several.truncated) == (Resolution.AMBIGUOUS, 20, True)


async def test_a_collection_without_names_is_found_by_its_key(team: TeamDatabase, records: Records, member: Principal) -> None:
    """Order 98 is order 98; without a key there is nothing to give back."""
    await team.run(
        "CREATE TABLE orders (id int PRIMARY KEY, total numeric); INSERT INTO orders VALUES (98, 1)", "CREATE TABLE log (x text)"
    )
    assert (await find(records, member, "98", collection="orders")).match == Candidate(key={"id": 98}, label="98")
    with pytest.raises(InvalidInput, match="no primary key"):
        await find(records, member, "x", collection="log")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("STRASSE", "straße"), ("Ærøskøbing", "aeroskobing"), ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("Łódź", "lodz"), ("ﬁne", "FINE"),
        ("İZMİR", "izmir"), ("\uff21da", "ada"),
    ],
)  # fmt: skip
async def test_the_server_folds_names_as_python_does(
    team: TeamDatabase, records: Records, member: Principal, one: str, other: str
) -> None:
    """Both sides are compared by one key, whatever the database's own locale (here C) would say."""
    await team.run("CREATE TABLE people (id int PRIMARY KEY, name text)", f"INSERT INTO people VALUES (1, '{one}')")
    assert fold(one) == fold(other)
    assert (await find(records, member, other)).outcome is Resolution.MATCH


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ("Anna", ""),
        ("ANNA", "upper and lower case differ"),
        ("Änna", "accents or letter variants differ"),
        ("Anna ", "it begins or ends with a blank"),
        ("An\u200bna", "it holds an invisible ZERO WIDTH SPACE"),
        ("\u0410nna", "CYRILLIC SMALL LETTER A instead of LATIN SMALL LETTER A"),
        ("A nna", ""),
        ("Berta", ""),
    ],
)
def test_what_the_eye_does_not_see_is_spelled_out(found: str, says: str) -> None:
    """Two names that look the same are two records to choose from only if the difference is told."""
    assert difference(found, "Anna") == says


def test_a_skeleton_keeps_what_a_reader_can_tell_apart() -> None:
    """Look-alikes fall together; different names do not."""
    assert skeleton("\u0410nn\u0430\u00a0 \u200bB") == skeleton("anna b")
    assert skeleton("Anna") != skeleton("Anne")

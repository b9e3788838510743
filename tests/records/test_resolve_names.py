"""Many names at once: the same outcome for each as alone."""

import pytest

from askbus.access.model import Principal
from askbus.errors import InvalidInput, NotFound
from askbus.records.engine import Records
from askbus.records.names import ResolveNamesRequest, ResolveRequest
from askbus.records.resolve import resolve
from askbus.records.resolve_names import resolve_names
from askbus.testing.records import TeamDatabase

pytestmark = pytest.mark.requirement("R5", "C31")

NAMES = [
    "José Núñez",
    "jose nunez",
    "Zoe Quinn",
    "ZOE QUINN",
    "Zoë",
    "Ada",
    "Søren Kierkegard",
    "jn@example.org",
    "Nobody at all",
    "ada",
]


@pytest.fixture
async def people(team: TeamDatabase) -> TeamDatabase:
    """Names that are easy to take for each other."""
    await team.run(
        "CREATE TABLE people (id int PRIMARY KEY, first_name text, last_name text, email text, password text)",
        "INSERT INTO people VALUES (1, 'Zoë', 'Quinn', 'zoe@example.org', 'x'), (2, 'Zoe', 'Quinn', NULL, 'x'), "
        "(3, 'José', 'Núñez', 'jn@example.org', 'x'), (4, 'Søren', 'Kierkegaard', NULL, 'x'), (5, 'Ada', NULL, NULL, 'x')",
    )
    return team


async def test_each_name_comes_to_what_it_comes_to_alone(people: TeamDatabase, records: Records, member: Principal) -> None:
    """Matches with their keys, those that a person must choose from, and those that nothing is called."""
    together = await resolve_names(records, member, ResolveNamesRequest(collection="people", texts=tuple(NAMES)))
    matched = {one.text: one for one in together.matched}
    unsure = {one.text: one for one in together.unsure}
    assert matched.keys() | unsure.keys() == set(NAMES)
    for name in NAMES:
        alone = await resolve(records, member, ResolveRequest(collection="people", text=name))
        if alone.match is not None:
            assert (matched[name].key, matched[name].difference) == (alone.match.key, alone.match.difference), name
        else:
            found = unsure[name]
            assert (found.outcome, found.candidates, found.near) == (alone.outcome, alone.candidates, alone.near), name
    assert len(matched) >= 4
    assert {one.outcome.value for one in unsure.values()} == {"ambiguous", "none"}


async def test_names_asked_twice_are_answered_once(people: TeamDatabase, records: Records, member: Principal) -> None:
    """Rows of a file repeat; the answer need not."""
    found = await resolve_names(records, member, ResolveNamesRequest(collection="people", texts=("Ada", " Ada ", "Ada")))
    assert [one.text for one in found.matched] == ["Ada"]


async def test_what_cannot_be_searched_is_said(people: TeamDatabase, records: Records, member: Principal) -> None:
    """As for one name."""
    with pytest.raises(NotFound):
        await resolve_names(records, member, ResolveNamesRequest(collection="persons", texts=("Ada",)))
    with pytest.raises(InvalidInput):
        await resolve_names(records, member, ResolveNamesRequest(collection="people", texts=("a\0b",)))

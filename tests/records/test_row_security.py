"""Row-level security of the team's database holds for reads and writes: policies see who acts, and a named role acts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import pytest

from askbus.access.model import Principal
from askbus.errors import InvalidInput, Unavailable
from askbus.records.apply import apply
from askbus.records.changes import Operation, OutcomeState
from askbus.records.engine import Records, open_records
from askbus.records.ledger import rights_needed
from askbus.records.model import QueryPlan
from askbus.records.names import ResolveRequest
from askbus.records.propose import prepare
from askbus.records.query import query
from askbus.records.resolve import resolve
from askbus.records.undo import undo
from askbus.testing.records import TeamDatabase, somebody

pytestmark = pytest.mark.requirement("R6")

OTHER = somebody(user=UUID(int=77))


@asynccontextmanager
async def secured(team: TeamDatabase, member: Principal) -> AsyncIterator[tuple[str, str]]:
    """Notes that only their holder, in their workspace, sees and changes; a user who may do nothing, and the role that may."""
    role, login = f"acting_{team.name[-8:]}", f"login_{team.name[-8:]}"
    mine = "holder = current_setting('askbus.user_id')::uuid AND workspace = current_setting('askbus.workspace_id')::uuid"
    await team.run(
        "CREATE TABLE notes (id int PRIMARY KEY, name text, holder uuid NOT NULL, workspace uuid NOT NULL)",
        f"INSERT INTO notes SELECT id, 'note', holder::uuid, '{member.workspace_id}' "
        f"FROM (VALUES (1, '{member.user_id}'), (2, '{OTHER.user_id}')) AS given (id, holder)",
        "ALTER TABLE notes ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY own ON notes USING ({mine}) WITH CHECK ({mine})",
        f"CREATE ROLE {role} NOLOGIN; CREATE ROLE {login} LOGIN NOINHERIT PASSWORD 'login' IN ROLE {role}",
        "\n".join(rights_needed(role, ["public"])),
    )
    try:
        yield f"postgresql://{login}:login@{team.url.partition('@')[2]}", role
    finally:
        await team.run(f"DROP OWNED BY {role}, {login}; DROP ROLE {login}, {role}")


def renamed(record: int, **values: object) -> list[Operation]:
    return [Operation.model_validate({"id": "a", "kind": "update", "collection": "notes", "record": record, "values": values})]


async def ids(records: Records, who: Principal) -> list[object]:
    return [row[0] for row in (await query(records, who, QueryPlan(collection="notes", fields=("id",)))).rows]


async def test_a_named_role_acts_and_policies_see_for_whom(team: TeamDatabase, member: Principal) -> None:
    """Reads, names, proposals, applies and undos, one after the other on one connection."""
    async with secured(team, member) as (url, role):
        records = open_records(url, pool_size=1, role=role)
        assert [await ids(records, who) for who in (member, OTHER, member)] == [[1], [2], [1]]
        assert (await resolve(records, OTHER, ResolveRequest(collection="notes", text="note"))).match is not None
        with pytest.raises(InvalidInput, match="no such record"):
            await prepare(records, member, renamed(2, name="mine now"))
        prepared = (await prepare(records, member, renamed(1, name="changed"))).operations
        assert (await apply(records, uuid4(), prepared, OTHER)).state is not OutcomeState.APPLIED
        applied = await apply(records, uuid4(), prepared, member)
        assert applied.state is OutcomeState.APPLIED
        assert await team.value("SELECT name FROM notes WHERE id = 1") == "changed"
        assert (await undo(records, uuid4(), applied.id, OTHER)).state is OutcomeState.REFUSED
        assert (await undo(records, uuid4(), applied.id, member)).state is OutcomeState.UNDONE
        assert await team.rows("SELECT id, name FROM notes ORDER BY id") == [(1, "note"), (2, "note")]
        given = (await prepare(records, member, renamed(1, holder=str(OTHER.user_id)))).operations
        refused = await apply(records, uuid4(), given, member)
        assert (refused.state, await ids(records, member)) == (OutcomeState.FAILED, [1])
        await records.dispose()


async def test_without_the_role_its_rights_are_not_there(team: TeamDatabase, member: Principal) -> None:
    """The role is put on for one transaction, and a role that cannot be put on is said so."""
    async with secured(team, member) as (url, _):
        bare = open_records(url, pool_size=1)
        assert dict((await bare.schema()).collections) == {}
        await bare.dispose()
        wrong = open_records(url, pool_size=1, role="nobody_at_all")
        with pytest.raises(Unavailable, match="ASKBUS_RECORDS_ROLE"):
            await query(wrong, member, QueryPlan(collection="notes"))
        await wrong.dispose()

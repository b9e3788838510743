"""GET /v1/events: what a person's one stream shows, from the first byte on."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from askbus.access import verbs as access
from askbus.access.model import Scope
from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.questions import verbs
from askbus.testing.composed import Composed
from askbus.testing.events import EventClient, following
from askbus.testing.people import Company, give_token
from askbus.testing.questions import answer_command, ask_back_command, open_question
from askbus.testing.turns import running_turn

CASE = json.loads((Path(__file__).parents[1] / "cases" / "sse" / "S11.json").read_text("utf-8"))


def ids_of(state: object) -> set[str]:
    assert isinstance(state, dict)
    return {entity["id"] for entity in state["entities"]}


async def heard_of(client: EventClient, pool: Pool, company: Company, *question_ids: UUID) -> bool:
    """Whether any of these reaches the client, before something that surely does."""
    last = await open_question(pool, company["mia"].principal, company.north)
    seen: set[str] = set()
    while str(last.id) not in seen:
        seen |= {change["id"] for change in await client.changes()}
    return not seen.isdisjoint(map(str, question_ids))


@pytest.mark.requirement("S3", "Q10", "Q11")
async def test_the_stream_begins_with_what_is_true_now(gateway: Composed, company: Company, pool: Pool) -> None:
    """Open questions, pending actions and running turns by id and state, and the counts; never a word of any."""
    mia, max_ = company["mia"], company["max"]
    agent = (await give_token(pool, mia)).principal
    mine = await open_question(pool, agent, company.north, assignee_id=mia.id, text="a secret", title="another")
    anyones = await open_question(pool, max_.principal, company.north)
    settled = await open_question(pool, agent, company.north)
    await verbs.answer(pool, answer_command(max_.principal, settled.id), trace=None)
    over = await open_question(pool, agent, company.north, now=datetime.now(UTC) - timedelta(hours=1), expires_in=60)
    async with following(gateway.http, mia) as client:
        event = await client.next()
    assert (event.name, event.data["counts"]) == ("state", {"open": 2, "for_me": 2, "unseen": 2})
    shown = {entity["id"]: entity for entity in event.data["entities"]}
    assert shown.keys() == {str(mine.id), str(anyones.id)}
    assert not {str(settled.id), str(over.id)} & shown.keys()
    assert shown[str(mine.id)] == {
        "entity": "question",
        "id": str(mine.id),
        "op": "upsert",
        "status": "open",
        "project": str(company.north),
        "assignee": str(mia.id),
    }
    assert b"secret" not in client.raw
    assert b"another" not in client.raw


@pytest.mark.requirement("S1", "S2", "Q10")
async def test_changes_come_as_they_are_made(gateway: Composed, company: Company, pool: Pool) -> None:
    """Asked, asked back, answered: each with its state and an id, and nothing of what was said."""
    mia, max_ = company["mia"], company["max"]
    async with following(gateway.http, max_) as client:
        assert (await client.next()).data["entities"] == []
        question = await open_question(pool, mia.principal, company.north, text="a secret", assignee_id=max_.id)
        asked = await client.next()
        await verbs.ask_back(pool, ask_back_command(max_.principal, question.id, "a secret"), trace=None)
        asked_back = await client.next()
        await verbs.answer(pool, answer_command(max_.principal, question.id, "a secret"), trace=None)
        answered = await client.next()
    expected = {"entity": "question", "id": str(question.id), "op": "upsert", "project": str(company.north)}
    for event, status in ((asked, "open"), (asked_back, "open"), (answered, "answered")):
        assert (event.name, event.data) == ("changes", [{**expected, "status": status, "assignee": str(max_.id)}])
        assert event.id
    assert len({asked.id, asked_back.id, answered.id}) == 3
    assert b"secret" not in client.raw


@pytest.mark.requirement("S2", "I6")
async def test_nobody_hears_of_what_they_may_not_see(gateway: Composed, company: Company, pool: Pool) -> None:
    """Another project, another workspace, somebody else's chat: neither in the state nor live."""
    owner, mia, stranger = (company[name].principal for name in ("owner", "mia", "stranger"))

    async def hidden() -> list[UUID]:
        made = [
            await open_question(pool, owner, company.south),
            await open_question(pool, stranger, company.elsewhere),
            await open_question(pool, owner, company.north, turn_id=(await running_turn(pool, company, "owner")).id),
        ]
        return [question.id for question in made]

    before = await hidden()
    for name in ("max", "viewer", "demo"):
        async with following(gateway.http, company[name]) as client:
            state = await client.next()
            assert ids_of(state.data).isdisjoint(map(str, before))
            assert not await heard_of(client, pool, company, *await hidden())
    async with following(gateway.http, company["stranger"]) as client:
        assert len(ids_of((await client.next()).data)) == 4
        await open_question(pool, mia, company.north)
        seen = await open_question(pool, stranger, company.elsewhere)
        assert [change["id"] for change in await client.changes()] == [str(seen.id)]


@pytest.mark.requirement("S2", "I3")
async def test_an_owner_hears_of_a_project_that_is_made_later(gateway: Composed, company: Company, pool: Pool) -> None:
    """They see every project of the workspace, so the open stream does too."""
    owner = company["owner"]
    async with following(gateway.http, owner) as client:
        await client.next()
        project = await access.create_project(pool, company.workspace_id, "west")
        question = await open_question(pool, owner.principal, project)
        told = await client.changes()
        while "question" not in {change["entity"] for change in told}:
            told = await client.changes()  # the project itself is told, too
        assert told[-1]["id"] == str(question.id)


@pytest.mark.requirement("S2")
async def test_a_stream_can_be_narrowed_to_some_entities(gateway: Composed, company: Company, pool: Pool) -> None:
    """The state and the changes alike; a name that is none is refused."""
    mia = company["mia"].principal
    await open_question(pool, mia, company.north)
    async with following(gateway.http, company["max"], query={"entities": "action,turn"}) as client:
        state = await client.next()
        assert state.data == {"entities": [], "counts": None}
        question = await open_question(pool, mia, company.north)
        thread = uuid4()
        await pool.execute(
            "INSERT INTO threads (id, workspace_id, project_id, user_id, title, command_id) VALUES ($1, $2, $3, $4, '', $1)",
            thread, company.workspace_id, company.north, company["max"].id,
        )  # fmt: skip
        turn = new_id()
        await pool.execute(
            "INSERT INTO turns (id, workspace_id, project_id, user_id, thread_id, client_message_id, principal)"
            " VALUES ($1, $2, $3, $4, $5, 'm', '{}')",
            turn, company.workspace_id, company.north, company["max"].id, thread,
        )  # fmt: skip
        assert [change["id"] for change in await client.changes()] == [str(turn)]
        assert str(question.id).encode() not in client.raw
    async with gateway.client(company["max"]) as browser:
        for wrong in ("membership", "question,session", "nothing", ",", "question\0"):
            refused = await browser.get("/v1/events", params={"entities": wrong})
            assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")


@pytest.mark.requirement("S2", "I4")
async def test_an_agents_stream_shows_what_its_token_may_read(gateway: Composed, company: Company, pool: Pool) -> None:
    """With `data:read` alone that is nothing of questions, not even how many there are."""
    mia = company["mia"]
    reader, asker = await give_token(pool, mia, (Scope.DATA_READ,)), await give_token(pool, mia, (Scope.QUESTIONS_ASK,))
    north_only = await give_token(pool, company["owner"], projects=(company.north,))
    await open_question(pool, company["max"].principal, company.north)
    async with following(gateway.http, reader) as client:
        assert (await client.next()).data == {"entities": [], "counts": None}
    async with following(gateway.http, asker) as client:
        state = await client.next()
        assert (len(state.data["entities"]), state.data["counts"]) == (1, {"open": 1, "for_me": 1, "unseen": 1})
    async with following(gateway.http, north_only) as client:
        await client.next()
        south = await open_question(pool, company["owner"].principal, company.south)
        assert not await heard_of(client, pool, company, south.id)


@pytest.mark.requirement("I6", "S8")
async def test_without_credentials_that_work_there_is_no_stream(gateway: Composed, company: Company, pool: Pool) -> None:
    """Nobody, a revoked token, an expired one: 401 and not a byte of events."""
    revoked, expired = await give_token(pool, company["mia"]), await give_token(pool, company["mia"])
    await access.revoke_token(pool, company["mia"].principal, revoked.id)
    await pool.execute("UPDATE tokens SET expires_at = now() WHERE id = $1", expired.id)
    for who in (None, revoked, expired):
        async with gateway.client(who) as client:
            refused = await client.get("/v1/events")
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")


@pytest.mark.requirement("S5")
async def test_the_response_says_what_keeps_proxies_from_holding_it(gateway: Composed, company: Company, pool: Pool) -> None:
    """Case S11: the headers, `retry` at once, no compression, LF alone, and comments while nothing happens."""
    async with following(gateway.http, company["mia"], headers={"accept-encoding": "gzip"}) as client:
        for name, value in CASE["headers_required"].items():
            assert client.headers[name.lower()] == value
        assert "content-encoding" not in client.headers
        assert (await client.read()) == b"retry: 2000\n\n"
        state = await client.next(within=1)
        assert state.name == "state"
        assert (await client.read()) == (await client.read()) == b": still here\n\n"
        question = await open_question(pool, company["mia"].principal, company.north)
        assert [change["id"] for change in await client.changes(within=1)] == [str(question.id)]
    assert b"\r" not in client.raw


@pytest.mark.requirement("S5")
async def test_asking_for_the_head_alone_opens_no_stream(gateway: Composed, company: Company) -> None:
    """The headers come, and the response ends."""
    async with gateway.client(company["mia"]) as client:
        head = await client.head("/v1/events")
    assert (head.status_code, head.headers["content-type"], head.content) == (200, "text/event-stream", b"")

"""A team manages itself over HTTP: its workspace, its projects, its members, and who may do what to whom."""

from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from askbus.access import verbs
from askbus.access.model import Role
from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Company, Person, give_token, hire

CHANGES = {"x-askbus": "1"}


async def roles(client: httpx2.AsyncClient) -> dict[str, tuple[str, bool]]:
    listed = await client.get("/v1/workspace/members")
    assert listed.status_code == 200, listed.text
    return {member["name"]: (member["role"], member["demo"]) for member in listed.json()["members"]}


async def change(client: httpx2.AsyncClient, who: Person, **said: Any) -> tuple[int, str]:
    response = await client.patch(f"/v1/workspace/members/{who.id}", json=said)
    return response.status_code, response.text


@pytest.mark.requirement("I3")
async def test_owners_manage_everybody_and_admins_everybody_but_owners(team: Composed, company: Company, pool: Pool) -> None:
    """By table, each from the same beginning: who changes whom to what, and what of it counts."""
    await hire(pool, company.workspace_id, "second", Role.ADMIN)
    table: list[tuple[str, str, dict[str, Any], int]] = [
        ("owner", "mia", {"role": "owner"}, 204),
        ("owner", "admin", {"role": "viewer"}, 204),
        ("owner", "mia", {"demo": True}, 204),
        ("admin", "mia", {"role": "admin"}, 204),
        ("admin", "viewer", {"role": "member"}, 204),
        ("admin", "admin", {"role": "member"}, 204),
        ("admin", "mia", {"role": "owner"}, 403),
        ("admin", "admin", {"role": "owner"}, 403),
        ("admin", "owner", {"role": "member"}, 403),
        ("admin", "owner", {"role": "owner"}, 403),
        ("admin", "mia", {"role": "admin", "demo": True}, 400),
        ("owner", "demo", {"role": "admin"}, 400),
        ("owner", "demo", {"role": "admin", "demo": False}, 204),
        ("owner", "owner", {"role": "admin"}, 409),
        ("mia", "mia", {"role": "admin"}, 403),
        ("mia", "max", {"role": "viewer"}, 403),
        ("viewer", "viewer", {"role": "member"}, 403),
        ("demo", "demo", {"demo": False}, 403),
        ("stranger", "mia", {"role": "viewer"}, 404),
        ("stranger", "owner", {"role": "viewer"}, 404),
    ]
    kinds = {"owner": "owner", "admin": "admin", "mia": "member", "max": "member", "viewer": "viewer", "demo": "member"}
    for who, whom, said, status in table:
        async with team.client(company[who]) as client, team.client(company["owner"]) as owner:
            answered, text = await change(client, company[whom], **said)
            assert answered == status, (who, whom, said, text)
            now = await roles(owner)
            before = (kinds[whom], whom == "demo")
            wanted = (said.get("role", before[0]), said.get("demo", before[1])) if status == 204 else before
            assert now[whom] == wanted, (who, whom, said)
        await verbs.set_member(pool, company.workspace_id, company[whom].id, Role(kinds[whom]), demo=whom == "demo")
    audited = await pool.fetch("SELECT DISTINCT via, user_id FROM audit_log WHERE event = 'member.changed' AND via = 'session'")
    assert {row["user_id"] for row in audited} == {company["owner"].id, company["admin"].id}


@pytest.mark.requirement("I3", "I4", "I6")
async def test_nothing_is_managed_by_tokens_members_or_strangers(team: Composed, company: Company, pool: Pool) -> None:
    """Every route of it, for an owner's token with all that one may hold, a member, a viewer and a demo user; a stranger finds nothing."""
    some: dict[str, Any] = {"json": {}}
    mia, north = company["mia"].id, company.north
    routes: list[tuple[str, str, dict[str, Any], int]] = [
        ("GET", "/v1/workspace", {}, 200),
        ("PATCH", "/v1/workspace", {"json": {"name": "Taken over"}}, 200),
        ("GET", "/v1/workspace/members", {}, 200),
        ("PATCH", f"/v1/workspace/members/{mia}", {"json": {"role": "viewer"}}, 404),
        ("DELETE", f"/v1/workspace/members/{mia}", {"headers": CHANGES}, 404),
        ("POST", "/v1/projects", {"json": {"name": "west"}}, 201),
        ("PATCH", f"/v1/projects/{north}", {"json": {"name": "west 2"}}, 404),
        ("PUT", f"/v1/projects/{north}/members/{mia}", some, 404),
        ("DELETE", f"/v1/projects/{north}/members/{mia}", {"headers": CHANGES}, 404),
    ]
    token = await give_token(pool, company["owner"])
    for who in (token, company["max"], company["viewer"], company["demo"]):
        async with team.client(who) as client:
            for method, path, how, _ in routes:
                assert (await client.request(method, path, **how)).status_code == 403, (who, method, path)
    async with team.client(company["stranger"]) as stranger:
        for method, path, how, status in routes:
            assert (await stranger.request(method, path, **how)).status_code == status, (method, path)
    assert await pool.fetchval("SELECT name FROM workspaces WHERE id = $1", company.workspace_id) == "Nordlicht"
    assert await pool.fetchval("SELECT count(*) FROM projects WHERE workspace_id = $1", company.workspace_id) == 2
    assert await pool.fetchval("SELECT role FROM memberships WHERE user_id = $1", mia) == "member"
    assert await pool.fetchval("SELECT count(*) FROM project_members WHERE user_id = $1", mia) == 1


@pytest.mark.requirement("I3")
async def test_a_workspace_is_called_and_chooses_what_its_admins_say(team: Composed, company: Company) -> None:
    """What is missing stays, null leaves it to the deployment, nonsense is refused by name; members feel it at their next call."""
    chosen = {
        "name": "Südlicht",
        "time_zone": "Europe/Berlin",
        "demo_chat": True,
        "instructions": "Be brief.",
        "model": "default",
        "number_check": "ask_again",
    }
    async with team.client(company["admin"]) as admin, team.client(company["demo"]) as demo:
        assert "chat" not in (await demo.get("/v1/me")).json()["principal"]["scopes"]
        changed = await admin.patch("/v1/workspace", json=chosen)
        assert (changed.status_code, changed.json()["models"]) == (200, ["default"])
        assert {**changed.json()["workspace"], "id": None} == {"id": None, **chosen}
        assert (await admin.get("/v1/workspace")).json() == changed.json()
        me = (await demo.get("/v1/me")).json()
        assert (me["workspace"], "chat" in me["principal"]["scopes"]) == ("Südlicht", True)
        back = await admin.patch("/v1/workspace", json={"instructions": "  ", "model": None, "time_zone": None})
        left = back.json()["workspace"]
        assert (left["instructions"], left["model"], left["time_zone"], left["name"]) == (None, None, None, "Südlicht")
        for wrong in (
            {"name": " "}, {"name": None}, {"time_zone": "Mars/Olympus"}, {"model": "made up"}, {"instructions": "x" * 4001},
            {"demo_chat": None}, {"number_check": "ignore"}, {"surprise": 1},
        ):  # fmt: skip
            refused = await admin.patch("/v1/workspace", json=wrong)
            assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input"), wrong
        taken = await admin.patch("/v1/workspace", json={"name": "Nordlicht elsewhere"})
        assert (taken.status_code, taken.json()["code"]) == (409, "conflict")


@pytest.mark.requirement("I3", "I10")
async def test_projects_are_made_once_named_and_shown_to_who_is_added(team: Composed, company: Company, pool: Pool) -> None:
    """Sent twice it is one project; adding shows it at the next call, taking away hides it; each step is in the audit."""
    mia, key = company["mia"], {"idempotency-key": str(uuid4())}
    async with team.client(company["admin"]) as admin, team.client(mia) as browser:
        made = [await admin.post("/v1/projects", json={"name": "west"}, headers=key) for _ in range(2)]
        assert [(response.status_code, response.json()) for response in made] == [
            (201, {"id": key["idempotency-key"], "name": "west", "may_write": True})
        ] * 2
        west = made[0].json()["id"]
        assert (await admin.post("/v1/projects", json={"name": "west"})).status_code == 409
        assert (await admin.patch(f"/v1/projects/{company.south}", json={"name": "west"})).status_code == 409
        assert (await admin.patch(f"/v1/projects/{west}", json={"name": "far west"})).json()["name"] == "far west"
        place = f"/v1/projects/{west}/members/{mia.id}"
        seen = []
        for step in (None, "PUT", "PUT", "DELETE", "DELETE"):
            if step is not None:
                response = await admin.request(step, place, **({"json": {}} if step == "PUT" else {"headers": CHANGES}))  # type: ignore[arg-type]
                assert response.status_code == 204, response.text
            seen.append([project["name"] for project in (await browser.get("/v1/projects")).json()["projects"]])
        assert seen == [["north"], ["far west", "north"], ["far west", "north"], ["north"], ["north"]]
        for path in (
            f"/v1/projects/{company.elsewhere}/members/{mia.id}",
            f"/v1/projects/{west}/members/{company['stranger'].id}",
            f"/v1/projects/{west}/members/{uuid4()}",
        ):
            assert (await admin.put(path, json={})).status_code == 404, path
        assert (await admin.patch(f"/v1/projects/{company.elsewhere}", json={"name": "x"})).status_code == 404
    events = await pool.fetch("SELECT event FROM audit_log WHERE project_id = $1 ORDER BY id", UUID(west))
    assert [row["event"] for row in events] == [
        "project.created", "project.renamed", "member.added_to_project", "member.removed_from_project",
    ]  # fmt: skip


@pytest.mark.requirement("I3", "I1")
async def test_who_is_removed_is_out_at_once_and_who_leaves_too(team: Composed, company: Company, pool: Pool) -> None:
    """Session and token alike; the last owner stays, and admins remove no owner."""
    token = await give_token(pool, company["mia"])
    async with team.client(company["admin"]) as admin, team.client(company["mia"]) as mia, team.client(token) as robot:
        assert (await robot.delete(f"/v1/workspace/members/{company['mia'].id}", headers=CHANGES)).status_code == 403
        assert (await admin.delete(f"/v1/workspace/members/{company['owner'].id}", headers=CHANGES)).status_code == 403
        assert (await admin.delete(f"/v1/workspace/members/{company['mia'].id}", headers=CHANGES)).status_code == 204
        assert (await admin.delete(f"/v1/workspace/members/{company['mia'].id}", headers=CHANGES)).status_code == 404
        assert [(await client.get("/v1/me")).status_code for client in (mia, robot)] == [401, 401]
        async with team.client(company["max"]) as max_, team.client(company["owner"]) as owner:
            assert (await max_.delete(f"/v1/workspace/members/{company['max'].id}", headers=CHANGES)).status_code == 204
            assert (await max_.get("/v1/me")).status_code == 401
            last = await owner.delete(f"/v1/workspace/members/{company['owner'].id}", headers=CHANGES)
            assert (last.status_code, last.json()["code"]) == (409, "conflict")
        assert set(await roles(admin)) == {"owner", "admin", "viewer", "demo"}
        pages, before = [], None
        while True:
            page = (
                await admin.get("/v1/workspace/members", params={"limit": 3, **({"before": before} if before else {})})
            ).json()
            pages += [member["name"] for member in page["members"]]
            if (before := page["next"]) is None:
                break
        assert (len(pages), set(pages)) == (4, {"owner", "admin", "viewer", "demo"})

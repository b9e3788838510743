"""The audit log over HTTP: every event is in it, by ids and never by text, and who may read and export it."""

import csv
import io
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from askbus.access import verbs
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.actions import NEW, confirmed, proposed, undone
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company, give_token
from askbus.testing.records import TeamDatabase
from askbus.testing.servers import Server, TestDatabase
from askbus_action_applier.app import make_app as make_applier
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker

CHANGES = {"x-askbus": "1"}
SECRETS = ("Shall we ship the Kestrel?", "Only on Tuesdays", NEW, "ada@new.example", "the agent's own name")


@pytest.fixture
async def askbus(database: TestDatabase, nats_server: Server, company: Company, shop: TeamDatabase) -> AsyncIterator[Composed]:
    """Gateway, question-broker and action-applier, where changes may be allowed in advance."""
    await provision(nats_server.url, ack_wait=1)
    services = [
        (Service.GATEWAY, make_gateway),
        (Service.QUESTION_BROKER, make_broker),
        (Service.ACTION_APPLIER, make_applier),
    ]
    async with compose(database, nats_server.url, services, records_url=shop.url, standing_approval_days=7) as running:
        yield running


async def said(client: httpx2.AsyncClient, method: str, path: str, status: int, **body: Any) -> Any:
    how: dict[str, Any] = {"headers": CHANGES} if method == "DELETE" else {"json": body}
    response = await client.request(method, path, **how)
    assert response.status_code == status, response.text
    return response.json() if response.content else None


async def events_of_a_day(askbus: Composed, company: Company, pool: Pool) -> None:
    """Somebody new comes by a link, makes a token, answers what it asks, confirms what it proposes, and goes."""
    north = str(company.north)
    async with askbus.client(company["admin"]) as admin, askbus.client() as mia:
        sent = await said(admin, "POST", "/v1/invitations", 201, email="ada@new.example", projects=[north])
        await said(mia, "POST", "/v1/invitations/accept", 201, code=sent["link"].partition("=")[2], name="=HYPERLINK(1)")
        made = await said(
            mia, "POST", "/v1/tokens", 201, name="the agent's own name", scopes=["questions:ask", "actions:propose"]
        )
        headers = {"authorization": f"Bearer {made['secret']}"}
        async with httpx2.AsyncClient(base_url=askbus.http, headers=headers) as robot:
            asked = await said(robot, "POST", "/v1/questions", 201, project_id=north, text=SECRETS[0])
            await said(mia, "POST", f"/v1/questions/{asked['id']}/answer", 200, answer=SECRETS[1])
            declined = await said(robot, "POST", "/v1/questions", 201, project_id=north, text="And this?")
            await said(mia, "POST", f"/v1/questions/{declined['id']}/decline", 200, reason=SECRETS[1])
            action = await proposed(robot, company)
        assert (await confirmed(mia, action))["state"] == "applied"
        assert (await undone(mia, action["id"]))["state"] == "undone"
        allow = {"collection": "customers", "kinds": ["update"], "fields": [{"field": "email"}], "most_records": 1}
        terms = {"project_id": north, "token_id": made["token"]["id"], "allow": allow, "most_uses": 1, "expires_in": 3600}
        approval = await said(mia, "POST", "/v1/standing-approvals", 201, **terms)
        await said(mia, "POST", f"/v1/standing-approvals/{approval['id']}/revoke", 200)
        await said(mia, "DELETE", f"/v1/tokens/{made['token']['id']}", 204)
        await said(mia, "DELETE", "/v1/session", 204)


@pytest.mark.requirement("I10")
async def test_all_that_happens_is_in_the_log_by_ids_and_never_by_text(askbus: Composed, company: Company, pool: Pool) -> None:
    """In its order, with who and what with; the names of people and tokens are looked up, content is nowhere."""
    began = datetime.now(UTC).isoformat()
    await events_of_a_day(askbus, company, pool)
    async with askbus.client(company["owner"]) as owner:
        page = (await owner.get("/v1/audit", params={"since": began, "limit": 200})).json()
        entries = page["entries"][::-1]
        assert page["next"] is None
        told = [entry["event"] for entry in entries]
        assert told == [
            "invitation.sent", "invitation.accepted", "session.opened", "token.created", "question.asked", "question.answered",
            "question.asked", "question.declined", "action.proposed", "action.confirmed", "action.applied", "action.undo_requested",
            "action.undone", "standing_approval.made", "standing_approval.revoked", "token.revoked", "session.ended",
        ]  # fmt: skip
        by_event = {entry["event"]: entry for entry in entries}
        asked, answered = by_event["question.asked"], by_event["question.answered"]
        assert (asked["via"], asked["token_name"], asked["project_name"]) == ("token", "the agent's own name", "north")
        assert (answered["via"], answered["user_name"], answered["entity_name"]) == ("session", "=HYPERLINK(1)", None)
        stored = str([tuple(row) for row in await pool.fetch("SELECT * FROM audit_log")])
        assert [text for text in SECRETS if text in stored] == []

        user, question = answered["user_id"], answered["entity_id"]
        for narrow, wanted in (
            ({"user_id": user, "event": "token.created"}, ["token.created"]),
            ({"entity": "action"}, [event for event in told if event.startswith("action.")]),
            ({"entity_id": question}, ["question.asked", "question.answered"]),
            ({"project_id": str(company.south)}, []),
            ({"since": answered["at"], "until": by_event["question.declined"]["at"]}, ["question.answered", "question.asked"]),
            ({"user_id": str(uuid4())}, []),
        ):
            found = (await owner.get("/v1/audit", params={"since": began, **narrow})).json()["entries"]
            assert [entry["event"] for entry in found[::-1]] == wanted, narrow
        assert (await owner.get("/v1/audit", params={"since": "yesterday"})).status_code == 400

        paged: list[str] = []
        before: dict[str, str] = {}
        while True:
            part = (await owner.get("/v1/audit", params={"since": began, "limit": 5, **before})).json()
            paged += [entry["id"] for entry in part["entries"]]
            if part["next"] is None:
                break
            before = {"before": part["next"]}
        assert paged[::-1] == [entry["id"] for entry in entries]

        lines = await owner.get("/v1/audit/export", params={"since": began})
        assert [json.loads(line) for line in lines.text.splitlines()] == entries
        table = await owner.get("/v1/audit/export", params={"since": began, "format": "csv", "event": "question.answered"})
        assert table.headers["content-type"] == "text/csv; charset=utf-8"
        [row] = csv.DictReader(io.StringIO(table.text, newline=""))
        assert (row["user_name"], row["entity_id"], row["token_name"]) == ("'=HYPERLINK(1)", question, "")


@pytest.mark.requirement("I10", "I6")
async def test_the_log_is_for_owners_and_admins_of_its_workspace(team: Composed, company: Company, pool: Pool) -> None:
    """Not for members, viewers and demo users, for no token, and of no other workspace; who loses the role loses it at once."""
    token = await give_token(pool, company["owner"])
    for who in (company["mia"], company["viewer"], company["demo"], token):
        async with team.client(who) as client:
            for path in ("/v1/audit", "/v1/audit/export"):
                assert (await client.get(path)).status_code == 403
    async with team.client(company["stranger"]) as stranger:
        seen = (await stranger.get("/v1/audit/export")).text
        assert str(company["owner"].id) not in seen
        assert str(company["stranger"].id) in seen
        one = await pool.fetchval("SELECT id FROM audit_log WHERE workspace_id = $1 LIMIT 1", company.workspace_id)
        before = await stranger.get("/v1/audit", params={"before": str(one)})
        assert before.json()["entries"] == []
    async with team.client(company["admin"]) as admin:
        assert (await admin.get("/v1/audit", params={"until": str(datetime.now(UTC) + timedelta(days=1))})).json()["entries"]
        await verbs.set_member(pool, company.workspace_id, company["admin"].id, company["mia"].principal.role)
        assert (await admin.get("/v1/audit")).status_code == 403

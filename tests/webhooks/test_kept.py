"""Webhooks' rows: whose they are, what is recorded, and how long it is kept."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from tests.webhooks.conftest import Stage

from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.db.pool import Pool, open_pool
from askbus.outbound.policy import Policy
from askbus.runtime.sealing import Sealer
from askbus.testing.people import Company, give_token
from askbus.testing.questions import open_question
from askbus.testing.receiver import receiving
from askbus.testing.servers import TestDatabase
from askbus.webhooks import verbs
from askbus.webhooks.model import WebhookForm
from askbus_expiry.sweep import Sweep

pytestmark = pytest.mark.requirement("Q12")


async def made(pool: Pool, company: Company) -> None:
    """A webhook of the whole workspace."""
    await verbs.create(
        pool,
        company["admin"].principal,
        WebhookForm(url="https://hooks.example/askbus"),
        webhook_id=uuid4(),
        workspace_id=company.workspace_id,
        sealer=Sealer([b"k" * 32]),
        policy=Policy(),
        trace=None,
    )


async def fact_of(pool: Pool, company: Company, question_id: UUID) -> Fact:
    """As the relay would send it."""
    row = await pool.fetchrow("SELECT seq, xid::text::bigint AS xid, fact FROM change_log WHERE entity_id = $1", question_id)
    assert row is not None
    return Fact(entity="question", entity_id=question_id, status="open", workspace_id=company.workspace_id, **dict(row))


@pytest.mark.requirement("I3", "I6")
async def test_only_owners_and_admins_with_a_session_manage_webhooks(stage: Stage, pool: Pool, company: Company) -> None:
    """Everybody else is refused, whether or not a webhook is there; another workspace's owner finds nothing."""
    async with receiving() as receiver:
        hook = await stage.hook(receiver.url)
        path = f"webhooks/{hook['webhook']['id']}"
        token = await give_token(pool, company["owner"])
        calls = [
            ("GET", "webhooks"), ("POST", "webhooks"), ("GET", path), ("PATCH", path), ("DELETE", path), ("POST", f"{path}/rotate"),
            ("POST", f"{path}/ping"), ("POST", f"{path}/replay"), ("GET", f"{path}/deliveries"),
            ("POST", f"{path}/deliveries/{uuid4()}/replay"),
        ]  # fmt: skip
        for who in (company["mia"], company["viewer"], company["demo"], token):
            for method, where in calls:
                assert (await stage.call(who, method, where, status=403))["code"] == "permission_denied"
        said = {"since": datetime.now(UTC).isoformat()}
        for method, where in calls[2:]:
            body = said if where.endswith("replay") and "deliveries" not in where else None
            assert (await stage.call(company["stranger"], method, where, body, status=404))["code"] == "not_found"
        assert (await stage.call(company["stranger"], "GET", "webhooks"))["webhooks"] == []
        assert [w["id"] for w in (await stage.call(company["owner"], "GET", "webhooks"))["webhooks"]] == [hook["webhook"]["id"]]
        await stage.call(company["owner"], "DELETE", path)
        assert await pool.fetchval("SELECT count(*) FROM webhooks") == 0
        trail = await pool.fetch("SELECT event FROM audit_log WHERE entity = 'webhook' ORDER BY at")
        assert [row["event"] for row in trail] == ["webhook.created", "webhook.deleted"]


REFUSED = [
    ("http://hooks.example/", "must start with https://"),
    ("https://10.0.0.8/", "private network"),
    ("https://[::1]/", "private network"),
    ("https://mia:pass@hooks.example/", "no user"),
    ("ftp://hooks.example/", "must start with https://"),
    ("https://", "no address"),
]


async def test_an_address_that_may_not_be_reached_is_refused_when_it_is_given(stage: Stage) -> None:
    """At once, with what to give instead; so is a change to one, and an event that does not exist."""
    hook = await stage.hook("https://hooks.example/askbus")
    for url, says in REFUSED:
        assert says in (await stage.admin("POST", "webhooks", {"url": url}, status=400))["message"]
        assert says in (await stage.admin("PATCH", f"webhooks/{hook['webhook']['id']}", {"url": url}, status=400))["message"]
    problem = await stage.admin("POST", "webhooks", {"url": "https://a.example", "events": ["question.lost"]}, status=400)
    assert "question.asked" in problem["message"]


async def test_the_secret_of_a_webhook_is_shown_to_whoever_made_it_and_to_nobody_else(stage: Stage, company: Company) -> None:
    """Its id, which every admin sees, is the command that made it: sent again by another, or for a rotation, it gets no secret; and
    none that was made since."""
    made = await stage.hook("https://hooks.example/askbus")
    hook = made["webhook"]["id"]
    key = {"idempotency-key": hook}
    said = {"url": "https://hooks.example/askbus"}
    async with stage.running.client(company["owner"]) as owner, stage.running.client(company["admin"]) as admin:
        assert (await owner.post("/v1/webhooks", json=said, headers=key)).status_code == 404
        for person in (owner, admin):
            assert (await person.post(f"/v1/webhooks/{hook}/rotate", json={}, headers=key)).status_code == 400
        again = await admin.post("/v1/webhooks", json=said, headers=key)
        assert (again.status_code, again.json()["secret"] == made["secret"]) == (201, True)
        assert (await owner.post(f"/v1/webhooks/{hook}/rotate", json={})).status_code == 200
        assert (await admin.post("/v1/webhooks", json=said, headers=key)).status_code == 404
        for since in ("9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"):
            refused = await admin.post(f"/v1/webhooks/{hook}/replay", json={"since": since})
            assert (refused.status_code, "beyond the calendar" in refused.json()["message"]) == (400, True)


async def test_an_event_is_recorded_once_whether_its_fact_arrives_or_not(pool: Pool, company: Company) -> None:
    """The look at the change log finds what NATS lost; the fact that comes late after all adds nothing, and nor does a second look."""
    await made(pool, company)
    question = await open_question(pool, company["mia"].principal, company.north)
    change = await pool.fetchrow("SELECT * FROM change_log WHERE entity_id = $1", question.id)
    assert change is not None
    fact = Fact(
        fact=change["fact"],
        entity="question",
        entity_id=question.id,
        status="open",
        workspace_id=company.workspace_id,
        seq=change["seq"],
    )
    assert await verbs.record_missed(pool, rested=3600) == 0
    assert [
        await verbs.record_missed(pool, rested=0),
        await verbs.record(pool, fact),
        await verbs.record_missed(pool, rested=0),
    ] == [
        1,
        0,
        0,
    ]


async def test_what_only_one_person_may_see_is_told_to_no_webhook(pool: Pool, company: Company) -> None:
    """A chat's own question is its user's alone: its change names them, and is recorded for nobody."""
    await made(pool, company)
    question = await open_question(pool, company["mia"].principal, company.north)
    await pool.execute("UPDATE change_log SET user_id = $1 WHERE entity_id = $2", company["mia"].id, question.id)
    fact = await fact_of(pool, company, question.id)
    assert (await verbs.record(pool, fact), await verbs.record_missed(pool, rested=0)) == (0, 0)


@pytest.mark.requirement("O9")
async def test_the_log_of_deliveries_is_kept_for_thirty_days(database: TestDatabase, pool: Pool, company: Company) -> None:
    """What was settled longer ago goes, with its attempts; what is still to be sent stays, however old."""
    await made(pool, company)
    for _ in range(3):
        await open_question(pool, company["mia"].principal, company.north)
    assert await verbs.record_missed(pool, rested=0) == 3
    old, young, pending = [row["id"] for row in await pool.fetch("SELECT id FROM webhook_deliveries")]
    await verbs.claim(pool, limit=3, lease=60)
    settle = "UPDATE webhook_deliveries SET state = 'delivered', leased = false, settled_at = now() - $2::interval WHERE id = $1"
    await pool.execute(settle, old, timedelta(days=31))
    await pool.execute(settle, young, timedelta(days=29))
    async with open_pool(database.role_url(Service.EXPIRY), size=2, name="expiry") as expiry:
        await Sweep(expiry, lambda _owner: None).expire_deliveries()
    assert {row["id"] for row in await pool.fetch("SELECT id FROM webhook_deliveries")} == {young, pending}
    assert {row["delivery_id"] for row in await pool.fetch("SELECT delivery_id FROM webhook_attempts")} == {young, pending}

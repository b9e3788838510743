"""Webhooks from the question to the receiver: signed, at least once, and in nobody's way."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks.webhooks import WebhookVerificationError
from tests.webhooks.conftest import Stage

from askbus.db.pool import Pool
from askbus.testing.people import Company
from askbus.testing.receiver import ENDLESS, SILENCE, Received, receiving
from askbus.testing.waiting import until
from askbus.webhooks import verbs

pytestmark = pytest.mark.requirement("Q12")


@pytest.mark.requirement("Q10")
async def test_a_receiver_is_told_what_becomes_of_questions_by_ids_and_states(stage: Stage, company: Company) -> None:
    """Each is signed, as the receiver's own library checks, and holds no word of what was asked or answered."""
    async with receiving() as receiver:
        hook = await stage.hook(receiver.url)
        answered = await stage.ask(assignee_id=str(company["max"].id))
        await stage.call(company["max"], "POST", f"questions/{answered}/ask-back", {"text": "Which one?"})
        await stage.answer(answered)
        declined, cancelled, superseded = [await stage.ask() for _ in range(3)]
        await stage.call(company["max"], "POST", f"questions/{declined}/decline", {"reason": "not mine"})
        await stage.call(stage.agent, "POST", f"questions/{cancelled}/cancel")
        other = await stage.ask(supersedes=superseded)
        expired = await stage.ask(expires_in=1)
        late = await stage.ask(remind={"after": 1}, escalate={"after": 1, "role": "admin"})
        requests = await receiver.count(15)
        told = {
            (body["type"], body["data"]["id"], body["data"]["state"]) for body in (r.checked(hook["secret"]) for r in requests)
        }
        assert told == {
            ("question.asked_back", answered, "open"),
            ("question.answered", answered, "answered"),
            ("question.declined", declined, "declined"),
            ("question.cancelled", cancelled, "cancelled"),
            ("question.superseded", superseded, "superseded"),
            ("question.expired", expired, "expired"),
            ("question.reminded", late, "open"),
            ("question.escalated", late, "open"),
        } | {("question.asked", one, "open") for one in (answered, declined, cancelled, superseded, other, expired, late)}
        one = next(r.checked(hook["secret"]) for r in requests if "question.answered" in r.body)
        assert one.keys() == {"type", "timestamp", "data"}
        assert one["data"] == {
            "id": answered,
            "state": "answered",
            "workspace_id": str(company.workspace_id),
            "project_id": str(company.north),
            "assignee_id": str(company["max"].id),
        }
        assert not any(word in r.body for r in requests for word in ("blue", "Which", "not mine"))
        with pytest.raises(WebhookVerificationError):
            requests[0].checked("whsec_" + "A" * 40)


async def test_two_brokers_send_each_event_once_and_only_what_a_webhook_wants(stage: Stage, company: Company) -> None:
    """One is told of answers alone, one of another project; each event arrives once though two brokers look for work."""
    async with receiving() as receiver, receiving() as elsewhere:
        hook = await stage.hook(receiver.url, events=["question.answered"], project_id=str(company.north))
        await stage.hook(elsewhere.url, project_id=str(company.south))
        asked = [await stage.ask() for _ in range(20)]
        for question in asked:
            await stage.answer(question)
        await stage.settled(hook, "delivered", 20)
        assert sorted(r.checked(hook["secret"])["data"]["id"] for r in receiver.received) == sorted(asked)
        assert len({r.id for r in receiver.received}) == 20
        assert elsewhere.received == []


async def test_what_failed_is_sent_again_with_the_same_id_until_it_arrives(stage: Stage) -> None:
    """A 500, then silence, then a 200: one id, three times signed; the log shows each attempt and no word of any answer."""
    answers = [500, SILENCE, 200]
    async with receiving(lambda _request: answers.pop(0)) as receiver:
        hook = await stage.hook(receiver.url, events=["question.answered"])
        await stage.answer(await stage.ask())
        for attempt, shortest, longest in ((1, 1, 6.1), (2, 290, 361)):
            waiting = await stage.attempted(hook, attempt)
            pause = datetime.fromisoformat(waiting["due_at"]) - datetime.now(UTC)
            assert waiting["state"] == "pending"
            assert timedelta(seconds=shortest) < pause < timedelta(seconds=longest)
            await stage.later()
        (delivery,) = await stage.settled(hook, "delivered", 1)
        assert [(a["status"], a["error"]) for a in delivery["attempts"]] == [(500, None), (None, "timeout"), (200, None)]
        assert {r.id for r in receiver.received} == {delivery["id"]}
        assert len({r.body for r in receiver.received}) == 1
        for request in receiver.received:
            request.checked(hook["secret"])
        assert (await stage.admin("GET", f"webhooks/{hook['webhook']['id']}"))["failing_since"] is None


async def test_a_worker_that_died_with_a_delivery_loses_nothing(stage: Stage, pool: Pool) -> None:
    """Its lease runs out and another sends it, with the same id; a late word of the first changes nothing."""
    async with receiving() as receiver:
        hook = await stage.hook(receiver.url, events=["question.answered"])
        question = await stage.ask()
        await pool.execute("UPDATE webhooks SET state = 'disabled', reason = 'switched_off'")
        await stage.answer(question)
        (held,) = await stage.settled(hook, "held", 1)
        await pool.execute("UPDATE webhook_deliveries SET state = 'pending', settled_at = NULL, due_at = 'infinity'")
        await pool.execute("UPDATE webhooks SET state = 'active', reason = NULL")
        async with pool.acquire() as db, db.transaction():
            await db.execute("UPDATE webhook_deliveries SET due_at = now()")
            (lost,) = await verbs.claim(db, limit=10, lease=0.1)
        (delivery,) = await stage.settled(hook, "delivered", 1)
        assert [(a["attempt"], a["status"]) for a in delivery["attempts"]] == [(1, None), (2, 200)]
        assert [r.id for r in receiver.received] == [held["id"]]
        await verbs.settle(pool, lost, "failed", status=500, error=None, duration_ms=1, pause=0)
        assert (await stage.deliveries(hook))[0]["state"] == "delivered"


async def test_an_answer_is_its_status_and_nothing_more(stage: Stage) -> None:
    """A redirect is not followed, a body without end not read: any status that is not 2xx is a failure."""
    async with (
        receiving() as elsewhere,
        receiving(302, extra={"location": elsewhere.url}) as redirecting,
        receiving(ENDLESS) as endless,
        receiving(204) as content,
        receiving(404) as missing,
    ):
        hooks = {receiver.port: await stage.hook(receiver.url) for receiver in (redirecting, endless, content, missing)}
        await stage.ask()
        for receiver, status, state in (
            (redirecting, 302, "pending"),
            (endless, 200, "delivered"),
            (content, 204, "delivered"),
            (missing, 404, "pending"),
        ):
            delivery = await stage.attempted(hooks[receiver.port], 1)
            assert (delivery["state"], delivery["attempts"][0]["status"], delivery["attempts"][0]["error"]) == (
                state,
                status,
                None,
            )
        assert elsewhere.received == []


@pytest.mark.parametrize("timeout", [60.0])
async def test_a_receiver_that_never_answers_holds_up_nobody(stage: Stage) -> None:
    """Questions are asked and answered, and other receivers told, though its attempts take a minute."""
    async with receiving(SILENCE) as silent, receiving() as quick:
        await stage.hook(silent.url, events=["question.asked"])
        hook = await stage.hook(quick.url, events=["question.answered"])
        asked = await asyncio.gather(*(stage.ask() for _ in range(8)))
        await silent.count(1)
        await asyncio.gather(*(stage.answer(question) for question in asked))
        await stage.settled(hook, "delivered", 8)
        assert 0 < len(silent.received) <= 8  # four at a time, by each of two brokers that looked in the same moment


async def test_gone_disables_a_webhook_and_tells_the_admins(stage: Stage, pool: Pool, company: Company) -> None:
    """After a 410 nothing is sent; what happens is held, an admin's stream and the audit log say so, and a replay catches up."""

    def gone(request: Received) -> int:
        return 410 if "asked" in request.body else 200

    async with receiving(gone) as receiver, stage.running.client(company["admin"]) as browser:
        hook = await stage.hook(receiver.url, events=["question.asked", "question.answered"])
        path = f"webhooks/{hook['webhook']['id']}"
        async with browser.stream("GET", "/v1/events?entities=webhook") as events:
            question = await stage.ask()
            async for line in events.aiter_lines():
                if "disabled" in line:
                    break
        assert (await stage.admin("GET", path))["reason"] == "gone"
        assert await pool.fetchval("SELECT count(*) FROM audit_log WHERE event = 'webhook.disabled' AND via = 'service'") == 1
        await stage.answer(question)
        await stage.settled(hook, "held", 1)
        assert (await stage.admin("POST", f"{path}/ping", status=409))["code"] == "conflict"
        again = await stage.admin("PATCH", path, {"state": "active", "events": ["question.answered"]})
        assert (again["state"], again["reason"]) == ("active", None)
        assert len(receiver.received) == 1
        since = {"since": (datetime.now(UTC) - timedelta(hours=1)).isoformat()}
        receiver.answer = 200
        assert (await stage.admin("POST", f"{path}/replay", since, status=202))["count"] == 2
        delivered = await stage.settled(hook, "delivered", 2)
        assert {d["id"] for d in delivered} == {r.id for r in receiver.received}
        assert (await stage.admin("POST", f"{path}/replay", since, status=202))["count"] == 0
        assert (await stage.admin("POST", f"{path}/deliveries/{delivered[0]['id']}/replay", status=202))["count"] == 1
        assert (await receiver.count(4))[3].id == delivered[0]["id"]


async def test_a_webhook_that_fails_for_days_is_disabled(stage: Stage, pool: Pool) -> None:
    """The first failure starts the clock; after five days of nothing else the next one disables it, and what waits is held."""
    async with receiving(500) as receiver:
        hook = await stage.hook(receiver.url)
        path = f"webhooks/{hook['webhook']['id']}"
        await stage.ask()

        async def both_failed() -> bool:
            return bool(await pool.fetchval("SELECT count(*) = 2 FROM webhook_attempts WHERE status = 500"))

        await stage.ask()
        await until(both_failed)
        await pool.execute("UPDATE webhooks SET failing_since = now() - interval '5 days 1 minute'")
        assert (await stage.admin("GET", path))["state"] == "active"
        first = await pool.fetchval("SELECT id FROM webhook_deliveries ORDER BY occurred_at LIMIT 1")
        await pool.execute("UPDATE webhook_deliveries SET due_at = now() WHERE id = $1", first)
        assert [len(delivery["attempts"]) for delivery in await stage.settled(hook, "held", 2)] == [1, 2]
        assert (await stage.admin("GET", path))["reason"] == "failing"


async def test_a_rotated_secret_signs_beside_the_old_one(stage: Stage, pool: Pool) -> None:
    """For a day each request carries both signatures; then the new one alone. Sent twice, a rotation is one."""
    async with receiving() as receiver, stage.running.client(stage.company["admin"]) as admin:
        hook = await stage.hook(receiver.url)
        path = f"/v1/webhooks/{hook['webhook']['id']}"
        key = {"idempotency-key": "0190c8a2-7e2f-7c3a-9d51-0c8a4b1f2e3d"}
        new = [(await admin.post(f"{path}/rotate", json={}, headers=key)).json()["secret"] for _ in range(2)]
        assert new[0] == new[1] != hook["secret"]
        await admin.post(f"{path}/ping", json={})
        (first,) = await receiver.count(1)
        assert [first.checked(secret)["type"] for secret in (hook["secret"], new[0])] == ["webhook.ping"] * 2
        await pool.execute("UPDATE webhooks SET old_until = now()")
        await admin.post(f"{path}/ping", json={})
        second = (await receiver.count(2))[1]
        second.checked(new[0])
        with pytest.raises(WebhookVerificationError):
            second.checked(hook["secret"])
        stored = await pool.fetchrow("SELECT secret, old_secret FROM webhooks")
        assert stored is not None
        assert new[0].encode() not in stored["secret"]
        assert (await admin.get(path)).json().keys().isdisjoint({"secret", "old_secret"})

"""Local accounts: passwords are set by a link, changed by who has the old one, and tell strangers nothing."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from argon2 import Parameters, PasswordHasher, extract_parameters
from argon2.profiles import RFC_9106_LOW_MEMORY

from askbus.access import passwords, sessions, verbs
from askbus.access.credentials import digest
from askbus.access.model import Role
from askbus.access.password_rules import check_password
from askbus.db.pool import Pool
from askbus.errors import InvalidInput, Unavailable
from askbus.limits.limiter import QUARTER, Limiter
from askbus.limits.model import Bucket, Limited
from askbus.testing.composed import Composed
from askbus.testing.people import Company, Person
from askbus.testing.waiting import until
from askbus_gateway.signin.hashing import AT_ONCE, NOBODYS, WAITING, Hashing

pytestmark = pytest.mark.requirement("I2")

GOOD, BETTER = "a horse of no colour", "почта-и-другие слова"


async def code_for(pool: Pool, company: Company, who: Person) -> str:
    """The code of a password link."""
    return await verbs.create_login_code(pool, company.workspace_id, who.id, purpose="password")


async def email_of(pool: Pool, who: Person) -> str:
    return str(await pool.fetchval("SELECT email FROM users WHERE id = $1", who.id))


async def post(askbus: Composed, path: str, said: Any) -> httpx2.Response:
    """A browser's request, from a browser that has no cookies yet."""
    async with askbus.client() as browser:
        return await browser.post(path, json=said)


@pytest.mark.requirement("I10")
async def test_a_link_sets_a_password_once_and_signs_in_with_it(askbus: Composed, company: Company, pool: Pool) -> None:
    """What the person had open elsewhere ends; the hash is argon2id under the parameters of RFC 9106; the audit has ids alone."""
    mia = company["mia"]
    email, code = await email_of(pool, mia), await code_for(pool, company, mia)
    weak = await post(askbus, "/v1/password", {"code": code, "password": "12345678"})
    assert (weak.status_code, weak.json()["details"]) == (400, {"field": "password"})
    answers = await asyncio.gather(*(post(askbus, "/v1/password", {"code": code, "password": GOOD}) for _ in range(3)))
    assert sorted(answer.status_code for answer in answers) == [201, 401, 401]
    async with askbus.client(mia) as before:
        assert (await before.get("/v1/me")).status_code == 401
    stored = await pool.fetchval("SELECT hash FROM passwords WHERE user_id = $1", mia.id)
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    signed_in = await post(askbus, "/v1/session/password", {"email": f" {email.upper()} ", "password": GOOD})
    assert (signed_in.status_code, signed_in.json()["principal"]["user_id"]) == (201, str(mia.id))
    assert "httponly" in signed_in.headers["set-cookie"].lower()
    events = [row["event"] for row in await pool.fetch("SELECT event FROM audit_log WHERE user_id = $1 ORDER BY id", mia.id)]
    assert sorted(events[-3:]) == ["password.set", "session.opened", "session.opened"]


async def test_a_link_for_one_thing_does_not_do_the_other(askbus: Composed, company: Company, pool: Pool) -> None:
    """Who was given a link to sign in cannot set a password with it, and the other way round."""
    sign_in = await verbs.create_login_code(pool, company.workspace_id, company["max"].id)
    assert (await post(askbus, "/v1/password", {"code": sign_in, "password": GOOD})).status_code == 401
    password = await code_for(pool, company, company["max"])
    assert (await post(askbus, "/v1/session", {"code": password})).status_code == 401


@pytest.fixture
async def email(askbus: Composed, company: Company, pool: Pool) -> str:
    """Mia's address; her password is GOOD."""
    mia = company["mia"]
    await pool.execute("INSERT INTO passwords (user_id, hash) VALUES ($1, $2)", mia.id, await Hashing().hash(GOOD))
    return await email_of(pool, mia)


@pytest.mark.requirement("I10")
async def test_who_has_no_account_is_told_what_a_wrong_password_is_told(
    askbus: Composed, company: Company, pool: Pool, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same words, the same headers, the same work: an address that nobody has, one without a password, a wrong password. What failed
    for an account that there is stands in the audit of its workspace."""
    unknown, without = f"{uuid4().hex}@nobody.example", await email_of(pool, company["max"])
    seen: set[tuple[int, str]] = set()
    work: list[Parameters] = []
    verify = PasswordHasher.verify

    def counted(hasher: PasswordHasher, stored: str, password: str) -> bool:
        work.append(extract_parameters(stored))
        return verify(hasher, stored, password)

    monkeypatch.setattr(PasswordHasher, "verify", counted)
    for _ in range(2):
        for number, who in enumerate((email, unknown, without), 1):
            work.clear()
            answer = await post(askbus, "/v1/session/password", {"email": who, "password": "not the right one"})
            assert work == [RFC_9106_LOW_MEMORY], number
            seen.add((answer.status_code, answer.text))
            assert "set-cookie" not in answer.headers
    assert len(seen) == 1
    assert seen.pop()[0] == 401
    failed = await pool.fetch(
        "SELECT user_id, entity_id FROM audit_log WHERE event = 'sign_in.failed' AND workspace_id = $1", company.workspace_id
    )
    assert [row["entity_id"] for row in failed].count(company["mia"].id) == 2
    assert {row["user_id"] for row in failed} == {None}


@pytest.mark.requirement("I8")
async def test_guesses_are_limited_by_account_whether_or_not_there_is_one(
    askbus: Composed, company: Company, pool: Pool, email: str
) -> None:
    """Past the limit nothing is looked up or hashed: the right password is refused like the wrong one, in the same words. Guesses at
    another gateway count too."""
    elsewhere = Limiter(pool, [Bucket(Limited.SIGN_IN_ACCOUNT, 6, QUARTER)])
    seen = set()
    for who in (email, f"{uuid4().hex}@nobody.example"):
        await elsewhere.take(Limited.SIGN_IN_ACCOUNT, who, 5)
        assert (await post(askbus, "/v1/session/password", {"email": who, "password": "a guess"})).status_code == 401
        written = f" {who.upper().replace('I', chr(0x130))}"  # a letter that the database takes for an i
        refused = await post(askbus, "/v1/session/password", {"email": written, "password": GOOD})
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert int(refused.headers["retry-after"]) > 0
        seen.add(refused.json()["message"].translate(str.maketrans("", "", "0123456789")))
    assert len(seen) == 1


async def test_a_password_is_changed_by_who_gives_the_old_one(askbus: Composed, company: Company, pool: Pool, email: str) -> None:
    """The session in which it is done stays, others end; the old password is worth nothing."""
    async with askbus.client(company["mia"]) as here, askbus.client() as there:
        assert (await there.post("/v1/session/password", json={"email": email, "password": GOOD})).status_code == 201
        assert (await here.get("/v1/me/password")).json() == {"set": True}
        for said, status in (
            ({"password": BETTER}, 400),
            ({"password": BETTER, "current": "not it at all"}, 403),
            ({"password": "short", "current": GOOD}, 400),
            ({"password": BETTER, "current": GOOD}, 204),
        ):
            answer = await here.put("/v1/me/password", json=said)
            assert answer.status_code == status, answer.text
        assert [(await client.get("/v1/me")).status_code for client in (here, there)] == [200, 401]
    tries = [await post(askbus, "/v1/session/password", {"email": email, "password": one}) for one in (GOOD, BETTER)]
    assert [answer.status_code for answer in tries] == [401, 201]


async def test_a_first_password_needs_a_fresh_link(askbus: Composed, company: Company, pool: Pool) -> None:
    """A browser that was left open makes no way in for later; and a demo user sets none."""
    async with askbus.client(company["max"]) as browser:
        assert (await browser.get("/v1/me/password")).json() == {"set": False}
        aged = "UPDATE sessions SET created_at = now() - interval '16 minutes' WHERE id = $1"
        await pool.execute(aged, company["max"].principal.id)
        assert (await browser.put("/v1/me/password", json={"password": GOOD})).status_code == 403
        await pool.execute("UPDATE sessions SET created_at = now() WHERE id = $1", company["max"].principal.id)
        assert (await browser.put("/v1/me/password", json={"password": GOOD})).status_code == 204
    async with askbus.client(company["demo"]) as browser:
        assert (await browser.put("/v1/me/password", json={"password": GOOD})).status_code == 403


async def test_an_old_hash_is_renewed_when_its_owner_signs_in(askbus: Composed, company: Company, pool: Pool, email: str) -> None:
    """Parameters grow with machines; nobody has to set their password anew."""
    weak = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(GOOD)
    await pool.execute("UPDATE passwords SET hash = $2 WHERE user_id = $1", company["mia"].id, weak)
    assert (await post(askbus, "/v1/session/password", {"email": email, "password": GOOD})).status_code == 201
    renewed = await pool.fetchval("SELECT hash FROM passwords WHERE user_id = $1", company["mia"].id)
    assert renewed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert not PasswordHasher().check_needs_rehash(NOBODYS)


async def somebody_waits(pool: Pool) -> bool:
    """Whether a statement waits for a lock."""
    waiting = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return bool(await pool.fetchval(waiting))


async def test_a_sign_in_that_meets_a_change_of_the_password_does_not_survive_it(
    company: Company, pool: Pool, email: str
) -> None:
    """Whoever holds the row goes first: a session by the old password is ended by the change, or is never opened."""
    old = await pool.fetchval("SELECT hash FROM passwords WHERE user_id = $1", company["mia"].id)
    mia = company["mia"].principal
    async with pool.acquire() as changing, changing.transaction():
        await passwords.hold(changing, mia.user_id)
        opening = asyncio.create_task(sessions.open_session(pool, mia.user_id, "password", password_hash=old))
        await until(lambda: somebody_waits(pool))
        await passwords.change(changing, mia, old_hash=old, new_hash=NOBODYS)
    with pytest.raises(Exception, match="member of no workspace"):
        await opening
    async with pool.acquire() as opener:
        transaction = opener.transaction()
        await transaction.start()
        opened = await sessions.open_session(opener, mia.user_id, "password", password_hash=NOBODYS)

        async def change() -> None:
            async with pool.acquire() as db, db.transaction():
                await passwords.hold(db, mia.user_id)
                await passwords.change(db, mia, old_hash=NOBODYS, new_hash=old)

        changing_task = asyncio.create_task(change())
        await until(lambda: somebody_waits(pool))
        await transaction.commit()
        await changing_task
    state = await pool.fetchval("SELECT state FROM sessions WHERE hash = $1", digest(opened.cookie))
    assert state == "revoked"


@pytest.mark.parametrize(
    "password",
    [
        "1234567",
        "x" * 1001,
        "password",
        "PassWord123",
        "aaaaaaaaaa",
        "abababab",
        "23456789",
        "mia@nord.example",
        "Mia Nord!",
        "askbus2026",
    ],
)
def test_what_anybody_would_try_is_no_password(password: str) -> None:
    """Too short, too long, on every list, of two characters, counting, the owner's own name and address, ours."""
    with pytest.raises(InvalidInput):
        check_password(password, ("mia@nord.example", "Mia Nord"))


@pytest.mark.parametrize(
    "password", ["correct horse battery", "ÄÖÜäöüßẞ", "密码是很长的句子", "🐎🔋📎💡🎈🎉🎁🎀", "no digits needed", "x9 " * 300]
)
def test_whatever_else_somebody_likes_is_one(password: str) -> None:
    """No composition rules, any script; how a keyboard composes a letter makes no difference (NFKC)."""
    assert check_password(password, ("mia@nord.example", "Mia Nord"))
    assert check_password("Ka\u0308se und Brot") == check_password("K\u00e4se und Brot")


async def test_hashing_leaves_the_loop_free_and_does_not_queue_without_end() -> None:
    """While passwords are checked others are served; past a few that wait, the next is told to come back."""
    hashing = Hashing()
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    checks = [asyncio.create_task(hashing.check("wrong", None)) for _ in range(AT_ONCE)]
    assert [verdict.matches for verdict in await asyncio.gather(*checks)] == [False] * AT_ONCE
    assert ticks > 50
    ticking.cancel()
    waiting = [asyncio.ensure_future(hashing.check("wrong", None)) for _ in range(AT_ONCE + WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await hashing.check("one too many", None)
    hashing.close()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_member_of_several_workspaces_goes_from_one_to_the_other(
    askbus: Composed, company: Company, pool: Pool, email: str
) -> None:
    """They begin where they were last; the session of the one ends when that of the other opens; strangers' workspaces do not exist."""
    other = await verbs.create_workspace(pool, f"Second {uuid4().hex[:8]}")
    await verbs.set_member(pool, other, company["mia"].id, Role.VIEWER)
    async with askbus.client() as browser:
        first = await browser.post("/v1/session/password", json={"email": email, "password": GOOD})
        assert first.json()["principal"]["workspace_id"] == str(company.workspace_id)
        listed = (await browser.get("/v1/session/workspaces")).json()["workspaces"]
        assert {(one["id"], one["role"]) for one in listed} == {(str(company.workspace_id), "member"), (str(other), "viewer")}
        old = browser.cookies["askbus_session"]
        switched = await browser.post("/v1/session/workspace", json={"workspace_id": str(other)})
        assert (switched.status_code, switched.json()["principal"]["workspace_id"]) == (201, str(other))
        assert (await browser.get("/v1/me")).json()["principal"]["role"] == "viewer"
        elsewhere = await pool.fetchval("SELECT workspace_id FROM projects WHERE id = $1", company.elsewhere)
        for unknown in (elsewhere, uuid4()):
            refused = await browser.post("/v1/session/workspace", json={"workspace_id": str(unknown)})
            assert refused.status_code == 404
    async with httpx2.AsyncClient(base_url=askbus.http, cookies={"askbus_session": old}) as before:
        assert (await before.get("/v1/me")).status_code == 401
    again = await post(askbus, "/v1/session/password", {"email": email, "password": GOOD})
    assert again.json()["principal"]["workspace_id"] == str(other)

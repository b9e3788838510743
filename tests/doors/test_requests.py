"""What the HTTP doors refuse before they look at what is asked: foreign pages, what is too large, what is no JSON."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from askbus.db.pool import Pool
from askbus.incoming import DEEPEST_JSON, LARGEST_BODY
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token
from askbus.testing.waiting import until

JSON = {"content-type": "application/json"}


@pytest.fixture
async def mia(questions: Composed, company: Company) -> AsyncIterator[httpx2.AsyncClient]:
    """Mia's browser."""
    async with questions.client(company["mia"]) as browser:
        yield browser


def host(client: httpx2.AsyncClient) -> str:
    return f"{client.base_url.host}:{client.base_url.port}"


def told(response: httpx2.Response, status: int, code: str) -> str:
    """The refusal's sentence; its shape is the same everywhere."""
    body: Any = response.json()
    assert (response.status_code, body["code"]) == (status, code), response.text
    assert body.keys() == {"code", "message", "details"}
    return str(body["message"])


@pytest.mark.requirement("I5")
async def test_a_foreign_page_can_change_nothing(mia: httpx2.AsyncClient, company: Company, pool: Pool) -> None:
    """Whatever origin it says, or hides; and nothing tells its script what the answer was."""
    body = {"project_id": str(company.north), "text": "Ship it?"}
    for origin in ("https://evil.example", f"http://{host(mia)}.evil.example", "null", "", f"http://evil.example@{host(mia)}x"):
        refused = await mia.post("/v1/questions", json=body, headers={"origin": origin})
        assert "another origin" in told(refused, 403, "permission_denied")
        assert not [name for name in refused.headers if name.startswith("access-control")]
    own = await mia.post("/v1/questions", json=body, headers={"origin": f"http://{host(mia)}"})
    assert own.status_code == 201
    assert await pool.fetchval("SELECT count(*) FROM questions") == 1


@pytest.mark.requirement("I5")
async def test_a_plain_form_can_change_nothing(mia: httpx2.AsyncClient, company: Company, pool: Pool) -> None:
    """What a browser sends for a form without asking first, has neither a JSON type nor a header of ours."""
    text = f'{{"project_id": "{company.north}", "text": "Ship it?"}}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "text/json"):
        refused = await mia.post("/v1/questions", content=text, headers={"content-type": kind})
        told(refused, 403, "permission_denied")
    for path in ("/v1/session", f"/v1/tokens/{company.north}"):
        told(await mia.delete(path), 403, "permission_denied")
    told(await mia.post("/v1/session", content='{"code": "x"}', headers={"content-type": "text/plain"}), 403, "permission_denied")
    assert (await mia.get("/v1/me")).status_code == 200
    for headers in ({"content-type": "application/json; charset=utf-8"}, {"content-type": "text/plain", "x-askbus": "1"}):
        assert (await mia.post("/v1/questions", content=text, headers=headers)).status_code == 201


@pytest.mark.requirement("I5")
async def test_no_page_may_ask_first_either(mia: httpx2.AsyncClient) -> None:
    """CORS is off: a preflight gets no leave."""
    preflight = await mia.options(
        "/v1/questions", headers={"origin": "https://evil.example", "access-control-request-method": "POST"}
    )
    told(preflight, 405, "invalid_input")
    assert not [name for name in preflight.headers if name.startswith("access-control")]


@pytest.mark.requirement("I5")
async def test_a_token_is_no_cookie(questions: Composed, company: Company, pool: Pool) -> None:
    """No browser sends it by itself, so an agent needs no header but its own; where both are sent the token counts."""
    agent = await give_token(pool, company["mia"])
    text = f'{{"project_id": "{company.north}", "text": "Ship it?"}}'
    async with questions.client(agent) as robot:
        robot.cookies.set("askbus_session", company["max"].cookie)
        asked = await robot.post("/v1/questions", content=text, headers={"content-type": "text/plain"})
        assert (asked.status_code, asked.json()["user_id"]) == (201, str(company["mia"].id))
        robot.headers["authorization"] = "Bearer nothing"
        assert (await robot.get("/v1/me")).status_code == 401


@pytest.mark.requirement("I1")
async def test_half_a_credential_is_none(questions: Composed) -> None:
    """401, and how to say who one is."""
    async with questions.client() as stranger:
        for header in (b"", b"Bearer", b"Basic bWlhOnBhc3M=", b"askbus_", b"Bearer a b", b"Bearer \xff", b"Bearer askbus_"):
            refused = await stranger.get("/v1/me", headers={b"authorization": header})
            told(refused, 401, "unauthenticated")
            assert refused.headers["www-authenticate"] == "Bearer"


@pytest.mark.requirement("I12")
async def test_a_body_of_more_than_a_megabyte_is_refused(mia: httpx2.AsyncClient, company: Company) -> None:
    """Announced or in chunks, before it is parsed; one of just a megabyte is looked at; and the door stands open after it."""
    text = b'{"project_id": "' + str(company.north).encode() + b'", "text": "' + b"x" * LARGEST_BODY + b'"}'

    async def chunks(size: int) -> AsyncIterator[bytes]:
        for start in range(0, size, 65536):
            yield text[start : start + 65536]

    for content in (text, chunks(len(text))):
        refused = await mia.post("/v1/questions", content=content, headers=JSON)
        told(refused, 413, "too_large")
    for content in (text[: LARGEST_BODY - 2] + b'"}', chunks(LARGEST_BODY)):
        told(await mia.post("/v1/questions", content=content, headers=JSON), 400, "invalid_input")
    assert (await mia.get("/v1/me")).status_code == 200


async def test_a_client_that_goes_away_while_it_sends_is_no_failure(
    questions: Composed, mia: httpx2.AsyncClient, company: Company, pool: Pool
) -> None:
    """Noted, not as an error, and nothing is asked."""
    head = f"POST /v1/questions HTTP/1.1\r\nHost: {host(mia)}\r\nAuthorization: Bearer {(await give_token(pool, company['mia'])).token}"
    with capture_logs() as logs:
        _, writer = await asyncio.open_connection(mia.base_url.host, mia.base_url.port)
        writer.write(f"{head}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
        await writer.drain()
        writer.close()
        await until(lambda: _any(log["event"] == "http.client_left" for log in logs))
    assert [log for log in logs if log["log_level"] in ("warning", "error")] == []
    assert await pool.fetchval("SELECT count(*) FROM questions") == 0


async def _any(found: Iterable[bool]) -> bool:
    return any(found)


NO_QUESTIONS = [
    b"",
    b"null",
    b"[]",
    b"1",
    b'"text"',
    b"{",
    b'{"text": "x"',
    b"{'text': 'x'}",
    b'{"text": "x",}',
    b'{"text": "\xff"}',
    b'{"text": "\xed\xa0\x80"}',
    b'{"text": "\\ud800"}',
    b'{"text": "a\\u0000b"}',
    b'{"a\\u0000b": 1}',
    b'{"text": "a\0b"}',
    b"\xef\xbb\xbf{}",
    b'{"text": ' + b"[" * DEEPEST_JSON + b"]" * DEEPEST_JSON + b"}",
    b"[" * 100_000,
    b'{"text": 1}',
    b'{"text": null}',
    b'{"text": ["x"]}',
    b'{"text": "x", "wait_seconds": NaN}',
    b'{"text": "x", "wait_seconds": 1e400}',
    b'{"text": "x", "expires_in": 1.5}',
    b'{"text": "x", "surprise": "secret words"}',
    b'{"text": "x", "link": "secret words"}',
]


SAID: list[tuple[dict[str, object], str]] = [
    ({"text": "x", "options": ["a", "a"]}, "options must differ from each other"),
    ({"text": "x", "multiple": True}, "multiple needs options to choose from"),
    ({"text": ""}, "text: String should have at least 1 character"),
]


@pytest.mark.requirement("I12")
async def test_a_refusal_says_what_is_wrong_in_words_of_ours(mia: httpx2.AsyncClient, company: Company) -> None:
    """Without the library's own words for its kinds of errors."""
    for wrong, says in SAID:
        refused = await mia.post("/v1/questions", json={"project_id": str(company.north), **wrong})
        assert refused.status_code == 400
        assert refused.json()["message"] == says


@pytest.mark.requirement("I12")
async def test_what_is_no_question_is_refused_with_a_sentence(mia: httpx2.AsyncClient, company: Company, pool: Pool) -> None:
    """400 and what is wrong, without repeating what was sent."""
    for body in NO_QUESTIONS:
        data = body.replace(b'{"text"', b'{"project_id": "' + str(company.north).encode() + b'", "text"')
        refused = await mia.post("/v1/questions", content=data, headers=JSON)
        assert told(refused, 400, "invalid_input"), body[:50]
        assert "secret words" not in refused.text
    assert await pool.fetchval("SELECT count(*) FROM questions") == 0


@pytest.mark.requirement("I12")
async def test_an_answer_that_cannot_be_kept_is_refused(mia: httpx2.AsyncClient, company: Company) -> None:
    """And the question stays open for one that can."""
    question = (await mia.post("/v1/questions", json={"project_id": str(company.north), "text": "Ship it?"})).json()
    url = f"/v1/questions/{question['id']}"
    for answer in ('"a\\u0000b"', "[" * 40 + "]" * 40, "NaN", "1e400", '{"a": {"b": 1}}', "null", "{}"):
        told(await mia.post(f"{url}/answer", content=f'{{"answer": {answer}}}', headers=JSON), 400, "invalid_input")
    assert (await mia.get(url)).json()["state"] == "open"


@pytest.mark.requirement("I12")
async def test_an_address_that_makes_no_sense_is_refused(mia: httpx2.AsyncClient) -> None:
    """As a body would be."""
    for query in (
        "state=lost", "state=open%00", "limit=0", "limit=201", "limit=many", "before=1", "project_id=north", "mine=perhaps", "x=1",
    ):  # fmt: skip
        told(await mia.get(f"/v1/questions?{query}"), 400, "invalid_input")
    told(await mia.get("/v1/threads/search?q=a%00b"), 400, "invalid_input")


@pytest.mark.requirement("I12")
async def test_every_refusal_has_the_same_shape(mia: httpx2.AsyncClient) -> None:
    """Also for an address that is none, and for a method that it does not take; with the headers that keep browsers careful."""
    missing = await mia.get("/v1/nothing/here")
    told(missing, 404, "not_found")
    wrong = await mia.put("/v1/questions", json={})
    told(wrong, 405, "invalid_input")
    assert wrong.headers["allow"] == "GET, HEAD, POST", "each method of the address, wherever it is served"
    assert missing.headers["x-content-type-options"] == "nosniff"
    assert missing.headers["referrer-policy"] == "no-referrer"

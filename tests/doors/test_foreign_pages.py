"""What a page of another origin can make a browser do: nothing."""

import pytest

from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token

pytestmark = pytest.mark.requirement("I5")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({"origin": "https://evil.example", "content-type": "application/json"}, 403, id="a foreign origin"),
        pytest.param({"origin": "null", "content-type": "application/json"}, 403, id="a sandboxed page"),
        pytest.param({"origin": "http://[", "content-type": "application/json"}, 403, id="an origin that is no URL"),
        pytest.param({"content-type": "text/plain"}, 403, id="a form, which needs no preflight"),
        pytest.param({"content-type": "application/x-www-form-urlencoded"}, 403, id="another form"),
        pytest.param({"content-type": "application/json; charset=utf-8"}, 201, id="a client without a page"),
        pytest.param({"content-type": "text/plain", "x-askbus": "1"}, 201, id="our own header, which needs a preflight"),
    ],
)
async def test_a_changing_request_must_come_from_our_own_page(
    questions: Composed, company: Company, headers: dict[str, str], expected: int
) -> None:
    """A cookie goes along with what a foreign page sends; an Origin of ours, a JSON body or our header do not."""
    body = f'{{"project_id": "{company.north}", "text": "Ship it?"}}'.encode()
    async with questions.client(company["mia"]) as mia:
        response = await mia.post("/v1/questions", content=body, headers=headers)
    assert response.status_code == expected, response.text
    if expected == 403:
        assert response.json()["code"] == "permission_denied"


async def test_our_own_origin_is_let_through(questions: Composed, company: Company) -> None:
    """The Origin is compared with the Host of the request."""
    async with questions.client(company["mia"]) as mia:
        response = await mia.post(
            "/v1/questions", json={"project_id": str(company.north), "text": "Ship it?"}, headers={"origin": questions.http}
        )
    assert response.status_code == 201


async def test_no_page_of_another_origin_may_read_an_answer(questions: Composed, company: Company) -> None:
    """CORS is off: neither an answer nor a preflight names another origin."""
    headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    async with questions.client(company["mia"]) as mia:
        for response in (await mia.get("/v1/me", headers=headers), await mia.options("/v1/questions", headers=headers)):
            assert "access-control-allow-origin" not in response.headers


async def test_a_token_needs_no_page(questions: Composed, company: Company, pool: Pool) -> None:
    """Nobody's browser sends a bearer token by itself."""
    agent = await give_token(pool, company["mia"])
    async with questions.client(agent) as robot:
        response = await robot.post(
            "/v1/questions",
            json={"project_id": str(company.north), "text": "Ship it?"},
            headers={"origin": "https://app.example"},
        )
    assert response.status_code == 201

"""Names and addresses that others are shown: none of them hides, breaks a line or turns it round; and no answer is kept by a cache."""

import pytest

from askbus.testing.composed import Composed
from askbus.testing.people import Company

TURNING = ("\u202eevil", "a\nb", "\u0001", "a\u2028b", "\u2066x\u2069")
HIDDEN = (
    "a@b\u202e.c",
    "a\u00adb@c.example",
    "a@\u200b.example",
    "m\u0130a@c.example",
    "\u212aarl@c.example",
    "a\u0007@c.example",
)


@pytest.mark.requirement("I3")
async def test_names_and_addresses_are_what_they_look_like(team: Composed, company: Company) -> None:
    """Of projects, the workspace, tokens and people; and the addresses that are invited: told by field, nothing is stored."""
    async with team.client(company["owner"]) as owner, team.client() as browser:
        code = (await owner.post("/v1/invitations", json={"email": "ada@new.example"})).json()["link"].partition("=")[2]
        for name in TURNING:
            answers = [
                await owner.post("/v1/projects", json={"name": name}),
                await owner.patch(f"/v1/projects/{company.north}", json={"name": name}),
                await owner.patch("/v1/workspace", json={"name": name}),
                await owner.post("/v1/tokens", json={"name": name}),
                await browser.post("/v1/invitations/accept", json={"code": code, "name": name}),
            ]
            for answer in answers:
                assert answer.status_code == 400, (name, answer.text)
                assert answer.json()["details"]["errors"][0]["field"] == "name"
        for email in HIDDEN:
            refused = await owner.post("/v1/invitations", json={"email": email})
            assert (refused.status_code, refused.json()["details"]["errors"][0]["field"]) == (400, "email"), email
        for name in ("Ünïcode 👩‍💻", "مشروع", "=SUM(A1)"):
            assert (await owner.post("/v1/projects", json={"name": name})).status_code == 201, name


@pytest.mark.requirement("I9")
async def test_no_cache_keeps_what_one_person_was_told(team: Composed, company: Company) -> None:
    """Secrets that are shown once, and whatever else: only the console's files may be kept, and are asked for each time."""
    async with team.client(company["owner"]) as owner:
        answers = [
            await owner.post("/v1/tokens", json={"name": "mine"}),
            await owner.post("/v1/invitations", json={"email": "ada@new.example"}),
            await owner.get("/v1/me"),
            await owner.get("/v1/nothing"),
        ]
        assert [answer.headers["cache-control"] for answer in answers] == ["no-store"] * 4
        assert (await owner.get("/")).headers["cache-control"] == "no-cache"

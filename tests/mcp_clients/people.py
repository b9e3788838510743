"""What a person does in their browser while an app asks for leave."""

from tests.mcp_clients.stage import Stage
from tests.oauth.browsing import ticket_of


async def allow(stage: Stage, url: str, *scopes: str, who: str = "mia") -> str:
    """Opens the page of consent at which an app has sent them, ticks what may be; where the browser goes then."""
    async with stage.browser(who) as browser:
        page = await browser.get(url)
        assert page.status_code == 200, page.text
        form = {"ticket": ticket_of(page), "decision": "allow", "where": "projects", "project": str(stage.company.north)}
        answer = await browser.post("/oauth/consent", data={**form, "scope": list(scopes)})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def remove_apps(stage: Stage, *, who: str = "mia") -> list[str]:
    """Takes back whatever they allowed to apps; the names of those."""
    async with stage.browser(who) as browser:
        apps = (await browser.get("/v1/connected-apps")).json()["apps"]
        for app in apps:
            gone = await browser.delete(f"/v1/connected-apps/{app['id']}", headers={"x-askbus": "1"})
            assert gone.status_code == 204, gone.text
    return [app["name"] for app in apps]

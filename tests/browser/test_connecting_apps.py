"""An app is connected by a person in a real browser, and removed again."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import expect
from tests.browser.visits import Visits
from tests.oauth.browsing import Client

from askbus.access import verbs
from askbus.db.pool import Pool
from askbus.testing.people import Company


@asynccontextmanager
async def listening_app() -> AsyncIterator[tuple[int, list[str]]]:
    """An app on this computer that waits for its person: its port, and the addresses that it was asked for."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode("ascii").split(" ")[1])
        body = b"<!doctype html><title>x</title><h1>Back in the app</h1>"
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body))
        writer.write(body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], asked
    finally:
        server.close()


@pytest.mark.requirement("M4", "W7")
async def test_an_app_is_connected_after_signing_in_and_removed_in_the_settings(
    visit: Visits, pool: Pool, company: Company
) -> None:
    """Its page leads through the sign-in and back, ticks reading alone, sends the person on to the app although the policy names every
    place that a form may lead to; the settings list it with its last use, and after Remove its token is worth nothing."""
    client = Client(visit.askbus.http)
    await client.register(client_name="Editor")
    async with listening_app() as (port, asked):
        callback = f"http://127.0.0.1:{port}/callback"
        query = "&".join(f"{name}={value}" for name, value in client.asks(redirect_uri=callback).items())
        context = await visit.context(None)
        page = await visit.page(context, f"/oauth/authorize?{query}")
        await expect(page.get_by_role("heading", name="Sign in to askbus")).to_be_visible()
        assert "return_to" not in page.url
        code = await verbs.create_login_code(pool, company.workspace_id, company["owner"].id)
        page = await visit.page(context, f"/#login={code}")
        await expect(page.get_by_role("heading", name="Connect an app?")).to_be_visible()
        assert await page.evaluate("localStorage.length") == 0
        await expect(page.get_by_role("checkbox", name=re.compile("^Read records"))).to_be_checked()
        asks = page.get_by_role("checkbox", name=re.compile("^Ask people"))
        await expect(asks).not_to_be_checked()
        await asks.check()
        await page.get_by_role("radio", name=re.compile("whole workspace")).check()
        await page.get_by_role("button", name="Allow", exact=True).click()
        await expect(page.get_by_role("heading", name="Back in the app")).to_be_visible()
        said = parse_qs(urlsplit(next(each for each in asked if each.startswith("/callback"))).query)
    tokens = (await client.redeem(said["code"][0], redirect_uri=callback)).json()
    assert tokens["scope"] == "data:read questions:ask"

    settings = await visit.page(context, "/#settings=apps")
    own = settings.get_by_role("region", name="Yours").get_by_role("listitem")
    await expect(own).to_contain_text("Editor")
    await expect(own).to_contain_text("returns to 127.0.0.1")
    await expect(own).to_contain_text("the whole workspace")
    await expect(settings.get_by_label("Agents may come in over MCP")).to_be_checked()
    await own.get_by_role("button", name="Remove Editor").click()
    await expect(settings.get_by_text("Nobody has connected an app.")).to_be_visible()
    assert (await client.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    await settings.get_by_label("Agents may come in over MCP").uncheck()
    await expect(settings.get_by_label("Agents may come in over MCP")).to_be_enabled()
    assert await pool.fetchval("SELECT mcp FROM workspaces WHERE id = $1", company.workspace_id) is False

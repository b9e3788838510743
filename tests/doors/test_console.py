"""The console's files over HTTP. What they do is tested in a browser (tests/browser)."""

import re
from importlib import resources

import pytest

from askbus.testing.composed import Composed
from askbus_gateway.console import POLICY

STATIC = resources.files("askbus_gateway.console").joinpath("static")


@pytest.mark.requirement("W10")
async def test_every_file_is_served_with_its_type_and_the_policy(questions: Composed) -> None:
    """To anybody, signed in or not: there is nothing of a workspace in them."""
    types = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
    types["json"] = "application/json"
    async with questions.client() as stranger:
        for entry in STATIC.iterdir():
            answer = await stranger.get("/" if entry.name == "index.html" else f"/console/{entry.name}")
            assert answer.status_code == 200, entry.name
            assert answer.content == entry.read_bytes()
            assert answer.headers["content-type"] == types.get(entry.name.rpartition(".")[2], "image/svg+xml")
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-cache"


async def test_a_browser_that_has_a_file_is_not_sent_it_again(questions: Composed) -> None:
    """It asks each time, so that a new version shows at once, and gets 304 (RFC 9110, section 13.1.2) while nothing changed."""
    async with questions.client() as stranger:
        first = await stranger.get("/")
        for known in (first.headers["etag"], f"W/{first.headers['etag']}", f'"other", {first.headers["etag"]}', "*"):
            again = await stranger.get("/", headers={"if-none-match": known})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == first.headers["etag"]
            assert again.headers["content-security-policy"] == POLICY
        assert (await stranger.get("/", headers={"if-none-match": '"other"'})).status_code == 200
        head = await stranger.head("/")
        assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", first.headers["etag"])


async def test_what_is_not_a_file_of_the_console_is_not_found(questions: Composed) -> None:
    """Names are looked up among the files that are there and never become a path."""
    async with questions.client() as stranger:
        for path in ("/console/", "/console/none.js", "/console/..%2f__init__.py", "/console/%2e%2e/__init__.py"):
            answer = await stranger.get(path)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path


def named(text: str) -> set[str]:
    return set(re.findall(r"""(?:from '\./|new URL\('\./|"/console/)([\w.-]+)['"]""", text))


@pytest.mark.requirement("W10")
def test_the_page_needs_nothing_from_elsewhere_and_nothing_inline() -> None:
    """No address of another host, no script or style in the page, and every file that one names is there and in use."""
    files = {entry.name: entry.read_text("utf-8") for entry in STATIC.iterdir()}
    page = files["index.html"]
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)
    code = {name: text for name, text in files.items() if name.endswith((".js", ".css", ".html"))}
    for name, text in code.items():
        assert not re.search(r"""(?:from |import\(|url\(|src=|href=)\s*['"]?https?:""", text), name
        assert not re.search(r"\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), name
    other_pages = resources.files("askbus_gateway.oauth").joinpath("page.py").read_text("utf-8")  # the page that asks for consent
    used = {"index.html"} | set().union(*(named(text) for text in [*code.values(), other_pages]))
    assert used - files.keys() == set()
    assert {name for name in files if name.endswith((".js", ".css"))} - used == set()

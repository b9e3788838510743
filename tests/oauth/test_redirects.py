"""Where an app may send people back to: what it may register, and what it may ask for then."""

import json
from pathlib import Path

import pytest

from askbus.oauth.metadata import ClientMetadata, MetadataError, document_problem, shown_name
from askbus.oauth.redirects import form_target, matches, problem, with_answer

pytestmark = pytest.mark.requirement("M3")

CASE = json.loads((Path(__file__).parents[1] / "cases/mcp/M03.json").read_text("utf-8"))


@pytest.mark.parametrize(("asked", "right"), CASE["cases"], ids=[asked for asked, _right in CASE["cases"]])
def test_an_address_is_what_was_registered_but_for_a_loopback_port(asked: str, right: bool) -> None:
    """The handed table: exact in all but the port on the person's own machine."""
    assert [problem(uri) for uri in CASE["registered"]] == [None] * 5
    assert any(matches(registered, asked) for registered in CASE["registered"]) is right


LOOK_ALIKES = [
    "https://app.example/callback/", "https://app.example/callback?x=1", "https://app.example/Callback", "https://APP.example/callback",
    "https://app.example:443/callback", "https://app.example./callback", "https://app.example/a/../callback", "http://app.example/callback",
    "https://app.example.evil.example/callback", "https://evil.example/app.example/callback", "https://app.example@evil.example/callback",
    "https://evil.example\\@app.example/callback", "https://app.example/callback#x", "https://app.example/callback%2f..",
    "//app.example/callback", "https:/app.example/callback", "https://app.example/callback\n", " https://app.example/callback",
    "http://127.0.0.1:1:2/cb", "http://127.0.0.1:99999999/cb", "http://127.0.0.1:/cb", "http://127.0.0.1:8080@evil.example/cb",
    "http://127.0.0.1.:80/cb", "http://127.0.0.2/cb", "http://127.1/cb", "http://0x7f.0.0.1/cb", "http://[::ffff:127.0.0.1]/cb",
    "http://localhost:80/cb", "http://127.0.0.1/cb/", "http://127.0.0.1/cb?", "https://127.0.0.1/cb", "HTTP://127.0.0.1/cb",
    "http://127.0.0.1:65536/cb", "http://127.0.0.1:0/cb",
]  # fmt: skip


@pytest.mark.parametrize("asked", LOOK_ALIKES)
def test_no_look_alike_matches(asked: str) -> None:
    """However it is spelled, ends or nests the right one."""
    assert not any(matches(registered, asked) for registered in ("https://app.example/callback", "http://127.0.0.1/cb"))


REFUSED = [
    "javascript:alert(1)", "javascript://app.example/%0aalert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "blob:https://a/b",
    "http://app.example/cb", "http://10.0.0.1/cb", "http://localhost.evil.example/cb", "http://user@localhost/cb", "https://a:b@app.example/",
    "https://app.example/#x", "https://app.example/cb#", "https:///cb", "https://", "https:a", "cursor://anysphere.cursor-mcp/no",
    "cursor://anysphere.cursor-mcp/oauth/callback?x=1", "myeditor://callback", "com.example.app:/cb", "intent://x#Intent;end", "",
    "https://a.example/ä", "https://äpp.example/", "https://app.example/\u202e", "https://app.example/\x00",
    "callback", "https://b.example:x/",
    "https://a b.example/", "https://app.example/" + "a" * 2000, "https://app.example\\.evil.example/", "//app.example/", "https://-/\"",
]  # fmt: skip


@pytest.mark.parametrize("uri", REFUSED)
def test_what_runs_hides_or_belongs_to_nobody_is_never_registered(uri: str) -> None:
    """Scripts, documents in an address, plain http elsewhere, fragments, users, unknown schemes, and what is no URI."""
    assert problem(uri) is not None
    with pytest.raises(MetadataError) as refused:
        ClientMetadata(redirect_uris=("https://app.example/cb", uri)).check()
    assert refused.value.error == "invalid_redirect_uri"


def test_an_editor_registers_its_three_addresses_at_once() -> None:
    """A private-use one that is known, one on the Internet and one on this machine; and an operator may add one of another editor."""
    editor = (
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost/cb",
    )
    ClientMetadata(redirect_uris=editor).check()
    assert problem("myeditor://callback", ["myeditor://callback"]) is None
    assert problem("myeditor://callback/", ["myeditor://callback"]) is not None
    assert matches(editor[2], "http://localhost:8787/cb")
    assert not matches(editor[0], editor[0] + "/x")


def test_an_answer_comes_after_the_parameters_that_are_there() -> None:
    """A registered query stays as it is; and a form's policy names the one place that its answer leads to."""
    assert with_answer("https://a.example/cb?x=1", {"code": "a b", "state": None}) == "https://a.example/cb?x=1&code=a+b"
    targets = [form_target(uri) for uri in ("https://a.example:8/cb", "http://127.0.0.1:9/cb", "http://[::1]:9/", "cursor://a/b")]
    assert targets == ["https://a.example:8", "http://127.0.0.1:9", "http:", "cursor:"]


def test_a_name_is_shown_without_what_hides_or_turns_it_round() -> None:
    """Controls, formats and line breaks become blanks, and there is an end to it; without a name the host stands there."""
    assert shown_name("  Claude\n\u202eedoC\u200b \x00 ") == "Claude edoC"
    assert len(shown_name("x" * 10_000)) == 100
    assert ClientMetadata(client_name="\u200b", redirect_uris=("https://a.example/cb",)).name == "a.example"


@pytest.mark.parametrize(
    "url",
    ["http://a.example/x", "https://a.example", "https://a.example/", "https://u@a.example/x", "https://a.example/x#y",
     "https://a.example/a/../x", "https://a.example/./x", "https:///x", "a.example/x", "https://[/x", "https://a.example:x/x"],
)  # fmt: skip
def test_a_client_id_that_is_an_address_has_a_path_and_nothing_odd(url: str) -> None:
    """As the draft has it."""
    assert document_problem(url) is not None
    assert document_problem("https://a.example/client.json") is None

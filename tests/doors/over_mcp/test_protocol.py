"""Messages of both eras, by rules of the specification: what each is taken for, and with which code it is refused. Pure."""

from typing import Any

import pytest
from tests.doors.over_mcp.talk import META, MODERN, said

from askbus_gateway.mcp.protocol import Code, Incoming, ProtocolError, decoded, read_message

pytestmark = pytest.mark.requirement("M1")


def taken(sent: Any, **headers: str | None) -> Incoming | None:
    """What a message is taken for, with these headers in the place of its own; None leaves one out."""
    given = {**sent["headers"], **{name.replace("_", "-"): value for name, value in headers.items()}}
    return read_message(sent["json"], [(name, value) for name, value in given.items() if value is not None])


def refused(sent: Any, **headers: str | None) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        taken(sent, **headers)
    return caught.value


def without(sent: Any, key: str) -> Any:
    """The same without one of the keys of `_meta`."""
    del sent["json"]["params"]["_meta"][META + key]
    return sent


def test_each_revision_is_known_by_its_header() -> None:
    """And the one without a header by having none; structured content came after it."""
    for revision, structured in ((MODERN, True), ("2025-11-25", True), ("2025-06-18", True), ("2025-03-26", False)):
        message = taken(said("tools/list", revision=revision, progressToken=7))
        assert message is not None
        assert (message.revision, message.modern, message.structured) == (revision, revision == MODERN, structured)
        assert message.progress_token == 7


def test_the_later_era_is_held_to_what_it_says_of_itself() -> None:
    """`_meta` first, then that the headers agree with it, then whether the version is spoken here."""
    call = {"name": "ask", "arguments": {}}
    for key in ("protocolVersion", "clientCapabilities"):
        assert refused(without(said("tools/list"), key)).code is Code.INVALID_PARAMS
    mismatches: list[dict[str, str | None]] = [
        {"mcp_protocol_version": "2099-01-01"},
        {"mcp_protocol_version": "2025-11-25"},
        {"mcp_protocol_version": None},
        {"mcp_method": None},
        {"mcp_method": "tools/list"},
        {"mcp_name": None},
        {"mcp_name": "other"},
        {"mcp_name": "=?base64?broken?="},
    ]
    for headers in mismatches:
        assert refused(said("tools/call", call), **headers).code is Code.HEADER_MISMATCH, headers
    assert taken(said("tools/call", call), mcp_name="=?base64?YXNr?=") is not None
    future = said("tools/list")
    future["json"]["params"]["_meta"][f"{META}protocolVersion"] = "2099-01-01"
    error = refused(future, mcp_protocol_version="2099-01-01")
    assert (error.code, error.request_id) == (Code.UNSUPPORTED_VERSION, 1)
    assert error.data == {"supported": [MODERN, "2025-11-25", "2025-06-18", "2025-03-26"], "requested": "2099-01-01"}


def test_a_header_that_routing_goes_by_comes_once() -> None:
    """Whoever stands between might go by the first, and we by the last."""
    sent = said("tools/list")
    with pytest.raises(ProtocolError) as caught:
        read_message(sent["json"], [*sent["headers"].items(), ("mcp-method", "tools/call")])
    assert caught.value.code is Code.HEADER_MISMATCH


@pytest.mark.parametrize(
    "body",
    [
        [],
        7,
        None,
        {"id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": 7},
    ],
)
def test_what_is_no_message_is_an_invalid_request(body: Any) -> None:
    """A null id too: an answer to it could be anybody's."""
    with pytest.raises(ProtocolError) as caught:
        read_message(body, [])
    assert caught.value.code is Code.INVALID_REQUEST


def test_notifications_and_answers_want_no_answer() -> None:
    """In the later era nobody is answered, so an answer is a mistake; a notification of a version that nobody speaks is one too."""
    note: Any = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    message = read_message(note, [("mcp-protocol-version", MODERN)])
    assert message is not None
    assert message.id is None
    answer: Any = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert read_message(answer, []) is None
    for body, version in ((answer, MODERN), (note, "1999-01-01")):
        with pytest.raises(ProtocolError):
            read_message(body, [("mcp-protocol-version", version)])


def test_a_header_may_be_encoded_and_a_broken_one_equals_nothing() -> None:
    """2026-07-28, Streamable HTTP: base64 of UTF-8, in its one spelling."""
    assert decoded("=?base64?R3LDvMOfZQ==?=") == "Grüße"
    assert decoded("plain") == "plain"
    assert (decoded(None), decoded("=?base64?R3LDvMOfZR==?="), decoded("=?base64?/w==?=")) == (None, None, None)

"""The Model Context Protocol on one POST, in both its eras: which revision a message speaks, and what is wrong with it. Pure.

2026-07-28 names itself in each request (`_meta` and headers) and knows no sessions. The earlier revisions greet with `initialize`; here
they have no session either, so a request of theirs is known by its header alone, and without one is of 2025-03-26.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TypeAlias

from pydantic import JsonValue

MODERN = "2026-07-28"
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Revisions that begin with `initialize`, the newest first."""
REVISIONS = (MODERN, *HANDSHAKE)
UNNAMED = "2025-03-26"
"""What a request without a version speaks (2025-06-18, Streamable HTTP, protocol version header)."""

META = "io.modelcontextprotocol/"
VERSION_META = f"{META}protocolVersion"
CAPABILITIES_META = f"{META}clientCapabilities"
CLIENT_META = f"{META}clientInfo"
SERVER_META = f"{META}serverInfo"

VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "mcp-protocol-version", "mcp-method", "mcp-name"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The methods whose `Mcp-Name` repeats a parameter, and which."""

RequestId: TypeAlias = str | int
Object: TypeAlias = dict[str, JsonValue]


class Code(IntEnum):
    """JSON-RPC 2.0, section 5.1, and MCP 2026-07-28."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    HEADER_MISMATCH = -32020
    MISSING_CAPABILITY = -32021
    UNSUPPORTED_VERSION = -32022


STATUS: Mapping[Code, int] = {
    Code.PARSE_ERROR: 400,
    Code.INVALID_REQUEST: 400,
    Code.METHOD_NOT_FOUND: 404,
    Code.INVALID_PARAMS: 400,
    Code.HEADER_MISMATCH: 400,
    Code.MISSING_CAPABILITY: 400,
    Code.UNSUPPORTED_VERSION: 400,
}
"""The HTTP status of an error; others are 200. The earlier revisions have none of their own for what a method says."""


class ProtocolError(Exception):
    """What is wrong with a message, as its sender is told. `message` never repeats what was sent."""

    def __init__(self, code: Code, message: str, data: JsonValue = None, *, request_id: RequestId | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data, self.request_id = code, message, data, request_id


@dataclass(frozen=True)
class Incoming:
    """One request or notification (`id` None). `client` is what the client calls itself, if it says so; `capabilities` what it says it can,
    which the earlier revisions said once, at the start, and not here."""

    id: RequestId | None
    method: str
    params: Object
    revision: str
    client: str = ""
    capabilities: Object = field(default_factory=dict)
    meta: Object = field(default_factory=dict)

    @property
    def modern(self) -> bool:
        return self.revision == MODERN

    @property
    def structured(self) -> bool:
        """Whether the revision has structured content."""
        return self.revision != UNNAMED

    @property
    def progress_token(self) -> RequestId | None:
        token = self.meta.get("progressToken")
        return token if isinstance(token, str) or (isinstance(token, int) and not isinstance(token, bool)) else None


def read_message(body: JsonValue, headers: Iterable[tuple[str, str]], *, user_agent: str = "") -> Incoming | None:
    """The message in a body; None for a response, which nobody here waits for. Header names are lower case. Raises ProtocolError."""
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise ProtocolError(Code.INVALID_REQUEST, "Send one JSON-RPC 2.0 request or notification.")
    request_id = _id(body)
    try:
        return _read(body, request_id, _once(headers), user_agent)
    except ProtocolError as error:
        error.request_id = request_id
        raise


def _id(body: Object) -> RequestId | None:
    request_id = body.get("id")
    if "id" in body and (isinstance(request_id, bool) or not isinstance(request_id, str | int)):
        raise ProtocolError(Code.INVALID_REQUEST, "A request's id is a text or an integer.")
    return request_id  # type: ignore[return-value]  # that is what was just looked at


def _once(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers that routing goes by. Two of one name would be read differently by whoever stands between, so they are refused."""
    found: dict[str, str] = {}
    for name, value in headers:
        if name in {VERSION_HEADER, METHOD_HEADER, NAME_HEADER}:
            if name in found:
                raise ProtocolError(Code.HEADER_MISMATCH, f"{name} was sent more than once.")
            found[name] = value.strip()
    return found


def _read(body: Object, request_id: RequestId | None, headers: Mapping[str, str], user_agent: str) -> Incoming | None:
    method, params = body.get("method"), body.get("params", {})
    if method is None and ("result" in body or "error" in body):
        if headers.get(VERSION_HEADER) == MODERN:
            raise ProtocolError(Code.INVALID_REQUEST, "A server is not answered in this revision: send requests alone.")
        return None
    if not isinstance(method, str):
        raise ProtocolError(Code.INVALID_REQUEST, "A request has a method.")
    if not isinstance(params, dict):
        raise ProtocolError(Code.INVALID_PARAMS if request_id is not None else Code.INVALID_REQUEST, "params is an object.")
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    version = headers.get(VERSION_HEADER)
    read = Incoming(request_id, method, params, version or UNNAMED, client=_product(user_agent), meta=meta)
    if request_id is None:
        return replace(read, revision=_supported(read.revision))
    if version is None or version in HANDSHAKE:
        if VERSION_META in meta:
            raise ProtocolError(Code.HEADER_MISMATCH, f"{VERSION_HEADER} does not say the version that _meta says.")
        return read
    return _modern(read, headers)


def _modern(read: Incoming, headers: Mapping[str, str]) -> Incoming:
    """A request that names a version of the later era: `_meta` first, then that the headers agree with it, then whether we speak it."""
    meta = read.meta
    missing = [key for key in (VERSION_META, CAPABILITIES_META) if key not in meta]
    if missing:
        raise ProtocolError(Code.INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}.")
    if headers.get(VERSION_HEADER) != meta[VERSION_META]:
        raise ProtocolError(Code.HEADER_MISMATCH, f"{VERSION_HEADER} does not say the version that _meta says.")
    if headers.get(METHOD_HEADER) != read.method:
        raise ProtocolError(Code.HEADER_MISMATCH, f"{METHOD_HEADER} does not say the method of the body.")
    named = NAMED.get(read.method)
    name = None if named is None else read.params.get(named)
    if name is not None and decoded(headers.get(NAME_HEADER)) != name:
        raise ProtocolError(Code.HEADER_MISMATCH, f"{NAME_HEADER} does not say the {named} of the body.")
    capabilities, info = meta[CAPABILITIES_META], meta.get(CLIENT_META)
    if not isinstance(capabilities, dict):
        raise ProtocolError(Code.INVALID_PARAMS, f"{CAPABILITIES_META} is an object.")
    said = info.get("name") if isinstance(info, dict) else None
    client = said if isinstance(said, str) else read.client
    return replace(read, revision=_supported(read.revision), client=client, capabilities=capabilities)


def _supported(version: str) -> str:
    if version not in REVISIONS:
        data: JsonValue = {"supported": list(REVISIONS), "requested": version}
        raise ProtocolError(Code.UNSUPPORTED_VERSION, "This version of the protocol is not spoken here.", data)
    return version


def _product(user_agent: str) -> str:
    """The first product of a User-Agent (RFC 9110, section 10.1.5)."""
    return user_agent.partition("/")[0].strip().lower()


_ENCODED = re.compile(r"=\?base64\?(.*)\?=")


def decoded(value: str | None) -> str | None:
    """What a header says that could not be said as it is: `=?base64?…?=` around its UTF-8 (2026-07-28, Streamable HTTP). None where that
    is broken, so that it equals nothing."""
    found = None if value is None else _ENCODED.fullmatch(value)
    if found is None:
        return value
    try:
        text = base64.b64decode(found[1], validate=True)
        return text.decode() if base64.b64encode(text).decode() == found[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None

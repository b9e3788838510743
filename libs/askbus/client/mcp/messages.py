"""Messages of the Model Context Protocol as a bridge sees them: what it has to know of each, and its headers over HTTP. Pure."""

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from askbus.errors import AskbusError, InvalidInput
from askbus.incoming import refuse_hostile

Object: TypeAlias = dict[str, JsonValue]
RequestId: TypeAlias = str | int

PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603
"""JSON-RPC 2.0, section 5.1."""

VERSION_META = "io.modelcontextprotocol/protocolVersion"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The methods whose `Mcp-Name` repeats a parameter, and which (2026-07-28, Streamable HTTP)."""

READS = frozenset({"search_workspace", "get_workspace_activity", "query_records", "get_question_answer", "list_open_questions"})
"""Tools that change nothing, which may therefore be called again."""
KEYED = frozenset({"ask_user_question", "propose_changes"})
"""Tools that find what they made before by its dedupe key."""

LONGEST_NAME = 80
"""Characters of a method or a tool in a log."""

_BOM = b"\xef\xbb\xbf"
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_ENCODED = re.compile(r"=\?base64\?.*\?=")


class MessageError(Exception):
    """What is wrong with a line, for whoever wrote it."""

    def __init__(self, code: int, message: str, request_id: RequestId | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.request_id = code, message, request_id


@dataclass(frozen=True)
class Message:
    """One request, notification (`id` None) or batch (`method` empty). `line` is its JSON."""

    line: bytes
    id: RequestId | None
    method: str
    params: Object

    @property
    def meta(self) -> Object:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def version(self) -> str | None:
        """The revision that it names itself, as requests do from 2026-07-28 on."""
        version = self.meta.get(VERSION_META)
        return version if isinstance(version, str) else None

    @property
    def tool(self) -> str | None:
        """The tool that it calls."""
        name = self.params.get("name")
        return name if self.method == "tools/call" and isinstance(name, str) else None

    @property
    def name(self) -> str:
        """What a log calls it: one short line, whatever its client wrote."""
        return ascii(self.tool or self.method)[1:-1][:LONGEST_NAME]

    @property
    def arguments(self) -> Object | None:
        arguments = self.params.get("arguments", {})
        return arguments if isinstance(arguments, dict) else None

    @property
    def progress_token(self) -> RequestId | None:
        token = self.meta.get("progressToken")
        return token if _is_id(token) else None

    @property
    def goes_on(self) -> bool:
        """Whether it continues a call that asked its client for something (2026-07-28, multi-round-trip requests)."""
        return "requestState" in self.params or "inputResponses" in self.params

    @property
    def repeatable(self) -> bool:
        """Whether it may be sent again when nobody knows what became of it."""
        if self.method != "tools/call":
            return self.method != ""
        return self.tool in READS or (self.tool in KEYED and not self.goes_on and all(map(_keyed, self._asked())))

    def with_keys(self, key: str) -> "Message":
        """The same with dedupe keys made of `key` where it has none, so that sent twice it counts once."""
        arguments = self.arguments
        if self.tool not in KEYED or arguments is None or self.goes_on:
            return self
        questions = arguments.get("questions")
        if isinstance(questions, list):
            keyed = [_with_key(one, f"{key} {index}") for index, one in enumerate(questions)]
            return self.with_params(arguments={**arguments, "questions": keyed})
        return self.with_params(arguments=_with_key(arguments, key))

    def without_progress(self) -> "Message":
        """The same for a server that need not report."""
        if "progressToken" not in self.meta:
            return self
        return self.with_params(_meta={name: value for name, value in self.meta.items() if name != "progressToken"})

    def with_params(self, **changed: JsonValue) -> "Message":
        params = {**self.params, **changed}
        said: Object = {"jsonrpc": "2.0", "id": self.id, "method": self.method, "params": params}
        return replace(self, line=to_json(said), params=params)

    def headers(self, agreed: str | None) -> dict[str, str]:
        """Its headers. `agreed`: the revision that an earlier `initialize` came to."""
        if self.version is None:
            return {"mcp-protocol-version": agreed} if agreed is not None and self.method != "initialize" else {}
        headers = {"mcp-protocol-version": header_value(self.version), "mcp-method": header_value(self.method)}
        name = self.params.get(NAMED.get(self.method, ""))
        if isinstance(name, str):
            headers["mcp-name"] = header_value(name)
        return headers

    def _asked(self) -> Iterator[JsonValue]:
        """What has a dedupe key of its own: the questions of a set, or the arguments."""
        questions = (self.arguments or {}).get("questions")
        yield from questions if isinstance(questions, list) else [self.arguments]


def read_line(line: bytes) -> Message | None:
    """The message of a line; None for an empty line, and for a response, which nobody here waits for. Raises MessageError."""
    line = line.removeprefix(_BOM).strip()
    if not line:
        return None
    try:
        refuse_hostile(line)
        body: JsonValue = from_json(line, allow_inf_nan=False)
    except InvalidInput as error:
        raise MessageError(PARSE_ERROR, error.message.replace("The body", "This line")) from None
    except ValueError:
        raise MessageError(PARSE_ERROR, "This line is no JSON in UTF-8. Write one message a line.") from None
    if isinstance(body, list):
        return Message(line, None, "", {})
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise MessageError(INVALID_REQUEST, "Write one JSON-RPC 2.0 request or notification a line.")
    request_id, method, params = body.get("id"), body.get("method"), body.get("params", {})
    if "id" in body and not _is_id(request_id):
        raise MessageError(INVALID_REQUEST, "A request's id is a text or an integer.")
    known = request_id if _is_id(request_id) else None
    if method is None and ("result" in body or "error" in body):
        return None
    if not isinstance(method, str) or not method or not isinstance(params, dict):
        raise MessageError(INVALID_REQUEST, "A request has a method, and params that are an object.", known)
    return Message(line, known, method, params)


def header_value(text: str) -> str:
    """The text as a header says it: as it is, or `=?base64?…?=` around its UTF-8 (2026-07-28, Streamable HTTP)."""
    if _PLAIN.fullmatch(text) and not _ENCODED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def error_line(request_id: RequestId | None, code: int, message: str, data: JsonValue = None) -> bytes:
    """A JSON-RPC error."""
    told: Object = {"code": code, "message": message}
    if data is not None:
        told["data"] = data
    return to_json({"jsonrpc": "2.0", "id": request_id, "error": told})


def failure_line(request_id: RequestId | None, error: AskbusError) -> bytes:
    """What kept a request from being answered. `data` is the error as every door of askbus says it."""
    return error_line(request_id, INTERNAL_ERROR, error.message, error.body().model_dump(mode="json"))


def progress_line(token: RequestId, done: float, total: float, message: str) -> bytes:
    params: Object = {"progressToken": token, "progress": round(done, 1), "total": total, "message": message}
    return to_json({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def one_line(message: bytes, parsed: JsonValue) -> bytes:
    """The message without line breaks, which JSON has between its words alone."""
    return message if b"\n" not in message and b"\r" not in message else to_json(parsed)


def _is_id(value: object) -> TypeGuard[RequestId]:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _keyed(asked: object) -> bool:
    return isinstance(asked, Mapping) and asked.get("dedupe_key") is not None


def _with_key(asked: JsonValue, key: str) -> JsonValue:
    return {**asked, "dedupe_key": key} if isinstance(asked, dict) and asked.get("dedupe_key") is None else asked

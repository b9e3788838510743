"""GET /v1/openapi.json: the whole API as an OpenAPI 3.1 document, made from the descriptions of the routes that are served."""

import asyncio
import inspect
import json
import re
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from askbus.errors import BY_CODE, AskbusError, ErrorBody, RateLimited, Unauthenticated
from askbus_gateway.http.described import Caller, Content, DescribedRoute, Description, Media, described, route
from askbus_gateway.http.gate import Gate

SCHEMAS = "#/components/schemas/"
ERROR: tuple[type[BaseModel], JsonSchemaMode] = (ErrorBody, "serialization")
PARAMETER = re.compile(r"{(\w+)}")

ABOUT = """\
The API of askbus, as the console and agents use it. What one may not see does not exist: it answers 404. Changes that are sent again with
the same `Idempotency-Key` count once. The response header `askbus-trace-id` names the request's trace.
"""

TOKEN = """\
An API token, or a JWT of an issuer that the deployment trusts; beside one, the header `Askbus-Workspace` names the workspace where its
person is a member of several.
"""  # noqa: S105  # words about one
SESSION = "The cookie that signing in sets."
PAGE = """\
A page of another origin can make a browser send its cookie, but not this header: a cookie's changing request without a JSON body needs it,
with any value. Beside it, `Origin` must be this host where a browser sends one.
"""
KEY = "The caller's own id for this command: sent again with the same one it counts once."


class Document:
    """The route of the document, which describes itself too. `routes` are the others."""

    def __init__(self, gate: Gate, routes: Sequence[BaseRoute]) -> None:
        self.cookie = gate.cookie
        self.others = routes
        self._made: bytes | None = None

    def routes(self) -> list[Route]:
        return [route("GET", "/v1/openapi.json", self.get)]

    @described(Media(("application/json",), "The document."), caller=Caller.ANYBODY)
    async def get(self, _request: Request) -> Response:
        """This API as an OpenAPI 3.1 document."""
        if self._made is None:  # made when it is first asked for, beside the event loop
            self._made = await asyncio.to_thread(self._make)
        return Response(self._made, media_type="application/json")

    def _make(self) -> bytes:
        told = [each.description for each in (*self.others, *self.routes()) if isinstance(each, DescribedRoute)]
        return json.dumps(document(told, self.cookie)).encode()


def document(routes: Sequence[Description], cookie: str) -> dict[str, Any]:
    """The document of these routes, whose sessions are cookies of this name. Pure."""
    schemas = _Schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    for each in routes:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schemas)
    schemes = {
        "token": {"type": "http", "scheme": "bearer", "description": TOKEN},
        "session": {"type": "apiKey", "in": "cookie", "name": cookie, "description": SESSION},
        "page": {"type": "apiKey", "in": "header", "name": "X-Askbus", "description": PAGE},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "askbus", "version": version("askbus"), "description": ABOUT},
        "paths": paths,
        "components": {
            "schemas": schemas.definitions,
            "responses": {kind.__name__: _refusal(kind) for kind in BY_CODE.values()},
            "securitySchemes": schemes,
        },
    }


class _Schemas:
    """The JSON schemas of all models of the routes: two for a model that is read otherwise than it is written, longer names for those of
    one name."""

    def __init__(self, routes: Sequence[Description]) -> None:
        used = dict.fromkeys([ERROR, *(model for each in routes for model in _models(each))])
        self._of, made = models_json_schema(list(used), ref_template=f"{SCHEMAS}{{model}}")
        self.definitions: dict[str, Any] = made["$defs"]
        self.definitions["ErrorBody"]["properties"]["code"] = {"type": "string", "enum": list(BY_CODE)}

    def sent(self, model: type[BaseModel]) -> Any:
        return self._of[model, "validation"]

    def answered(self, model: type[BaseModel]) -> Any:
        return self._of[model, "serialization"]

    def fields(self, model: type[BaseModel]) -> tuple[dict[str, Any], list[str]]:
        """The properties of a model, and which of them are required."""
        schema = self.sent(model)
        if "$ref" in schema:
            schema = self.definitions[schema["$ref"].removeprefix(SCHEMAS)]
        return schema.get("properties", {}), schema.get("required", [])


def _models(told: Description) -> Iterator[tuple[type[BaseModel], JsonSchemaMode]]:
    for sent in (told.body, told.query):
        if isinstance(sent, type):
            yield sent, "validation"
    for contents in told.answers.values():
        for content in contents:
            if isinstance(content, type):
                yield content, "serialization"


def _operation(told: Description, schemas: _Schemas) -> dict[str, Any]:
    summary, _blank, more = told.says.partition("\n\n")
    made: dict[str, Any] = {
        "operationId": _operation_id(told),
        "summary": " ".join(summary.split()),
        **({"description": more} if more else {}),
        "tags": [told.path.split("/")[2].removesuffix(".json")],
        "parameters": [*_in_path(told), *_in_query(told, schemas), *_in_headers(told)],
        "responses": {
            **{str(status): _answer(status, contents, schemas) for status, contents in told.answers.items()},
            **{str(kind.http_status): {"$ref": f"#/components/responses/{kind.__name__}"} for kind in told.errors()},
        },
        "security": _security(told),
    }
    if told.body is not None:
        made["requestBody"] = _request_body(told.body, schemas)
    return made


def _operation_id(told: Description) -> str:
    return "_".join([told.method.lower(), *re.findall(r"[\w-]+", told.path.removeprefix("/v1/"))]).replace("-", "_")


def _security(told: Description) -> list[dict[str, list[str]]]:
    if told.caller is Caller.ANYBODY:
        return []
    session: dict[str, list[str]] = {"session": [], "page": []} if told.changes else {"session": []}
    scopes = [] if told.scope is None else [told.scope.value]
    return [session] if told.caller is Caller.PERSON else [{"token": scopes}, session]


def _in_path(told: Description) -> Iterator[dict[str, Any]]:
    for name in PARAMETER.findall(told.path):
        kind = told.params.get(name)
        schema = {"type": "string", "format": "uuid"} if kind is None else TypeAdapter(kind).json_schema()
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(told: Description, schemas: _Schemas) -> Iterator[dict[str, Any]]:
    if told.query is None:
        return
    properties, required = schemas.fields(told.query)
    for name, schema in properties.items():
        listed = {"style": "form", "explode": False} if schema.get("type") == "array" else {}
        yield {"name": name, "in": "query", "required": name in required, "schema": _without_null(schema), **listed}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query has texts alone: what may be null may be left out."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    if not kinds:
        return schema
    rest = {key: value for key, value in schema.items() if key not in {"anyOf", "default"}}
    return {**kinds[0], **rest} if len(kinds) == 1 else {"anyOf": kinds, **rest}


def _in_headers(told: Description) -> Iterator[dict[str, Any]]:
    if told.idempotent:
        schema = {"type": "string", "format": "uuid"}
        yield {"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema, "description": KEY}
    for name, says in told.headers.items():
        yield {"name": name, "in": "header", "required": False, "schema": {"type": "string"}, "description": says}


def _request_body(content: type[BaseModel] | Media, schemas: _Schemas) -> dict[str, Any]:
    if isinstance(content, Media):
        return {"required": True, "description": content.says, "content": {kind: {} for kind in content.types}}
    _fields, required = schemas.fields(content)
    return {"required": bool(required), "content": {"application/json": {"schema": schemas.sent(content)}}}


def _answer(status: int, contents: Sequence[Content], schemas: _Schemas) -> dict[str, Any]:
    models = [content for content in contents if isinstance(content, type)]
    files = [content for content in contents if isinstance(content, Media)]
    made: dict[str, Any] = {kind: {} for file in files for kind in file.types}
    if models:
        answered = [schemas.answered(model) for model in models]
        made["application/json"] = {"schema": answered[0] if len(answered) == 1 else {"anyOf": answered}}
    said = [*map(_first_line, models), *(file.says for file in files)]
    words = " ".join(filter(None, said)) or HTTPStatus(status).phrase
    return {"description": words, "content": made} if made else {"description": words}


def _first_line(model: type[BaseModel]) -> str:
    words = inspect.cleandoc(model.__dict__.get("__doc__") or "")
    return " ".join(words.partition("\n\n")[0].split())


def _refusal(kind: type[AskbusError]) -> dict[str, Any]:
    schema = {"allOf": [{"$ref": f"{SCHEMAS}ErrorBody"}, {"properties": {"code": {"const": kind.code}}}]}
    made: dict[str, Any] = {
        "description": HTTPStatus(kind.http_status).phrase,
        "content": {"application/json": {"schema": schema}},
    }
    if kind is Unauthenticated:
        made["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}}}
    if kind is RateLimited:
        made["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    return made

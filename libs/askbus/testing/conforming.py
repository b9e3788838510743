"""Whether an answer is what the gateway's own OpenAPI document says: asked of every answer that tests get from composed services."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

import httpx2
import jsonschema_rs

BASE = "urn:askbus:openapi"
HTTP_STATUS_OF_NO_ROUTE = frozenset({404, 405})

_documents: list["Conforming"] = []
"""The document of this process, once the first answer has come: each gateway of a version serves the same."""


async def judge(response: httpx2.Response) -> None:
    """A client's response hook. Raises AssertionError for an answer that the document does not have."""
    request = response.request
    if not request.url.path.startswith("/v1/") or request.method == "HEAD":
        return
    if not _documents:
        async with httpx2.AsyncClient(base_url=request.url.copy_with(path="/", query=None)) as client:
            _documents.append(Conforming((await client.get("/v1/openapi.json")).raise_for_status().json()))
    if media_type(response) == "application/json":
        await response.aread()
    _documents[0].judge(response)


def media_type(response: httpx2.Response) -> str:
    """Without its parameters; empty where there is none."""
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


class Conforming:
    """The document, and what it says of answers."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.registry = jsonschema_rs.Registry([(BASE, dict(document))], draft=jsonschema_rs.Draft202012)
        patterns = [(template, re.compile(re.sub(r"{\w+}", "[^/]+", template))) for template in document["paths"]]
        self.templates = sorted(patterns, key=lambda pair: "{" in pair[0])  # what is spelled out comes first, as in routes
        self.validator = cache(self._validator)

    def judge(self, response: httpx2.Response) -> None:
        """Status, media type and content, each as the operation has it."""
        request = response.request
        if request.method == "OPTIONS" and "access-control-request-method" in request.headers:
            return  # a browser's question of its own (CORS), which no document has
        template = self._template(request.url.raw_path.decode().partition("?")[0])
        operation = self.document["paths"].get(template, {}).get(request.method.lower())
        if operation is None:
            assert response.status_code in HTTP_STATUS_OF_NO_ROUTE, f"no route, but {response.status_code}: {request.url}"
            return
        where, status = f"{request.method} {template}", str(response.status_code)
        assert status in operation["responses"], f"{where} answered {status}, which the document does not have: {_told(response)}"
        said = operation["responses"][status]
        pointer: tuple[str, ...] = ("paths", template, request.method.lower(), "responses", status)
        if "$ref" in said:
            pointer = ("components", "responses", said["$ref"].rpartition("/")[2])
            said = self.document["components"]["responses"][pointer[-1]]
        content, kind = said.get("content", {}), media_type(response)
        assert kind in content or not (kind or content), f"{where} answered {status} as {kind!r}, not as one of {list(content)}"
        if kind == "application/json" and "schema" in content[kind]:
            validator = self.validator((*pointer, "content", kind, "schema"))
            error = next(validator.iter_errors(response.json()), None)
            assert error is None, f"{where} answered {status} otherwise than documented: {error}"

    def _template(self, path: str) -> str:
        return next((template for template, pattern in self.templates if pattern.fullmatch(path)), "")

    def _validator(self, pointer: tuple[str, ...]) -> jsonschema_rs.Draft202012Validator:
        escaped = "/".join(part.replace("~", "~0").replace("/", "~1") for part in pointer)
        schema = {"$ref": f"{BASE}#/{quote(escaped)}"}
        return jsonschema_rs.Draft202012Validator(schema, registry=self.registry, validate_formats=True)


def _told(response: httpx2.Response) -> str:
    return response.text[:300] if media_type(response) == "application/json" else ""

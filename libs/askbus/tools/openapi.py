"""The tools as an OpenAPI 3.1 document, made from the same two models as everything else. Pure."""

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import JsonSchemaMode

from askbus.errors import ErrorBody
from askbus.tools.model import ToolSpec

PATH = "/v1/tools/{name}"


def document(tools: Iterable[ToolSpec]) -> dict[str, JsonValue]:
    """Each tool as an operation: its arguments under `arguments` in the body, its output under `content` in the answer."""
    schemas: dict[str, Any] = {}
    error = _schema(ErrorBody, "error", "serialization", schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "askbus tools", "version": version("askbus")},
        "paths": {PATH.format(name=spec.name): {"post": _operation(spec, error, schemas)} for spec in tools},
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(spec: ToolSpec, error: JsonValue, schemas: dict[str, Any]) -> dict[str, JsonValue]:
    body = _object(
        {
            "project_id": {"type": "string", "format": "uuid"},
            "arguments": _schema(spec.input, f"{spec.name}.in", "validation", schemas),
        }
    )
    text: JsonValue = {"type": "string", "description": "The beginning of a result that was too long, where cut is true."}
    answer = _object(
        {
            "call_id": {"type": "string", "format": "uuid"},
            "name": {"const": spec.name},
            "content": {"anyOf": [_schema(spec.output, f"{spec.name}.out", "serialization", schemas), text]},
            "cut": {"type": "boolean"},
        }
    )
    return {
        "operationId": spec.name,
        "description": spec.description,
        "x-askbus-scope": spec.scope.value,
        "requestBody": {"required": True, "content": _json(body)},
        "responses": {
            "200": {"description": "What it came to.", "content": _json(answer)},
            "default": {"description": "Why it came to nothing.", "content": _json(error)},
        },
    }


def _schema(model: type[BaseModel], prefix: str, mode: JsonSchemaMode, schemas: dict[str, Any]) -> JsonValue:
    """The model's schema; the definitions that it refers to go into `schemas`, under names that no other tool's have."""
    made = model.model_json_schema(mode=mode, ref_template=f"#/components/schemas/{prefix}.{{model}}")
    schemas.update({f"{prefix}.{name}": schema for name, schema in made.pop("$defs", {}).items()})
    return made


def _object(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _json(schema: JsonValue) -> JsonValue:
    return {"application/json": {"schema": schema}}

"""JSON schemas of tools' inputs as models are shown them: small, shallow, nothing that only a generator of code needs. Pure."""

from collections.abc import Mapping
from functools import cache

from pydantic import JsonValue

from askbus.tools.model import ToolSpec
from askbus.tools.portable import Schema, portable

SCHEMAS = frozenset({"items", "additionalProperties", "not"})
"""Keywords whose value is a schema (JSON Schema 2020-12, section 10)."""
LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""
NOISE = frozenset({"title", "discriminator", "$defs"})


@cache
def parameters(spec: ToolSpec) -> Schema:
    """The schema of the tool's one argument object, as every wire accepts it. Definitions stand where they are used, unless they contain
    themselves. Raises ValueError where the input is no object."""
    whole = spec.input.model_json_schema(by_alias=True)
    definitions = whole.get("$defs", {})
    kept = {name for name in definitions if _reaches(definitions[name], name, definitions, frozenset())}
    made = _Shown(definitions, kept).schema(whole)
    made.pop("description", None)
    if kept:
        shown = _Shown(definitions, kept)
        made["$defs"] = {name: shown.schema(definitions[name]) for name in sorted(kept)}
    accepted = portable(made)
    if accepted is None:
        raise ValueError(f"the input of {spec.name} must be an object with plainly named fields")
    return accepted


def _reaches(schema: JsonValue, name: str, definitions: Mapping[str, JsonValue], seen: frozenset[str]) -> bool:
    """Whether `schema` refers to the definition `name`, however many steps away."""
    if isinstance(schema, list):
        return any(_reaches(part, name, definitions, seen) for part in schema)
    if not isinstance(schema, dict):
        return False
    target = _target(schema)
    if target == name:
        return True
    if target is not None and target not in seen and _reaches(definitions[target], name, definitions, seen | {target}):
        return True
    return any(_reaches(part, name, definitions, seen) for part in schema.values())


def _target(schema: Schema) -> str | None:
    reference = schema.get("$ref")
    return reference.removeprefix("#/$defs/") if isinstance(reference, str) else None


class _Shown:
    """Rewrites schemas; `kept` are the definitions that stay definitions."""

    def __init__(self, definitions: Mapping[str, Schema], kept: set[str]) -> None:
        self._definitions = definitions
        self._kept = kept

    def schema(self, given: JsonValue) -> Schema:
        """One schema: references replaced, titles gone, and no null beside the one thing that a parameter may be."""
        if not isinstance(given, dict):
            return {}
        target = _target(given)
        if target is not None and target not in self._kept:
            beside = {word: value for word, value in given.items() if word != "$ref"}
            return self.schema({**self._definitions[target], **beside})
        made: Schema = {}
        for word, value in given.items():
            if word in NOISE or (word == "default" and value in (None, "", [])):
                continue
            made[word] = self._value(word, value)
        return _without_null(made)

    def _value(self, word: str, value: JsonValue) -> JsonValue:
        if word == "properties" and isinstance(value, dict):
            return {name: self.schema(part) for name, part in value.items()}
        if word in SCHEMAS and isinstance(value, dict):
            return self.schema(value)
        if word in LISTS and isinstance(value, list):
            return [self.schema(part) for part in value]
        return value


def _without_null(schema: Schema) -> Schema:
    """`anyOf: [X, null]` as X: what is not given is left out."""
    choices = schema.get("anyOf")
    if not isinstance(choices, list):
        return schema
    rest = [choice for choice in choices if choice != {"type": "null"}]
    if len(rest) == 1 and isinstance(rest[0], dict):
        return {**rest[0], **{word: value for word, value in schema.items() if word != "anyOf"}}
    return {**schema, "anyOf": rest}

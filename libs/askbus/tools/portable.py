"""Schemas and names of tools in the form that every provider's wire accepts. Pure.

Tools come from our own code, from a deployment's and from other servers. OpenAI and Anthropic both want an object at the top with its
properties and without alternatives, OpenAI wants items for each array, and both want short plain names. What is rewritten here is only
what a model is shown: arguments are checked against the original.
"""

import hashlib
import re
from collections.abc import Iterable

from pydantic import JsonValue

Schema = dict[str, JsonValue]

_COMBINED = ("allOf", "anyOf", "oneOf")
_REFUSED_AT_THE_TOP = frozenset({*_COMBINED, "not", "enum", "const", "if", "then", "else", "$ref", "$schema", "$id"})
_SCHEMAS = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"})
_LISTS = frozenset({*_COMBINED, "prefixItems"})
_NAMED = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_DEEPEST = 32
_MOST_ALTERNATIVES = 200
LONGEST_NAME = 64


def portable(given: JsonValue) -> Schema | None:
    """The schema of a tool's one argument object for every wire; None where it describes no object, or is nested too deeply: such a tool
    is left out, and the others stay usable."""
    if given is None:
        given = {}
    if not isinstance(given, dict) or given.get("type", "object") not in ("object", ["object"]):
        return None
    try:
        whole = _whole(given)
        top = _Merger(whole).merged(whole)
    except _TooDeepError:
        return None
    properties = top.get("properties")
    if not isinstance(properties, dict) or not all(_KEY.fullmatch(key) for key in properties):
        return None
    made: Schema = {word: value for word, value in top.items() if word not in _REFUSED_AT_THE_TOP}
    required = made.pop("required", None)
    named: list[JsonValue] = [name for name in required if name in properties] if isinstance(required, list) else []
    return {**made, "type": "object", "properties": properties, **({"required": named} if named else {})}


class _TooDeepError(Exception):
    """The schema has no end that could be reached."""


def _whole(schema: Schema, depth: int = 0) -> Schema:
    """The same schema with items for each array, and no bare true or false where a schema stands."""
    if depth > _DEEPEST:
        raise _TooDeepError
    made: Schema = {}
    for word, value in schema.items():
        if word in _NAMED and isinstance(value, dict):
            made[word] = {name: _part(part, depth) for name, part in value.items()}
        elif word in _LISTS and isinstance(value, list):
            made[word] = [_part(part, depth) for part in value]
        elif word in _SCHEMAS and isinstance(value, dict):
            made[word] = _whole(value, depth + 1)
        elif word == "items":
            made[word] = {}  # true, or the list of an older draft
        else:
            made[word] = value
    kinds = made.get("type")
    if (kinds == "array" or (isinstance(kinds, list) and "array" in kinds)) and "items" not in made:
        made["items"] = {}
    return made


def _part(part: JsonValue, depth: int) -> JsonValue:
    return _whole(part, depth + 1) if isinstance(part, dict) else {}


class _Merger:
    """Makes one object schema of alternatives. References may lead in circles, so it counts what it looked at."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._left = _MOST_ALTERNATIVES

    def merged(self, schema: Schema) -> Schema:
        """All properties of all alternatives, and required what each of them requires. Raises _TooDeepError."""
        self._left -= 1
        if self._left < 0:
            raise _TooDeepError
        schema = {**_target(schema, self._root), **schema}
        properties: Schema = {}
        given = schema.get("properties")
        _add(properties, given if isinstance(given, dict) else {})
        required = _names(schema)
        for word in _COMBINED:
            listed = schema.get(word)
            branches = [self.merged(part) for part in (listed if isinstance(listed, list) else []) if isinstance(part, dict)]
            for branch in branches:
                found = branch["properties"]
                _add(properties, found if isinstance(found, dict) else {})
            if branches:
                wanted = [_names(branch) for branch in branches]
                required |= set.union(*wanted) if word == "allOf" else set.intersection(*wanted)
        return {**schema, "properties": properties, "required": [*sorted(required)]}


def _add(properties: Schema, more: Schema) -> None:
    """Two meanings of one name are alternatives."""
    for name, schema in more.items():
        known = properties.get(name, schema)
        properties[name] = schema if known == schema else {"anyOf": [known, schema]}


def _names(schema: Schema) -> set[str]:
    required = schema.get("required")
    return {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()


def _target(schema: Schema, root: Schema) -> Schema:
    """What a reference inside the document means (RFC 6901), nothing for another."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return {}
    target: JsonValue = root
    for step in reference[2:].split("/"):
        target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
    return {word: value for word, value in target.items() if word != "$ref"} if isinstance(target, dict) else {}


def tool_name(server: str, name: str) -> str:
    """What a model calls another server's tool: plain, short, and always the same for the same tool of the same server, whatever else is
    connected, since it ends in a digest of both names."""
    digest = hashlib.sha256(f"{server}\0{name}".encode(errors="surrogatepass")).hexdigest()[:10]
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", f"{server}_{name}").strip("_")
    return f"{plain[: LONGEST_NAME - len(digest) - 1]}_{digest}"


def tool_names(tools: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """The way back: from what a model calls a tool to its server and the name there, on which permissions stand."""
    return {tool_name(server, name): (server, name) for server, name in tools}

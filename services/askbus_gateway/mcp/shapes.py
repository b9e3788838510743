"""What clients are told of a tool's arguments and results: a JSON schema of one or two levels without any documentation. Pure.

It is made from the pydantic model that checks, and says less: what is nested deeper is an object, and who sends a wrong one is told what is
wrong with it. There are no references, no alternatives and no lists of types, since one provider or another refuses each of them.
"""

from pydantic import BaseModel, JsonValue

Schema = dict[str, JsonValue]
KEPT = ("type", "enum")
DEEPEST = 2


def shape(model: type[BaseModel], *, by_alias: bool = True) -> Schema:
    """The schema of a model's object."""
    whole = model.model_json_schema(by_alias=by_alias)
    definitions = whole.get("$defs", {})
    return _object(whole, definitions, DEEPEST)


def _object(schema: Schema, definitions: Schema, levels: int) -> Schema:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or levels == 0:
        return {"type": "object"}
    made: Schema = {
        "type": "object",
        "properties": {name: _part(part, definitions, levels - 1) for name, part in properties.items()},
    }
    if required := schema.get("required"):
        made["required"] = required
    return made


def _part(part: JsonValue, definitions: Schema, levels: int) -> Schema:
    if not isinstance(part, dict):
        return {}
    reference = part.get("$ref")
    if isinstance(reference, str):
        return _part(definitions[reference.rpartition("/")[2]], definitions, levels)
    alternatives = part.get("anyOf")
    if isinstance(alternatives, list):
        wanted = [one for one in alternatives if one != {"type": "null"}]
        return _part(wanted[0], definitions, levels) if len(wanted) == 1 else {}
    match part.get("type"):
        case "object":
            return _object(part, definitions, levels)
        case "array":
            return {"type": "array", "items": _part(part.get("items", {}), definitions, levels)}
        case _:
            return {word: part[word] for word in KEPT if word in part}


def optional(schema: Schema, *names: str) -> Schema:
    """The same, where these may be left out."""
    required = schema.get("required")
    left: list[JsonValue] = [name for name in required if name not in names] if isinstance(required, list) else []
    return {word: value for word, value in {**schema, "required": left}.items() if word != "required" or left}


def having(schema: Schema, **more: Schema) -> Schema:
    """The same with more properties."""
    properties = schema.get("properties")
    return {**schema, "properties": {**(properties if isinstance(properties, dict) else {}), **more}}


def listing(model: type[BaseModel]) -> Schema:
    """The schema of a result that is lists of things: which lists, and that each is there."""
    properties = shape(model).get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": {}} for name in names},
        "required": [*names],
    }

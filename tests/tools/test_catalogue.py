"""The built-in tools as a model is told of them, and as they are run."""

import json
from collections.abc import Iterator
from typing import get_type_hints

import pytest
from pydantic import JsonValue

from askbus.errors import InvalidInput
from askbus.records.model import QueryPlan
from askbus.tools.arguments import read
from askbus.tools.catalogue import CATALOGUE, PROPOSE_CHANGES, QUERY_RECORDS, check_arguments
from askbus.tools.model import ToolSpec
from askbus.tools.schema import parameters
from askbus_tool_runner.context import Context
from askbus_tool_runner.tools.registry import BUILT_IN

pytestmark = pytest.mark.requirement("C30")


def test_each_tool_of_the_catalogue_is_run_by_one_function() -> None:
    """Same tools, same order; each function takes the spec's input and returns its output, which its name and types say."""
    assert [tool.spec for tool in BUILT_IN] == list(CATALOGUE)
    for tool in BUILT_IN:
        hints = get_type_hints(tool.function)
        assert tool.function.__name__ == tool.spec.name
        assert list(hints.values()) == [Context, tool.spec.input, tool.spec.output]


@pytest.mark.parametrize("spec", CATALOGUE, ids=lambda spec: spec.name)
def test_a_schema_is_small_and_whole(spec: ToolSpec) -> None:
    """An object at the top, every reference resolves, and nothing in it is noise for a model."""
    schema = parameters(spec)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert len(json.dumps(schema, separators=(",", ":"))) < 4_300
    definitions = schema.get("$defs", {})
    assert isinstance(definitions, dict)
    for part in schemas(schema):
        assert not {"title", "discriminator"} & set(part)
        assert {"type": "null"} not in as_list(part.get("anyOf"))
        if (reference := part.get("$ref")) is not None:
            assert isinstance(reference, str)
            assert reference.removeprefix("#/$defs/") in definitions


def as_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def schemas(schema: JsonValue) -> Iterator[dict[str, JsonValue]]:
    """The schema and every schema within it; what is called `title` in `properties` is a parameter, not a title."""
    if not isinstance(schema, dict):
        return
    yield schema
    for word in ("properties", "$defs"):
        inner = schema.get(word)
        for part in inner.values() if isinstance(inner, dict) else ():
            yield from schemas(part)
    for word in ("items", "additionalProperties", "not"):
        yield from schemas(schema.get(word))
    for word in ("anyOf", "oneOf", "allOf"):
        for part in as_list(schema.get(word)):
            yield from schemas(part)


def test_only_what_contains_itself_stays_a_definition() -> None:
    """A filter holds filters; everything else stands where it is used."""
    assert set(parameters(QUERY_RECORDS)["$defs"]) == {"Filter"}  # type: ignore[arg-type]  # an object
    assert "$defs" not in parameters(PROPOSE_CHANGES)


@pytest.mark.requirement("C20")
def test_an_unknown_tool_is_refused_with_the_nearest_name() -> None:
    """And with those that there are."""
    refusal = check_arguments("query_record", {})
    assert refusal is not None
    assert "Did you mean query_records?" in refusal
    assert all(spec.name in refusal for spec in CATALOGUE)
    assert "\0" not in (check_arguments("x\0" * 500, {}) or "")


@pytest.mark.requirement("C20")
def test_wrong_arguments_are_refused_by_name_and_without_their_values() -> None:
    """Each names the parameter and what is wanted; an unknown one brings the list of those that exist."""
    refusal = check_arguments("query_records", {"limit": 9999, "secret_word": 1})
    assert refusal is not None
    assert refusal.startswith("Not run: ")
    for said in ("collection: Field required", "limit: ", "secret_word: ", "its parameters are collection, fields"):
        assert said in refusal
    assert "9999" not in refusal
    assert "delete" not in (check_arguments("propose_changes", {"operations": [{"kind": "delete"}]}) or "")


def test_right_arguments_pass_as_models_write_them() -> None:
    """A null at the top is not given, and a lone object stands for a list where one is meant."""
    arguments: dict[str, JsonValue] = {"collection": "orders", "over": None, "limit": None, "where": {"field": "id", "value": 1}}
    assert check_arguments("query_records", arguments) is None
    plan = read(QUERY_RECORDS, arguments)
    assert isinstance(plan, QueryPlan)
    assert plan.limit == 50


def test_nothing_can_be_deleted() -> None:
    """There is no such operation to ask for (R9)."""
    operation: JsonValue = {"id": "a", "kind": "delete", "collection": "customers", "record": 1, "values": {"name": "x"}}
    with pytest.raises(InvalidInput, match="create' or 'update"):
        read(PROPOSE_CHANGES, {"operations": [operation]})

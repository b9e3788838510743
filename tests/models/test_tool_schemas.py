"""Tools as every wire accepts them, whoever described them."""

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue, RootModel
from tests.models.wire_rules import inner, listed

from askbus.access.model import Scope
from askbus.tools.model import ToolSpec
from askbus.tools.portable import portable, tool_name, tool_names
from askbus.tools.schema import parameters

pytestmark = pytest.mark.requirement("C30")

CASES = Path(__file__).parent.parent / "cases" / "schema"
COMBINED = {"anyOf", "oneOf", "allOf"}


def check(schema: JsonValue) -> None:
    """What both providers want at the top, and OpenAI of each array."""
    top = inner(schema)
    assert top["type"] == "object"
    assert isinstance(top["properties"], dict)
    assert not COMBINED & set(top)
    assert "$ref" not in top
    check_arrays(top)


def check_arrays(schema: JsonValue) -> None:
    if isinstance(schema, list):
        for part in schema:
            check_arrays(part)
    elif isinstance(schema, dict):
        assert schema.get("type") != "array" or isinstance(schema.get("items"), dict)
        for name, part in schema.items():
            if name not in {"enum", "const", "default", "examples"}:
                check_arrays(part)


def test_schemas_that_a_wire_refuses_are_rewritten_and_no_tool_is_lost() -> None:
    """M09: alternatives at the top, no properties, no schema at all, an array of nothing."""
    case = json.loads((CASES / "M09.json").read_text())
    made = {tool["name"]: portable(tool["schema"]) for tool in case["input"]}
    assert list(made) == case["checks"]["all"]["tools_sent"]
    for schema in made.values():
        check(schema)
    wanted = case["checks"]["anthropic"]["create_attachment.properties_include"]
    assert set(wanted) <= set(inner(inner(made["create_attachment"])["properties"]))
    assert "required" not in inner(made["create_attachment"])
    assert made["ok_tool"] == case["input"][1]["schema"]


def test_names_are_plain_unique_and_found_back_whatever_the_order() -> None:
    """M11: two servers, one name; long names that begin alike; names with dots, slashes and accents."""
    case = json.loads((CASES / "M11.json").read_text())
    tools = [(server, name) for server, names in case["input_servers"].items() for name in names]
    names = tool_names(tools)
    assert len(names) == len(tools)
    assert not set(names) & set(case["builtin"])
    assert all(re.fullmatch(case["checks"]["pattern"], name) for name in names)
    assert {tool_name(*tool): tool for tool in random.Random(1).sample(tools, len(tools))} == names


@pytest.mark.parametrize("given", [True, [], "object", {"type": "string"}, {"type": "array"}, {"properties": {"naïve": {}}}])
def test_what_describes_no_object_is_left_out(given: JsonValue) -> None:
    """Its arguments could not be sent."""
    assert portable(given) is None


def test_references_and_alternatives_at_the_top_are_followed() -> None:
    """Required is what each alternative requires; two meanings of a name are alternatives."""
    schema = portable(
        {
            "$ref": "#/$defs/both",
            "$defs": {
                "both": {"oneOf": [{"$ref": "#/$defs/one"}, {"properties": {"id": {"type": "string"}}, "required": ["id", "x"]}]},
                "one": {"type": "object", "properties": {"id": {"type": "integer"}, "n": True}, "required": ["id"]},
            },
        }
    )
    check(schema)
    top = inner(schema)
    assert inner(top["properties"])["id"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert inner(top["properties"])["n"] == {}
    assert top["required"] == ["id"]


def test_endless_schema_is_left_out() -> None:
    """A reference to itself at the top has no properties that could be listed."""
    assert portable({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}) is None
    deep: JsonValue = {}
    for _ in range(100):
        deep = {"type": "object", "properties": {"a": deep}}
    assert portable(deep) is None


WORDS = st.sampled_from(
    ["type", "properties", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs", "required", "enum", "a", "prefixItems"]
)
SCHEMAS: st.SearchStrategy[JsonValue] = st.recursive(
    st.sampled_from([None, True, "object", "array", "#/$defs/a", "#", "a", 1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=20,
)


@given(SCHEMAS)
def test_anything_is_left_out_or_accepted_and_stays_so(given: JsonValue) -> None:
    """Other servers send whatever they like."""
    schema = portable(given)
    if schema is not None:
        assert schema["type"] == "object"
        assert isinstance(schema["properties"], dict)
        assert not COMBINED & set(schema)
        assert portable(schema) == schema


class One(BaseModel):
    a: int


class Other(BaseModel):
    b: list[str]


class Either(RootModel[One | Other]):
    """One of two."""


def spec(model: type[BaseModel]) -> ToolSpec:
    return ToolSpec(name="t", description="d", input=model, output=One, scope=Scope.CHAT, repeatable=True)


def test_own_tools_go_through_the_same_gate() -> None:
    """A deployment may describe its input as alternatives; what is no object is a mistake that is told when the tool is described."""
    check(parameters(spec(Either)))
    assert set(inner(parameters(spec(Either))["properties"])) == {"a", "b"}
    with pytest.raises(ValueError, match="t must be an object"):
        parameters(spec(RootModel[list[str]]))
    assert listed([parameters(spec(One))]) == [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}]

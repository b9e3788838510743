"""What the scripted model says in the bench: a turn of two calls with two parallel tools and forty words, and one that asks its user."""

from pydantic import JsonValue

WORDS = 40
ANSWER = " ".join(f"word-{number}" for number in range(1, WORDS + 1))

CONSTANT, RECORDS, QUESTION = "two constants", "two lookups", "a question first"
"""What the user says. The tools of the first return constants, as in the figures of other systems that docs/performance.md quotes; those
of the second read the sample records."""

ORDERS_BY_STATE: dict[str, JsonValue] = {
    "collection": "orders",
    "group_by": ["state"],
    "aggregates": [{"op": "count", "as": "orders"}],
}


def _turn(when: str, *calls: tuple[str, dict[str, JsonValue]]) -> JsonValue:
    asked: list[JsonValue] = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return {"when": when, "steps": [{"tool_calls": asked}, {"text": ANSWER}]}


SCRIPT: list[JsonValue] = [
    _turn(CONSTANT, ("describe_records", {"collections": ["orders"]}), ("describe_records", {"collections": ["customers"]})),
    _turn(RECORDS, ("query_records", ORDERS_BY_STATE), ("query_records", {"collection": "customers", "limit": 1})),
    _turn(QUESTION, ("ask_user", {"text": "Red or blue?", "options": ["red", "blue"], "free_text": False})),
]

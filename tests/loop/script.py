"""What the model says in the tests of turns, each entry to one test's words."""

from pydantic import JsonValue


def call(tool: str, **arguments: JsonValue) -> dict[str, JsonValue]:
    return {"name": tool, "arguments": arguments}


SCRIPT: list[JsonValue] = [
    {"when": "plain", "steps": [{"text": "Hello to you."}]},
    {"when": "moody", "steps": [{"text": "Some of it.", "cut": 2, "times": 1}]},
    {"when": "sulky", "steps": [{"text": "Some more of it.", "cut": 2, "times": 1}]},
    {"when": "endless", "steps": [{"text": "word after word after word", "chunks": 5, "hang": 2}]},
    {"when": "one more", "steps": [{"text": "There is no more."}]},
]

"""What the model says in fault tests: one turn that reads, asks, proposes and answers; and one that goes on until it is stopped."""

from pydantic import JsonValue

SCRIPT: list[JsonValue] = [
    {
        "matching": r"note (\d+) (\S+)",
        "steps": [
            {
                "text": "Let me look.",
                "tool_calls": [
                    {"name": "query_records", "arguments": {"collection": "customers", "limit": 2}},
                    {"name": "ask_user", "arguments": {"text": "Shall I?", "options": ["yes", "no"], "free_text": False}},
                ],
            },
            {
                "tool_calls": [
                    {
                        "name": "propose_changes",
                        "arguments": {
                            "operations": [
                                {
                                    "id": "a",
                                    "kind": "update",
                                    "collection": "customers",
                                    "record": "{{match[1]}}",
                                    "values": {"note": "{{match[2]}}"},
                                }
                            ]
                        },
                    }
                ]
            },
            {"text": "I have proposed it, and it waits for you.", "chunks": 4},
        ],
    },
    {"when": "go on for ever", "steps": [{"text": "one two three four", "chunks": 4, "hang": 2}]},
    {"when": "announce", "steps": [{"text": "Let me look."}, {"text": "There is nothing, I looked.", "chunks": 3}]},
    {"when": "guess", "steps": [{"text": "It is 4,321.09."}, {"text": "Then 1,234.09."}]},
    {"when": "stubborn", "steps": [{"tool_calls": [{"name": "query_records", "arguments": {"collection": "nowhere"}}]}]},
    {"when": "hello", "steps": [{"text": "Hello there, and welcome.", "chunks": 5}]},
    {
        "when": "shall you",
        "steps": [
            {"tool_calls": [{"name": "ask_user", "arguments": {"text": "Shall I?"}}]},
            {"text": "As you say.", "chunks": 2},
        ],
    },
    {
        "when": "paint",
        "steps": [
            {"tool_calls": [{"name": "generate_image", "arguments": {"prompt": "a dot"}}]},
            {"text": "Here is the picture, as you wished.", "chunks": 2},
        ],
    },
    {"when": "hold me", "steps": [{"text": "first second third", "chunks": 3, "hold": "{{said}}", "hold_after": 1}]},
    {"when": "hold on", "steps": [{"text": "first second third", "chunks": 3, "hold": "{{said}}", "hold_after": 1}]},
]

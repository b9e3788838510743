"""What the scripted model says in the tests of the console."""

from pydantic import JsonValue

TOP_TWO: JsonValue = {
    "collection": "orders",
    "aggregates": [{"op": "sum", "field": "amount", "as": "together"}],
    "over": {"order_by": [{"field": "amount", "direction": "desc"}], "limit": 2},
}


def change_of_ada(field: str, value: str) -> JsonValue:
    """A proposal that changes one field of customer 1."""
    operation: JsonValue = {"id": "a", "kind": "update", "collection": "customers", "record": 1, "values": {field: value}}
    return {"name": "propose_changes", "arguments": {"operations": [operation]}}


SCRIPT: list[JsonValue] = [
    {
        "when": "two largest orders",
        "steps": [
            {"text": "I will look at the orders.", "tool_calls": [{"name": "query_records", "arguments": TOP_TWO}]},
            {"text": "Together they come to **{{results[0].display[0][0]}}**.", "chunks": 6},
        ],
    },
    {
        "when": "invent a figure",
        "steps": [
            {"text": "It was 4,321.09 EUR."},
            {
                "text": "All orders come to **9,999.99 EUR**, `9,999.99` in the ledger, for 3 of the [9,999.99](https://example.org/)."
            },
        ],
    },
    {"when": "look at this", "steps": [{"text": "A red square."}]},
    {"when": "slowly", "steps": [{"text": "one two three four", "hold": "{{said}}", "hold_after": 2}]},
    {
        "when": "which colour",
        "steps": [
            {
                "tool_calls": [
                    {"name": "ask_user", "arguments": {"text": "Red or blue?", "options": ["red", "blue"], "free_text": False}}
                ]
            },
            {"text": "You chose {{results[0].answer}}."},
        ],
    },
    {
        "when": "change the e-mail",
        "steps": [
            {
                "tool_calls": [
                    {
                        "name": "propose_changes",
                        "arguments": {
                            "summary": "Ada has a new address.",
                            "operations": [
                                {
                                    "id": "a",
                                    "kind": "update",
                                    "collection": "customers",
                                    "record": 1,
                                    "values": {"email": "ada@lovelace.example"},
                                }
                            ],
                        },
                    }
                ]
            },
            {"text": "I have prepared it; it is applied once you confirm it."},
        ],
    },
    {
        "when": "change two things",
        "steps": [
            {"tool_calls": [change_of_ada("email", "ada@second.example"), change_of_ada("country", "SE")]},
            {"text": "Both are prepared."},
        ],
    },
    {
        "when": "claim a change",
        "steps": [
            {
                "tool_calls": [
                    {
                        "name": "propose_changes",
                        "arguments": {
                            "operations": [
                                {"id": "a", "kind": "update", "collection": "customers", "record": 1, "values": {"country": "SE"}}
                            ]
                        },
                    }
                ]
            },
            {"text": "Done! I've updated the country of Ada."},
        ],
    },
    {
        "when": "show me a table",
        "steps": [
            {
                "text": "## Orders by customer\n\nTwo customers placed *four* orders:\n\n"
                "| Customer | Orders | Amount |\n|---|---:|---|\n| Ada Lovelace | 2 | €300.30 |\n| Émile Zola | 2 | €400.45 |\n\n"
                "1. The first is **older**.\n2. The second is larger.\n   - by far\n\n"
                "```sql\nSELECT customer_id, sum(amount) FROM orders GROUP BY 1\n```\n\n"
                "See <https://example.com/orders> for `more`."
            }
        ],
    },
    {
        "when": "made up",
        "steps": [{"tool_calls": [{"name": "leak_margins", "arguments": {"of": "Ada"}}]}, {"text": "That did not work."}],
    },
    {"when": "hello", "steps": [{"text": "Hello to you. How are things?", "chunks": 6}]},
    {"when": "a bad day", "steps": [{"text": "Now it works.", "error_status": 400, "times": 1}]},
    {"when": "a bad week", "steps": [{"text": "It was better then.", "error_status": 400, "times": 1}]},
    {
        "when": "draw a dot",
        "steps": [
            {"tool_calls": [{"name": "generate_image", "arguments": {"prompt": "a dot", "name": "a dot"}}]},
            {"text": "There it is."},
        ],
    },
    {"when": "broken", "steps": [{"error_status": 400, "error_message": "secret provider words"}]},
    {"when": "", "steps": [{"text": "You said: {{said}}"}]},
]

"""What the model says in the tests of turns, each entry to one test's words."""

from pydantic import JsonValue


def call(tool: str, arguments: dict[str, JsonValue] | str) -> JsonValue:
    return {"name": tool, "arguments": arguments}


def step(*calls: JsonValue, **more: JsonValue) -> JsonValue:
    """An answer that asks for these calls."""
    return {"tool_calls": [*calls], **more}


def customers(number: int) -> JsonValue:
    """A read of so many customers."""
    return call("query_records", {"collection": "customers", "limit": number})


def papers(page: int) -> JsonValue:
    """A page of records that fills what a result may hold."""
    plan: dict[str, JsonValue] = {"collection": "papers", "order_by": [{"field": "id"}], "offset": page * 10, "limit": 10}
    return call("query_records", plan)


ORDERS: tuple[str, ...] = (
    '{"collection": "orders", "where": [{"field": "id", "op": "eq", "value": 99}]}',
    '{"where": [{"value": 99, "op": "eq", "field": "id"}], "collection": "orders"}',
)
"""One read of nothing, its keys in two orders."""
NOTE: dict[str, JsonValue] = {
    "operations": [{"id": "a", "kind": "update", "collection": "orders", "record": 1, "values": {"note": "rush"}}]
}

HIDDEN: dict[str, JsonValue] = {
    "operations": [{"id": "a", "kind": "update", "collection": "orders", "record": 1, "values": {"note": "at [redacted secret]"}}]
}

SUMS = call("query_records", {"collection": "orders", "aggregates": [{"op": "sum", "field": "amount"}]})

SCRIPT: list[JsonValue] = [
    {"when": "plain", "steps": [{"text": "Hello to you."}]},
    {"when": "moody", "steps": [{"text": "Some of it.", "cut": 2, "times": 1}]},
    {"when": "sulky", "steps": [{"text": "Some more of it.", "cut": 2, "times": 1}]},
    {"when": "endless", "steps": [{"text": "word after word after word", "chunks": 5, "hang": 2}]},
    {"when": "one more", "steps": [{"text": "There is no more."}]},
    # Answers without substance
    {"when": "announce once", "steps": [{"text": "Let me look."}, step(customers(1)), {"text": "I looked."}]},
    {"when": "announce twice", "steps": [{"text": "Let me look."}, step(customers(1)), {"text": "Here is what I found:"}]},
    {"when": "say nothing", "steps": [{"text": ""}]},
    # Numbers without a source
    {
        "when": "invent a sum",
        "steps": [
            step(SUMS),
            {
                "text": "All orders come to {{results[-1].display[0][0]}}, which is 12.34 % more than on 31 March 2026: **8,765.43 EUR**."
            },
        ],
    },
    {
        "when": "correct itself",
        "steps": [{"text": "It is 4,321.09 EUR."}, step(SUMS), {"text": "It is {{results[-1].display[0][0]}}."}],
    },
    {"when": "insist on it", "steps": [{"text": "It is 4,321.09 EUR."}, {"text": "It is 1,234.09 EUR."}]},
    {"when": "say it again", "steps": [{"text": "As I said, it is 8,765.43 EUR,."}]},
    # Budgets
    {"when": "many steps", "steps": [*[step(customers(n)) for n in range(1, 6)], {"text": "I know this much. Ask for less."}]},
    {"when": "steps without end", "steps": [step(customers(n)) for n in range(1, 7)]},
    {"when": "many papers", "steps": [*[step(papers(n)) for n in range(5)], {"text": "{{results[-1].total}} papers."}]},
    {"when": "too large", "steps": [{"text": "Never said."}]},
    {"when": "a nap", "steps": [step(call("query_records", {"collection": "naps"})), {"text": "Never said."}]},
    {
        "when": "ask, then hang",
        "steps": [step(call("ask_user", {"text": "Go on?"})), {"text": "going on and on", "chunks": 4, "hang": 2}],
    },
    # The same again and again
    {"when": "unknown tool", "steps": [step(call("delete_everything", {}))]},
    {"when": "broken arguments", "steps": [step(call("query_records", '{"collection": "or'))]},
    {"when": "wrong arguments", "steps": [step(call("query_records", {"collection": "orders", "limit": "all"}))]},
    {"when": "failing tool", "steps": [step(call("query_records", {"collection": "nowhere"}))]},
    {"when": "slow tool", "steps": [step(call("query_records", {"collection": "naps"}))]},
    {
        "when": "same again",
        "steps": [*[step(call("query_records", ORDERS[n % 2])) for n in range(3)], {"text": "There is no such order."}],
    },
    {"when": "same for ever", "steps": [step(call("query_records", ORDERS[n % 2])) for n in range(2)]},
    # Secrets
    {
        "when": "read the secret paper",
        "steps": [
            step(call("query_records", {"collection": "papers", "where": [{"field": "id", "op": "eq", "value": 4711}]})),
            {"text": "I have read it."},
        ],
    },
    {"when": "write the secret back", "steps": [step(call("propose_changes", HIDDEN)), {"text": "It cannot be written."}]},
    # Cases
    {
        "when": "two questions",
        "steps": [
            step(call("ask_user", {"text": "First?"}), call("propose_changes", NOTE)),
            step(call("ask_user", {"text": "Second?"})),
            {"text": "Both answered."},
        ],
    },
    {"when": "propose it", "steps": [step(call("propose_changes", NOTE)), {"text": "It is proposed."}]},
    {"when": "never mind", "steps": [{"text": "There are four orders."}]},
    {
        "when": "half a call",
        "steps": [
            step(call("query_records", {"collection": "customers", "limit": 1}), text="Let me look", chunks=2, cut=3, times=1),
            {"text": "I have looked."},
        ],
    },
]

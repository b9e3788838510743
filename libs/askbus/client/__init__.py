"""The SDK for agents: ask the people you work for, over HTTP or straight on the bus.

    async with HttpClient("https://askbus.example", token) as bus:
        question = await bus.ask(project, "Ship it?", options=["yes", "no"], wait_seconds=600)

Both clients have the same five calls: `ask`, `wait`, `get`, `list_open`, `cancel`. `BusClient` also tells what became of
questions while the agent was away: `async for question in bus.outcomes()`. Errors are those of `askbus.errors`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from askbus.client.agent import AgentClient
from askbus.client.http import HttpClient
from askbus.questions.model import Note, Priority, Question, QuestionDetail, QuestionState

if TYPE_CHECKING:
    from askbus.client.bus import BusClient

__all__ = ["AgentClient", "BusClient", "HttpClient", "Note", "Priority", "Question", "QuestionDetail", "QuestionState"]


def __getattr__(name: str) -> object:
    """`BusClient`, when it is asked for: whoever speaks HTTP, as the command line does, need not wait for NATS's client."""
    if name != "BusClient":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("askbus.client.bus").BusClient

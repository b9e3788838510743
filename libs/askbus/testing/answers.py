"""Asking a model in tests: a request in a few words, and all that comes back."""

from contextlib import aclosing

from askbus.models.model import Completion, Message, Model, ModelEvent, ModelRequest, TextDelta, ToolDefinition, UserMessage

_TOOL = ToolDefinition(name="query_records", description="Read.", parameters={"type": "object", "properties": {}})


def asking(text: str, *more: Message) -> ModelRequest:
    """A request with one tool in which the user says `text`, and `more` follows."""
    return ModelRequest(system="You are a test.", messages=(UserMessage(text=text), *more), tools=(_TOOL,))


async def collect(model: Model, request: ModelRequest, into: list[ModelEvent]) -> None:
    """Put everything that comes into `into`, where it stays if the stream fails. Raises ProviderError."""
    async with aclosing(model.stream(request)) as events:
        async for event in events:
            into.append(event)  # noqa: PERF401  # a comprehension would lose them


async def answer(model: Model, request: ModelRequest) -> tuple[str, Completion]:
    """The streamed text, joined, and the completion. Raises ProviderError."""
    events: list[ModelEvent] = []
    await collect(model, request, events)
    *deltas, completion = events
    assert isinstance(completion, Completion)
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)), completion

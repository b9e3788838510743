"""The providers of models: whether there is one, and, where that is asked for, whether it answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

from askbus.doctor.model import Finding, advice, ok, wrong
from askbus.models.adapters import Models
from askbus.models.model import Fault, ModelRequest, ProviderError, UserMessage
from askbus.runtime.settings import Settings

MODEL = "model"
PATIENCE = 30.0
"""Seconds that a model may take to begin an answer of one word."""


async def providers(settings: Settings, *, call: bool) -> AsyncIterator[Finding]:
    """Every configured model; with `call` each is asked for one word, which costs a few tokens."""
    configured = settings.configured_models()
    for name, config in configured.items():
        if config.keyless and len(configured) == 1:
            yield advice(MODEL, "No model: the assistant cannot answer, everything else works.", "Name one: docs/models.md.")
        elif config.keyless:
            yield wrong(
                MODEL, f"The model {name} has no key, and its endpoint is the provider's own.", "Set its key: docs/models.md."
            )
        elif not call:
            yield ok(MODEL, f"The model {name} is {config.model} at {config.endpoint}; it was not called (--call-models).")
    if call:
        models = Models(settings)
        try:
            for name in [name for name, config in configured.items() if not config.keyless]:
                yield await _answers(models, name)
        finally:
            await models.close()


async def _answers(models: Models, name: str) -> Finding:
    request = ModelRequest(system="Answer with one word.", messages=(UserMessage(text="Say ok."),), patience=PATIENCE)
    try:
        async with asyncio.timeout(2 * PATIENCE), aclosing(models.of(name).stream(request)) as events:
            async for _event in events:
                return ok(MODEL, f"The model {name} answers.")
    except ProviderError as error:
        says = f"The model {name} does not answer: {error.fault.value}. {error.detail}"
        if error.fault is Fault.RATE_LIMITED:
            return advice(MODEL, says, "Ask the provider for a higher limit.")
        return wrong(MODEL, says, "docs/models.md says what each provider needs.")
    except TimeoutError:
        pass
    return wrong(MODEL, f"The model {name} does not answer in time.", "docs/models.md says what each provider needs.")

"""Which adapter serves: configuration decides."""

import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack

import httpx2

from askbus.models.anthropic_adapter import AnthropicModel
from askbus.models.config import DEFAULT, ModelConfig
from askbus.models.fallback import FallbackModel
from askbus.models.model import Fault, Model, ProviderError
from askbus.models.openai_adapter import OpenAIModel
from askbus.models.streaming import Tries, shorten_refusal
from askbus.runtime.settings import Settings

_CONNECT = 5.0
_SDKS = ("openai", "anthropic", "httpx2")
_NO_KEY = "no-key-configured"
"""An endpoint of one's own may ask for no key, but the SDKs insist on one, and look for others where they get none."""


class Models:
    """The models of one process. Opening them costs about a second for each provider, once: its SDK is imported here."""

    def __init__(self, settings: Settings) -> None:
        self._configs: Mapping[str, ModelConfig] = settings.configured_models()
        self._open: dict[str, Model] = {name: _open(config, settings) for name, config in self._configs.items()}

    def of(self, name: str | None) -> Model:
        """The model of this name, the default for None.

        Raises ProviderError (not_configured) for a name that the settings do not hold, and for a provider's own endpoint without a key.
        """
        name = name or DEFAULT
        config = self._configs.get(name)
        if config is None:
            raise ProviderError(Fault.NOT_CONFIGURED, f"no model {name!r} in ASKBUS_MODELS")
        if config.keyless:
            raise ProviderError(Fault.NOT_CONFIGURED, f"no key for the model {name!r}, and its endpoint is the provider's own")
        model = self._open[name]
        return model if config.fallback is None else FallbackModel(model, self._open[config.fallback])

    async def close(self) -> None:
        """Close the connections."""
        async with AsyncExitStack() as stack:
            for model in self._open.values():
                stack.push_async_callback(model.close)


def _open(config: ModelConfig, settings: Settings) -> Model:
    model = _adapter(config, settings)
    for sdk in _SDKS:  # an environment variable of theirs would make them log what people say
        logging.getLogger(sdk).setLevel(logging.WARNING)
    return model


def _adapter(config: ModelConfig, settings: Settings) -> Model:
    key = config.api_key.get_secret_value() if config.api_key else _NO_KEY
    timeout = httpx2.Timeout(settings.model_silence, connect=_CONNECT)
    tries = Tries(retries=settings.model_retries, first_token=settings.model_first_token)
    hooks = {"response": [shorten_refusal]}
    if config.provider == "anthropic":
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient  # noqa: PLC0415  # a process without such a model shall not pay for it

        # Its tracing is off: an environment variable could make it record what people say.
        http = DefaultAsyncHttpxClient(timeout=timeout, event_hooks=hooks)
        claude = AsyncAnthropic(base_url=config.endpoint, api_key=key, timeout=timeout, http_client=http, open_telemetry=False)
        return AnthropicModel(claude, config, tries)
    from openai import AsyncOpenAI  # noqa: PLC0415
    from openai import DefaultAsyncHttpxClient as OpenAIHttpClient  # noqa: PLC0415

    client = OpenAIHttpClient(timeout=timeout, event_hooks=hooks)
    return OpenAIModel(AsyncOpenAI(base_url=config.endpoint, api_key=key, timeout=timeout, http_client=client), config, tries)

"""Which adapter serves: configuration decides."""

import httpx2

from askbus.models.model import Model
from askbus.models.openai_adapter import OpenAIModel
from askbus.runtime.settings import Settings

_CONNECT = 5.0


def open_model(settings: Settings) -> Model:
    """The model that the settings name. Costs about a second, once: the SDK is imported here."""
    from openai import AsyncOpenAI  # noqa: PLC0415  # a process without a model shall not pay for it

    # An endpoint of one's own may ask for no key, but the SDK insists on one.
    key = settings.model_api_key.get_secret_value() if settings.model_api_key else "no-key-configured"
    client = AsyncOpenAI(
        base_url=settings.model_base_url,
        api_key=key,
        max_retries=settings.model_retries,
        timeout=httpx2.Timeout(settings.model_silence, connect=_CONNECT),
    )
    return OpenAIModel(client, settings.model_name, max_retries=settings.model_retries, first_token=settings.model_first_token)

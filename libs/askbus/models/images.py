"""Making pictures, over the OpenAI wire: `POST …/v1/images/generations`."""

import asyncio
import base64
import binascii
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from askbus.models.config import DEFAULT, ModelConfig
from askbus.models.faults import classify
from askbus.models.model import Fault, ProviderError, Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_VERSION = re.compile(r"v\d+[a-z0-9]*", re.ASCII)
_CONNECT = 5.0
MOST_TOKENS = 1 << 40
"""A number that no picture comes to."""
_NO_KEY = "no-key-configured"


@dataclass(frozen=True)
class MadeImage:
    """A picture as the provider sent it, and what it took. `usage` is None where the provider does not count."""

    data: bytes
    usage: Usage | None
    latency_ms: int


def image_config(configs: Mapping[str, ModelConfig]) -> ModelConfig | None:
    """The configured endpoint that makes pictures: the default's, else the first that has a model for it, else none."""
    ordered = [configs[DEFAULT], *configs.values()] if DEFAULT in configs else list(configs.values())
    return next((config for config in ordered if config.image_model is not None and config.provider == "openai"), None)


def versioned(endpoint: str) -> str:
    """The base URL that ends where `images/generations` begins: with its own version segment, or with `v1` where it has none."""
    has_version = any(_VERSION.fullmatch(part) for part in urlsplit(endpoint).path.split("/"))
    return endpoint.rstrip("/") + ("" if has_version else "/v1")


class ImageMaker:
    """Makes pictures at one endpoint; the SDK is imported and the connection opened with the first."""

    def __init__(self, config: ModelConfig, *, timeout: float) -> None:
        if config.image_model is None:
            raise ValueError("this endpoint makes no pictures")
        self.model: str = config.image_model
        self._config = config
        self._timeout = timeout
        self._client: AsyncOpenAI | None = None

    async def make(self, prompt: str) -> MadeImage:
        """One picture. Raises ProviderError, whose words are for the log."""
        await asyncio.to_thread(import_module, "openai")  # takes seconds, once, while this process does other work
        from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAIError  # noqa: PLC0415

        began = time.monotonic()
        # Newer models always answer with the picture itself and refuse to be asked for it; older ones send a link unless they are.
        asked = {} if self.model.startswith("gpt-image") else {"response_format": "b64_json"}
        try:
            answer = await self._opened().post(
                "/images/generations",
                cast_to=object,
                body={"model": self.model, "prompt": prompt, "n": 1, **asked},
                options={"follow_redirects": False},  # the key is for this endpoint alone
            )
        except APITimeoutError as error:
            raise ProviderError(Fault.TIMED_OUT, "no picture in time") from error
        except APIConnectionError as error:
            raise ProviderError(Fault.CONNECTION, repr(error.__cause__)) from error
        except APIStatusError as error:
            fault, detail = classify(error.body, error.status_code)  # type: ignore[arg-type]  # JSON, as the SDK read it
            raise ProviderError(fault, detail) from error
        except (OpenAIError, ValueError) as error:
            raise ProviderError(Fault.BAD_RESPONSE, type(error).__name__) from error
        return _made(answer, int((time.monotonic() - began) * 1000))

    def _opened(self) -> "AsyncOpenAI":
        if self._client is None:
            from openai import AsyncOpenAI  # noqa: PLC0415  # a process that makes no picture shall not pay for it

            key = self._config.api_key.get_secret_value() if self._config.api_key else _NO_KEY
            timeout = httpx2.Timeout(self._timeout, connect=_CONNECT)
            self._client = AsyncOpenAI(base_url=versioned(self._config.endpoint), api_key=key, timeout=timeout, max_retries=0)
        return self._client

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()


def _made(answer: object, latency_ms: int) -> MadeImage:
    """The picture in an answer of any shape."""
    try:
        content = answer["data"][0]["b64_json"]  # type: ignore[index]  # whatever it is not, is caught
        data = base64.b64decode(content, validate=True)
    except (KeyError, IndexError, TypeError, binascii.Error, ValueError):
        raise ProviderError(Fault.BAD_RESPONSE, "an answer without a picture in it") from None
    return MadeImage(data, _usage(answer.get("usage") if isinstance(answer, dict) else None), latency_ms)


def _usage(said: object) -> Usage | None:
    """What the provider counted, where it did, in numbers that can be."""
    if not isinstance(said, dict):
        return None
    took, gave = said.get("input_tokens"), said.get("output_tokens")
    if type(took) is not int or type(gave) is not int or not (0 <= took < MOST_TOKENS and 0 <= gave < MOST_TOKENS):
        return None
    return Usage(input_tokens=took, output_tokens=gave)

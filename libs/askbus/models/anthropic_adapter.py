"""The Anthropic wire over the official SDK: `POST /v1/messages`, streamed.

Built like the OpenAI adapter: the SDK gives the client, authentication and error types, and the raw events go to our own assembler.
"""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, cast

import httpx2

from askbus.models.anthropic_assembler import AnthropicAssembler
from askbus.models.anthropic_history import request_body
from askbus.models.config import ModelConfig
from askbus.models.faults import classify
from askbus.models.model import Accepts, Fault, JsonObject, ModelEvent, ModelRequest, ProviderError
from askbus.models.streaming import HEADERS, Tries, retry_after, stream_answer

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


class AnthropicModel:
    """One model behind one client."""

    def __init__(self, client: "AsyncAnthropic", config: ModelConfig, tries: Tries) -> None:
        self._client = client
        self._config = config
        self._maker = f"anthropic {str(client.base_url).rstrip('/')} {config.model}"
        self._tries = tries

    @property
    def name(self) -> str:
        return self._config.model

    @property
    def accepts(self) -> Accepts:
        return Accepts(images=self._config.images, documents=self._config.documents)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Deltas as they come, then one Completion. Raises ProviderError, once retries have not helped or text has been streamed.

        Close it (`contextlib.aclosing`) or cancel the task to stop: the HTTP stream is closed at once.
        """
        body = request_body(request, self._config, maker=self._maker)
        return stream_answer(
            lambda: self._open(body),
            lambda: AnthropicAssembler(self._maker, self._config.model),
            self._tries,
            patience=request.patience,
            model=self._config.model,
        )

    async def _open(self, body: JsonObject) -> httpx2.Response:
        """The response, its body unread. A redirect is refused: the key and the conversation are for this endpoint alone."""
        from anthropic import APIConnectionError, APIStatusError, APITimeoutError, AsyncStream  # noqa: PLC0415  # costs a second

        try:
            response: object = await self._client.post(
                "/v1/messages",
                cast_to=httpx2.Response,
                body=body,
                options={"headers": HEADERS, "max_retries": 0, "follow_redirects": False},
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except APITimeoutError as error:
            raise ProviderError(Fault.TIMED_OUT, "no response in time") from error
        except APIConnectionError as error:
            raise ProviderError(Fault.CONNECTION, repr(error.__cause__)) from error
        except APIStatusError as error:
            fault, detail = classify(cast("JsonObject", error.body), error.status_code)
            detail = detail.replace(self._client.api_key or "", "[key]") if self._client.api_key else detail
            raise ProviderError(fault, detail, retry_after=retry_after(error.response.headers)) from error
        return cast("httpx2.Response", response)

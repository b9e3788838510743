"""One model over an official SDK: what the adapters of both wires have in common.

The SDK gives the client, authentication and error types. Its event stream is read as bytes into our own parser and assembler: stream
repair needs the raw events, and a pydantic object for each chunk costs more CPU than the rest of a turn.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from types import ModuleType
from typing import Any, ClassVar, Protocol, cast

import httpx2

from askbus.models.assembler import Assembler
from askbus.models.config import ModelConfig, Provider
from askbus.models.faults import classify
from askbus.models.model import Accepts, Fault, JsonObject, ModelEvent, ModelRequest, ProviderError
from askbus.models.streaming import HEADERS, Tries, retry_after, stream_answer


class SdkClient(Protocol):
    """What both SDKs' clients are, being made by one generator."""

    @property
    def base_url(self) -> httpx2.URL: ...

    async def close(self) -> None: ...


class SdkModel(ABC):
    """One model behind one client."""

    provider: ClassVar[Provider]
    path: ClassVar[str]

    def __init__(self, client: SdkClient, config: ModelConfig, tries: Tries) -> None:
        self._client: Any = client  # its `post` is generic beyond what a protocol can say
        self._config = config
        self._maker = f"{self.provider} {str(client.base_url).rstrip('/')} {config.model}"
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
        body = self._body(request)
        return stream_answer(
            lambda: self._open(body), self._assembler, self._tries, patience=request.patience, model=self._config.model
        )

    @abstractmethod
    def _sdk(self) -> ModuleType:
        """The SDK: imported where it is needed, as that costs a second."""

    @abstractmethod
    def _body(self, request: ModelRequest) -> JsonObject:
        """The request on this wire."""

    @abstractmethod
    def _assembler(self) -> Assembler:
        """A new one, for one attempt."""

    async def _open(self, body: JsonObject) -> httpx2.Response:
        """The response, its body unread. A redirect is refused: the key and the conversation are for this endpoint alone."""
        sdk: Any = self._sdk()
        try:
            response = await self._client.post(
                self.path,
                cast_to=httpx2.Response,
                body=body,
                options={"headers": HEADERS, "max_retries": 0, "follow_redirects": False},
                stream=True,
                stream_cls=sdk.AsyncStream[object],
            )
        except sdk.APITimeoutError as error:
            raise ProviderError(Fault.TIMED_OUT, "no response in time") from error
        except sdk.APIConnectionError as error:
            raise ProviderError(Fault.CONNECTION, repr(error.__cause__)) from error
        except sdk.APIStatusError as error:
            fault, detail = classify(error.body, error.status_code)
            key = self._client.api_key
            detail = detail.replace(key, "[key]") if key else detail
            raise ProviderError(fault, detail, retry_after=retry_after(error.response.headers)) from error
        return cast("httpx2.Response", response)

"""The OpenAI wire over the official SDK: any endpoint that speaks chat completions, by its base URL."""

from types import ModuleType

from askbus.models.model import JsonObject, ModelRequest
from askbus.models.openai_assembler import OpenAIAssembler
from askbus.models.openai_history import request_body
from askbus.models.sdk_model import SdkModel


class OpenAIModel(SdkModel):
    """One model behind an `AsyncOpenAI` client."""

    provider = "openai"
    path = "/chat/completions"

    def _sdk(self) -> ModuleType:
        import openai  # noqa: PLC0415  # costs a second

        return openai

    def _body(self, request: ModelRequest) -> JsonObject:
        return request_body(request, self._config, maker=self._maker)

    def _assembler(self) -> OpenAIAssembler:
        return OpenAIAssembler(self._maker, self._config.model)

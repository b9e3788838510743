"""The Anthropic wire over the official SDK: `POST /v1/messages`, streamed."""

from types import ModuleType

from askbus.models.anthropic_assembler import AnthropicAssembler
from askbus.models.anthropic_history import request_body
from askbus.models.model import JsonObject, ModelRequest
from askbus.models.sdk_model import SdkModel


class AnthropicModel(SdkModel):
    """One model behind an `AsyncAnthropic` client."""

    provider = "anthropic"
    path = "/v1/messages"

    def _sdk(self) -> ModuleType:
        import anthropic  # noqa: PLC0415  # costs a second

        return anthropic

    def _body(self, request: ModelRequest) -> JsonObject:
        return request_body(request, self._config, maker=self._maker)

    def _assembler(self) -> AnthropicAssembler:
        return AnthropicAssembler(self._maker, self._config.model)

"""Which models a deployment has, by the names that people choose them by. Pure."""

from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, StringConstraints

DEFAULT = "default"
"""The name of the model that serves where nobody chose one."""

Provider = Literal["openai", "anthropic"]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=100)]


def _endpoint(url: str) -> str:
    parts = urlsplit(url)
    wants = parts.scheme in {"http", "https"} and parts.hostname and not (parts.query or parts.fragment)
    if not wants or "@" in parts.netloc:  # who made an answer is stored with it, by this URL
        raise ValueError("must be an http or https URL without user, query and fragment; a key goes into api_key")
    return url.rstrip("/")


def _header(key: SecretStr) -> SecretStr:
    if not all("!" <= character <= "~" for character in key.get_secret_value()):
        raise ValueError("must be printable ASCII without spaces, as it travels in an HTTP header (RFC 9110, section 5.5)")
    return key


Endpoint = Annotated[str, AfterValidator(_endpoint)]
ApiKey = Annotated[SecretStr, AfterValidator(_header)]

OFFICIAL: Mapping[Provider, str] = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
"""Each provider's own endpoint."""


class ModelConfig(BaseModel):
    """One model: where it is, and what its endpoint can do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: Provider = "openai"
    base_url: Endpoint | None = Field(default=None, description="The endpoint; the provider's own unless given.")
    api_key: ApiKey | None = None
    model: str = Field(min_length=1, description="What the provider calls it.")
    images: bool = Field(default=True, description="Whether it takes pictures.")
    documents: bool = Field(default=True, description="Whether it takes PDF files.")
    tool_messages: bool = Field(
        default=True, description="Whether the endpoint carries tool calls; without, they are restated as text."
    )
    user_after_tools: bool = Field(
        default=True, description="Whether a user message may follow tool results at once (Mistral refuses it)."
    )
    max_output_tokens: int = Field(
        default=32_000, ge=1, description="The longest answer, where the wire asks for one (Anthropic)."
    )
    thinking: bool = Field(
        default=True, description="Whether the model may think as much as it sees fit (Anthropic's adaptive thinking)."
    )
    fallback: ModelName | None = Field(default=None, description="The configured model that answers when this one cannot.")
    image_model: str | None = Field(
        default=None, description="What the provider calls the model that makes pictures, if it has one."
    )

    @property
    def endpoint(self) -> str:
        """The base URL as the provider's SDK wants it: Anthropic's adds the version itself."""
        url = self.base_url or OFFICIAL[self.provider]
        return url.removesuffix("/v1") if self.provider == "anthropic" else url

    @property
    def keyless(self) -> bool:
        """Whether nobody set it up: a provider's own endpoint takes nothing without a key, and shall not be told what people say."""
        return self.api_key is None and self.endpoint == OFFICIAL[self.provider]


def check_fallbacks(models: Mapping[str, ModelConfig]) -> None:
    """Raises ValueError where a fallback is no other of the models."""
    for name, config in models.items():
        if config.fallback is not None and (config.fallback == name or config.fallback not in models):
            raise ValueError(f"the fallback of {name!r} must be another of the models: {', '.join(sorted(models))}")

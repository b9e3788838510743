"""Every setting, from environment variables that start with ASKBUS_, checked when a process starts."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_core import from_json
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from askbus.access.locales import Locale
from askbus.access.model import Role
from askbus.access.origins import Origin
from askbus.access.zones import TimeZone
from askbus.identity.model import JwtIssuer, Provider, ProviderName, check_issuers
from askbus.limits.address import Network
from askbus.models.config import DEFAULT, ApiKey, Endpoint, ModelConfig, ModelName, check_fallbacks
from askbus.records.deny import Policy
from askbus.runtime.secrets import read_sealing_key


class SettingsError(SystemExit):
    """A setting is missing or wrong; the text says which variable to set, and to what."""


def _read_json(value: object) -> object:
    return from_json(value) if isinstance(value, str) else value


def _read_names(value: object) -> object:
    return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


class Settings(BaseSettings):
    """What a service is told. Durations are in seconds. A service that is given ASKBUS_SECRET derives its own Postgres role and
    NATS user from it (askbus.runtime.secrets); without it the URLs are used with the credentials that they hold."""

    model_config = SettingsConfigDict(env_prefix="ASKBUS_", env_ignore_empty=True, frozen=True, extra="ignore")

    database_url: str = Field(description="askbus's own Postgres 18: postgresql://user:password@host:5432/askbus")
    nats_url: str = Field(description="NATS with JetStream: nats://user:password@host:4222")
    secret: SecretStr | None = Field(
        None,
        min_length=32,
        description="The deployment's secret, at least 32 characters (openssl rand -hex 32); credentials derive from it.",
    )
    records_url: str | None = Field(None, description="The Postgres database that holds the team's records.")
    records_policy: Annotated[Policy | None, NoDecode, BeforeValidator(_read_json)] = Field(
        None,
        description="What may not be read or changed there, beyond what its name gives away, and what may after all, as JSON: "
        '{"denied_columns": ["orders.margin"], "never_written": ["ledger"], "readable_columns": ["usage.token"], '
        '"writable_accounts": ["users"]}',
    )
    records_catalogue: Path | None = Field(
        None,
        description="A TOML or JSON file that says how the records are called and shown, and whose they are; see docs/records.md.",
    )
    records_role: str | None = Field(
        None,
        description="A role there that every read and write is done as, where its user is a member of it; see docs/records.md.",
    )
    confirm_role: Role = Field(
        Role.MEMBER, description="The role that it takes at least to confirm changes there: member, admin or owner."
    )

    standing_approval_days: int = Field(
        0,
        ge=0,
        le=30,
        description="For how many days at most a person may approve a narrow kind of change in advance; 0: not at all.",
    )

    public_url: str = Field("http://127.0.0.1:8080", description="The URL that people open; links and cookies are made for it.")
    http_host: str = Field("127.0.0.1", description="Address that the gateway listens on.")
    http_port: int = Field(8080, ge=0, le=65535, description="Port that the gateway listens on.")
    health_host: str = Field(
        "127.0.0.1", description="Address of /healthz and /readyz of the services without HTTP of their own."
    )
    health_port: int | None = Field(None, ge=0, le=65535, description="Port of /healthz and /readyz; none serves none.")

    callout_seed: SecretStr | None = Field(None, description="NATS account seed that signs agents' credentials (gateway only).")

    passwords: bool = Field(True, description="Whether people may sign in by a password; links always work.")
    sign_in: Annotated[dict[ProviderName, Provider], NoDecode, BeforeValidator(_read_json)] = Field(
        {},
        description="Issuers where people sign in (OpenID Connect), by a name for their addresses, as JSON: "
        '{"acme": {"label": "Acme", "issuer": "https://id.acme.example", "client_id": "…", "client_secret": "…"}}; see docs/sign-in.md.',
    )
    jwt_issuers: Annotated[dict[str, JwtIssuer], NoDecode, BeforeValidator(_read_json)] = Field(
        {},
        description="Issuers whose JWTs are taken as bearer tokens, as JSON: "
        '{"acme": {"issuer": "https://id.acme.example", "audience": "https://askbus.acme.example"}}; see docs/sign-in.md.',
    )

    sealing_keys: SecretStr | None = Field(
        None,
        description="Keys that seal secrets at rest (question-broker only), 32 bytes each as base64url, separated by commas: the first "
        "seals, all open. None derives one from ASKBUS_SECRET.",
    )
    outbound_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_read_names)] = Field(
        (),
        description="Hosts that webhooks and requests to issuers may reach inside private networks, and over plain http, separated "
        "by commas: 127.0.0.1, "
        "hooks.internal, hooks.internal:8080.",
    )
    oauth_redirects: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_read_names)] = Field(
        (),
        description="Redirect URIs with a scheme of their own that apps may register beside the known ones, each exactly as the app sends "
        "it, separated by commas: myeditor://oauth/callback.",
    )
    webhook_timeout: float = Field(15, gt=0, description="How long one attempt of a webhook may take.")
    webhook_slots: int = Field(32, ge=1, description="How many attempts of webhooks one question-broker makes at once.")

    limit_chat: int = Field(
        60,
        ge=0,
        le=1_000_000,
        description="Messages a minute that one person, or one token, may send to the assistant; 0: no limit.",
    )
    limit_ask: int = Field(
        240, ge=0, le=1_000_000, description="Questions a minute that one person, or one token, may ask; 0: no limit."
    )
    limit_tools: int = Field(
        600, ge=0, le=1_000_000, description="Tools a minute that one person, or one token, may call directly; 0: no limit."
    )
    limit_mcp: int = Field(600, ge=0, le=1_000_000, description="Requests a minute that one token may send to /mcp; 0: no limit.")
    limit_sign_in_account: int = Field(
        10, ge=0, le=1_000_000, description="Tries to sign in to one account in a quarter of an hour; 0: no limit."
    )
    limit_sign_in_address: int = Field(
        60, ge=0, le=1_000_000, description="Tries to sign in from one address in a quarter of an hour; 0: no limit."
    )
    limit_register: int = Field(
        30, ge=0, le=1_000_000, description="OAuth clients that may be registered from one address in an hour; 0: no limit."
    )
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode, BeforeValidator(_read_names)] = Field(
        (),
        description="Addresses of the proxies before the gateway, separated by commas: 10.0.0.7, 192.168.0.0/16. From these alone the "
        "client's address is taken, from `forwarded_header`.",
    )
    cors_origins: Annotated[tuple[Origin, ...], NoDecode, BeforeValidator(_read_names)] = Field(
        (),
        description="Origins whose pages may call /v1 with a token, separated by commas: https://app.example. None: CORS is off.",
    )
    forwarded_header: Literal["x-forwarded-for", "forwarded"] = Field(
        "x-forwarded-for", description="The one header in which these proxies say whom they speak for."
    )

    model_base_url: Endpoint = Field("https://api.openai.com/v1", description="Any OpenAI-compatible endpoint.")
    model_api_key: ApiKey | None = Field(None, description="Its key.")
    model_name: str = Field("gpt-5", description="The model asked for.")
    models: Annotated[dict[ModelName, ModelConfig], NoDecode, BeforeValidator(_read_json)] = Field(
        {},
        description="More models, by the names that workspaces choose them by, as JSON: "
        '{"claude": {"provider": "anthropic", "api_key": "…", "model": "…", "fallback": "default"}}; '
        "`default` names the one of the settings above, or replaces it. See docs/models.md.",
    )
    model_retries: int = Field(2, ge=0, description="How often one model call is tried again while nothing was streamed.")
    model_silence: float = Field(120, gt=0, description="How long the model's endpoint may send nothing at all.")
    model_first_token: float = Field(180, gt=0, description="How long the model may take to begin while its endpoint shows life.")
    model_calls_per_turn: int = Field(24, ge=1, description="Budget of model calls in one turn.")
    turn_seconds: float = Field(300, gt=0, description="Budget of active time of one turn; waiting for a person is not counted.")
    tools: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_read_names)] = Field(
        (), description="Python modules with tools of this deployment's own, separated by commas; see docs/own-tools.md."
    )
    prompt_bytes: int = Field(
        400_000,
        ge=32_768,
        description="Budget of one prompt, about four bytes a token: older exchanges are left out, then older results of tools shortened.",
    )
    prompt_exchanges: int = Field(50, ge=1, description="How many of a conversation's latest exchanges are sent to the model.")
    time_zone: TimeZone = Field(
        "UTC", description="Where people are, as an IANA name, unless they or their workspace say otherwise."
    )
    locale: Locale = Field(
        "en",
        description="The language in which numbers and dates of records are shown to people who chose none, such as de or en-GB.",
    )
    thread_messages: int = Field(
        10_000, ge=4, description="How many messages of one conversation are kept; past that its oldest exchanges go, whole."
    )
    thread_bytes: int = Field(
        64 << 20, ge=1024, description="And how many bytes, as Postgres keeps them, results of tools included."
    )
    tool_seconds: float = Field(60, gt=0, description="How long one call of a tool may take.")
    tool_result_bytes: int = Field(65_536, ge=1024, description="How much of one tool's result is kept and given to the model.")

    attachment_image_bytes: int = Field(10 << 20, ge=1024, description="The largest picture that may be uploaded, in bytes.")
    attachment_pdf_bytes: int = Field(20 << 20, ge=1024, description="The largest PDF file that may be uploaded, in bytes.")
    attachment_text_bytes: int = Field(
        10 << 20, ge=1024, description="The largest text or CSV file that may be uploaded, in bytes."
    )
    prompt_files: int = Field(
        20, ge=1, description="How many pictures and PDF files of a conversation, the latest, a model is sent."
    )
    prompt_file_bytes: int = Field(20 << 20, ge=1024, description="And how many bytes of them; older ones are named only.")

    pool_size: int = Field(8, ge=1, description="Postgres connections of one process.")
    slots: int = Field(8, ge=1, description="Messages that one process works on at once.")
    lease: float = Field(5, gt=0, description="How long a claimed step or run stays with a worker that shows no sign of life.")
    ack_wait: float = Field(5, gt=0, description="When JetStream delivers an unacknowledged message again.")
    sweep_every: float = Field(3, gt=0, description="How often an owner looks for rows that wait for a machine and did not move.")
    stuck_after: float = Field(5, gt=0, description="How long such a row may rest before the sweep wakes it.")
    expiry_every: float = Field(2, gt=0, description="How often expiry sweeps.")
    command_timeout: float = Field(5, gt=0, description="How long a door waits for the owner's reply.")
    command_patience: float = Field(2, ge=0, description="How long a command waits for an owner that is not there (yet).")
    drain: float = Field(10, gt=0, description="How long a service told to stop may finish what it is doing.")

    feed: Literal["listen", "bus"] = Field(
        "listen",
        description="How gateways hear of changes: `listen`, each from Postgres; or `bus`, one from Postgres and the others from it.",
    )
    mcp_hold: float = Field(
        45, gt=0, le=600, description="Seconds for which a call over MCP waits for people, unless its token says more."
    )
    mcp_report: float = Field(
        12, gt=0, description="Seconds between reports to a client over MCP that waits and wants to hear of it."
    )
    heartbeat: float = Field(15, gt=0, description="Seconds between comments on an idle SSE stream.")
    stream_age: float = Field(1800, gt=0, description="A stream is closed after about this long and comes back with its id.")

    log_level: str = Field("info", description="debug, info, warning or error.")
    log_format: str = Field("json", pattern="^(json|console)$", description="json, or console for people.")
    trace_ratio: float = Field(1.0, ge=0, le=1, description="The part of traces that is kept.")
    trace_file: Path | None = Field(None, description="Keep spans in this local file (JSON lines); `askbus trace` reads it.")
    otlp_endpoint: str | None = Field(None, description="Send spans to this OTLP/HTTP collector: http://host:4318")

    @field_validator("sealing_keys")
    @classmethod
    def _keys_are_keys(cls, keys: SecretStr | None) -> SecretStr | None:
        for text in () if keys is None else keys.get_secret_value().split(","):
            read_sealing_key(text)
        return keys

    @field_validator("jwt_issuers")
    @classmethod
    def _issuers_are_several(cls, issuers: dict[str, JwtIssuer]) -> dict[str, JwtIssuer]:
        check_issuers(issuers)
        return issuers

    @field_validator("models")
    @classmethod
    def _fallbacks_exist(cls, models: dict[str, ModelConfig], info: ValidationInfo) -> dict[str, ModelConfig]:
        if "model_name" in info.data:
            check_fallbacks({DEFAULT: ModelConfig(model=info.data["model_name"]), **models})
        return models

    def configured_models(self) -> dict[str, ModelConfig]:
        """Every model by name, the default among them."""
        default = ModelConfig(base_url=self.model_base_url, api_key=self.model_api_key, model=self.model_name)
        return {DEFAULT: default, **self.models}

    @classmethod
    def load(cls, **overrides: object) -> Self:
        """The settings of this process. Raises SettingsError with one line for each variable that is missing or wrong."""
        try:
            return cls(**overrides)  # type: ignore[arg-type]  # pydantic checks them
        except ValidationError as error:
            lines = []
            for problem in error.errors():
                name = str(problem["loc"][0])
                field = cls.model_fields.get(name)
                meaning = f" ({field.description})" if field is not None and field.description else ""
                lines.append(f"  ASKBUS_{name.upper()}: {problem['msg']}{meaning}")
            raise SettingsError("askbus cannot start; set these environment variables:\n" + "\n".join(lines)) from None

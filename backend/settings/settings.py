"""Every setting, once, with its unit. Read from the environment and from `.env`; the environment wins.

A limit set to 0 is off. `.env.example`, `docs/settings.md` and what Docker Compose passes on
are generated from this file (`python -m scripts.settings_table`); a comment before a field is a heading there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import (
    BaseModel,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SecretStr,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from backend.errors import SettingsError
from backend.settings.access import AccessMode, OidcSettings, key_pairs
from backend.settings.agent import PipelineSettings, ReasoningSettings, RouterSettings
from backend.settings.budgets import BudgetSettings
from backend.settings.mcp import McpSettings
from backend.settings.network import HostNames, Networks, Origins, PortRange, split
from backend.settings.notifications import NotificationSettings
from backend.settings.plugin import PluginSettings, read_settings
from backend.settings.redis import complete_redis_url, read_password
from backend.settings.tasks import BackgroundSettings, CoordinatorSettings
from backend.settings.vad import VadSettings

S = TypeVar("S", bound=PluginSettings)
Seconds = Annotated[float, Field(ge=0)]
Milliseconds = Annotated[int, Field(ge=0)]


class IceServerEntry(BaseModel):
    """One STUN or TURN server, as browsers write it."""

    urls: str | list[str]
    username: str | None = None
    credential: str | None = Field(None, repr=False)


class Settings(BaseSettings):
    """Every setting of the server. A field's name in capitals is the name of its environment variable."""

    model_config = SettingsConfigDict(
        env_file=".env",
        env_nested_delimiter="__",
        extra="ignore",
        env_ignore_empty=True,
        validate_default=True,
    )

    # Responder and models
    responder: str | None = Field(
        None,
        description="Who converses, as RESPONDERS names it; unset: openai where there is a key, else what needs none.",
    )
    responders: Annotated[list[str], NoDecode] = Field(
        [], description="Several in order of preference, e.g. openai,azure,local; a call goes on with the next."
    )
    require_provider: bool = Field(
        False, description="Refuse to start where neither a provider's key nor RESPONDER is set; true in the image."
    )
    openai_api_key: SecretStr | None = Field(None, description="API key; unset: the local Responder answers.")
    openai_base_url: str = Field(
        "https://us.api.openai.com/v1", description="The API: any server with the Realtime and chat APIs."
    )
    realtime_model: str = Field("gpt-realtime-2", description="The Responder's model.")
    realtime_voice: str = Field("shimmer", description="The Responder's voice.")
    realtime_effort: Literal["", "minimal", "low", "medium", "high", "xhigh"] = Field(
        "", description="How long a Responder that reasons thinks, minimal to xhigh; empty: as the provider has it."
    )
    realtime_prompt: str = Field("", description="Id of a prompt that is stored at the provider; empty: none.")
    realtime_prompt_version: str = Field("", description="Version of that prompt; empty: the newest.")
    realtime_retention_ratio: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Share of a conversation that is kept when it grows too long; 0: as the provider has it.",
    )
    realtime_context_tokens: int = Field(
        0, ge=0, description="Tokens from which on a conversation is too long; 0: what the model can hold."
    )
    realtime_mcp_file: str = Field(
        "",
        description="JSON file with MCP servers that OpenAI calls by itself, each as its Realtime API takes it; empty: "
        "none. The caller is asked before each call that is not `require_approval: never`.",
    )
    realtime_noise_reduction: Literal["", "near_field", "far_field"] = Field(
        "", description="Noise reduction at the provider: near_field (headsets), far_field (rooms); empty: none."
    )
    realtime_language: Annotated[str, StringConstraints(pattern="^([a-z]{2})?$")] = Field(
        "", description="Language of the transcripts in two letters, e.g. en; empty: it is recognized."
    )
    realtime_speed: float = Field(1.0, ge=0.25, le=1.5, description="How fast the Responder speaks, 0.25 to 1.5.")
    transcript_model: str = Field("gpt-4o-mini-transcribe", description="The model that transcribes what callers say.")
    thinker_model: str = Field("gpt-5.4-mini", description="The Thinkers' everyday model.")
    thinker_model_advanced: str = Field("gpt-5.4", description="The Thinkers' model for hard domains.")
    model_attempts: int = Field(3, ge=1, le=10, description="How often a request to a text model is tried.")
    model_connect_s: float = Field(5, gt=0, description="Seconds a connection to a text model may take.")
    model_silence_s: float = Field(
        20, gt=0, description="Seconds a text model may say nothing, before its answer and within it."
    )
    modes_file: Path | None = Field(None, description="TOML with your own modes; unset: backend/users/modes.toml.")
    prompts_folder: Path | None = Field(
        None, description="Folder with files that replace prompts of the coordinator and the reasoners; unset: none."
    )
    models_without_tools: Annotated[list[str], NoDecode] = Field(
        [], description="Models without native tool calls, comma-separated; tools are described to them in the prompt."
    )
    line_patience_s: float = Field(
        90, ge=5, le=600, description="Seconds a call waits for a Responder that cannot be reached before it ends."
    )
    connection_max_s: float = Field(
        0,
        ge=0,
        description="Seconds a provider lets a connection stand; a new one is made before that. 0: as known.",
    )
    greeting: str = Field("", description="The Responder's first words in a call; empty: it waits for the caller.")

    # Memory
    redis_url: str | None = Field(
        None, repr=False, description="A Redis; unset: the server starts its own in DATA_DIR."
    )
    redis_password: SecretStr = Field(SecretStr(""), description="Its password, unless REDIS_URL holds one.")
    redis_password_file: Path | None = Field(None, description="A file with that password.")
    redis_ca_file: Path | None = Field(
        None,
        description="The authority that signed its certificate, for rediss:// addresses; unset: a public one.",
    )
    data_dir: Path = Field(Path("var"), description="Folder of the embedded Redis, calendars and generated secrets.")

    database_url: SecretStr = Field(
        SecretStr(""),
        description="Database of the ledger: postgresql://… or sqlite:////…; unset: `ledger.db` in DATA_DIR.",
    )
    ledger_retention_days: float = Field(
        90, ge=0, description="Days that conversations are kept in the ledger; 0: for good."
    )
    user_retention_days: int = Field(0, ge=0, description="Days user data is kept after its last change; 0: for good.")

    # Services of the tools
    finnhub_api_key: SecretStr | None = Field(None, description="Finnhub key, for stock quotes; unset: sample data.")
    newsapi_api_key: SecretStr | None = Field(None, description="NewsAPI key, for headlines; unset: sample data.")
    open_meteo_forecast_url: str = Field(
        "https://api.open-meteo.com/v1/forecast", description="Weather forecasts (no key needed)."
    )
    open_meteo_geocoding_url: str = Field(
        "https://geocoding-api.open-meteo.com/v1/search", description="Place names to coordinates."
    )
    finnhub_url: str = Field("https://finnhub.io/api/v1", description="Finnhub's API.")
    newsapi_url: str = Field("https://newsapi.org/v2", description="NewsAPI's API.")
    searxng_url: str | None = Field(None, description="SearXNG server for web searches; its JSON format must be on.")
    brave_api_key: SecretStr | None = Field(
        None, description="Brave Search key, for web searches where SEARXNG_URL is unset."
    )
    brave_url: str = Field("https://api.search.brave.com/res/v1", description="Brave Search's API.")
    ncbi_url: str = Field("https://eutils.ncbi.nlm.nih.gov/entrez/eutils", description="PubMed (NCBI E-utilities).")
    ncbi_api_key: SecretStr | None = Field(None, description="NCBI key, for more PubMed requests per second.")
    research_delay_s: Seconds = Field(
        0, description="For demonstrations: least seconds of the research Thinker; 30 shows how a slow one is covered."
    )
    plugin_folders: Annotated[list[Path], NoDecode] = Field(
        [], description="Folders with further Thinker and tool files, comma-separated."
    )
    reload: bool = Field(False, description="Load plugins again when a file of theirs changes; for development.")

    # Tracing
    otel_exporter_otlp_endpoint: str | None = Field(
        None, description="OpenTelemetry collector (OTLP over HTTP), e.g. http://localhost:4318; unset: none."
    )
    otel_exporter_otlp_headers: SecretStr | None = Field(
        None, description="Headers for the collector: name=value, comma-separated, values percent-encoded."
    )
    otel_service_name: str = Field("responder-thinker", description="Name of this service in traces.")
    langsmith_tracing_enabled: bool = Field(
        False, description="Trace calls, turns, Thinkers, models and tools to LangSmith."
    )
    langsmith_api_key: SecretStr | None = Field(None, description="LangSmith key.")
    langsmith_project: str = Field("responder-thinker", description="LangSmith project that traces go to.")
    langsmith_endpoint: str = Field("https://api.smith.langchain.com", description="LangSmith's API.")
    trace_content: bool = Field(
        False, description="Send what is said, too; false: only lengths, labels and numbers leave the server."
    )

    # Steps around a turn, and reasoning
    pipeline: PipelineSettings = Field(default_factory=PipelineSettings)  # type: ignore[arg-type]
    reasoning: ReasoningSettings = Field(default_factory=ReasoningSettings)  # type: ignore[arg-type]

    # Background tasks, reminders and the coordinator
    background: BackgroundSettings = Field(default_factory=BackgroundSettings)  # type: ignore[arg-type]
    notifications: NotificationSettings = Field(default_factory=NotificationSettings)  # type: ignore[arg-type]
    coordinator: CoordinatorSettings = Field(default_factory=CoordinatorSettings)  # type: ignore[arg-type]

    # Choosing Thinkers and tools
    thinkers: Annotated[list[str], NoDecode] = Field(
        [], description="The Thinkers that are offered, by domain, comma-separated; empty: all."
    )
    tools: Annotated[list[str], NoDecode] = Field(
        [], description="The tools that are offered, comma-separated; empty: all. Other servers' are not among them."
    )
    router: RouterSettings = Field(default_factory=RouterSettings)  # type: ignore[arg-type]

    # Model Context Protocol
    mcp: McpSettings = Field(default_factory=McpSettings)  # type: ignore[arg-type]

    # Speech detection
    vad: VadSettings = Field(default_factory=VadSettings)  # type: ignore[arg-type]

    # Network
    rtc_force_host: str | None = Field(None, description="IP address to advertise to callers, behind Docker or NAT.")
    rtc_port_range: PortRange = Field(None, description="UDP ports to bind, e.g. 10000-10100.")
    rtc_dtx: bool = Field(True, description="Use Opus DTX: almost nothing is sent in silence.")
    ice_servers: Annotated[list[IceServerEntry], NoDecode] = Field(
        [], description="STUN/TURN servers as JSON. A username and password in it are used by the server alone."
    )
    turn_secret: SecretStr = Field(
        SecretStr(""), description="The secret shared with the TURN servers (coturn: static-auth-secret), for callers."
    )
    turn_ttl_minutes: int = Field(60, ge=1, le=1440, description="Minutes a caller's TURN credentials are good for.")

    # Connections
    allowed_hosts: HostNames = Field(
        [],
        description="Further names by which the server may be addressed (`Host`), comma-separated; `*`: every one. "
        "Loopback, its own address, RTC_FORCE_HOST and ALLOWED_ORIGINS are always allowed.",
    )
    trusted_proxies: Networks = Field(
        ["127.0.0.0/8", "::1"],
        description="Addresses or networks of proxies that are believed about X-Forwarded-For and X-Forwarded-Proto.",
    )
    api_docs: bool = Field(
        False,
        description="Serve the API's description at /openapi.json, and as a page at /docs; otherwise both are 404.",
    )
    connections_per_address: int = Field(
        128, ge=0, description="Connections of one address at the same time; those of TRUSTED_PROXIES are not counted."
    )
    metrics_port: int = Field(
        0, ge=0, le=65535, description="Port of a listener of its own for /metrics; 0: none. See METRICS_TOKEN."
    )
    metrics_token: SecretStr | None = Field(
        None,
        min_length=16,
        description="Token that opens /metrics, 16 characters or more; unset: it answers on METRICS_PORT and loopback.",
    )

    # Turn-taking
    idle_nudge_s: Seconds = Field(15, description="Seconds of silence before the assistant nudges the caller.")
    idle_disconnect_s: Seconds = Field(60, description="Seconds of silence before it says goodbye and hangs up.")
    endpointing: Literal["eager", "balanced", "patient"] = Field(
        "balanced", description="How long to wait for more when the caller pauses: eager (300 ms), balanced or patient."
    )
    interruptions: bool = Field(True, description="Callers may interrupt replies, unless a call is set otherwise.")
    interruption_min_ms: Milliseconds = Field(
        580, description="Milliseconds of speech that interrupt a reply whatever is said."
    )
    utterance_classifier: bool = Field(
        True, description="A process beside the server reads short utterances by their sound; it takes CPU and 100 MB."
    )
    interruption_onset: Literal["duck", "hold"] = Field(
        "duck", description="Until speech is known to interrupt, the reply is turned down (duck) or paused (hold)."
    )
    wake_name: Annotated[str, StringConstraints(strip_whitespace=True, max_length=40)] = Field(
        "", description="Name by which the assistant must be addressed; empty: it needs none."
    )
    echo_cancellation: Literal["auto", "off"] = Field(
        "auto", description="Cancel echo in calls in which the assistant's voice comes back (auto), or in none (off)."
    )
    filler_after_s: Seconds = Field(
        2.8, description="Seconds of silence before a filler says that a Thinker is still at work, each time; 0: never."
    )
    late_answer_max_s: Seconds = Field(
        120,
        description="Seconds after its question in which an answer is spoken though the caller has moved on; 0: never.",
    )
    thinker_deadline_s: float = Field(15, gt=0, description="Seconds a Thinker has to answer.")

    # Chat
    chat_deadline_s: float = Field(180, gt=0, le=600, description="Seconds a typed turn has to be answered.")
    chat_turns_per_minute: int = Field(30, ge=0, description="Typed turns per minute and user.")
    embedding_base_url: str | None = Field(
        None, description="Address of the embeddings API, if not OPENAI_BASE_URL; a local server needs no key."
    )
    embedding_model: str = Field("text-embedding-3-small", description="The model of POST /embedding.")

    # Limits
    session_cap: int = Field(50, ge=0, description="Calls at the same time, in one process.")
    admission_max_lag_ms: Milliseconds = Field(
        80, description="Milliseconds the event loop may lag while new calls are still accepted."
    )
    admission_max_cpu_percent: int = Field(
        85, ge=0, description="Percent of one core a process may use while new calls are still accepted."
    )
    session_max_minutes: int = Field(60, ge=0, description="Minutes a call may last.")
    offers_per_minute: int = Field(30, ge=0, description="New calls per minute and address.")

    # Budgets
    budgets: BudgetSettings = Field(default_factory=BudgetSettings)  # type: ignore[arg-type]

    # Several processes
    workers: int = Field(1, ge=1, le=64, description="Processes that serve the one port together.")
    share_sessions: bool = Field(
        False, description="Whether several servers behind one address act as one; needs REDIS_URL."
    )

    drain_s: Seconds = Field(0, description="Seconds calls may continue after SIGTERM, while new ones are refused.")

    # Access
    access: Annotated[list[AccessMode], NoDecode, Field(min_length=1)] = Field(
        ["open"], description="Who is admitted: open (everyone), key (see API_KEYS), oidc; several, comma-separated."
    )
    access_open_anywhere: bool = Field(
        False, description="Let ACCESS=open listen beyond loopback although keys or other credentials are set."
    )
    publish_on: str | None = Field(
        None, description="Address at which a container's ports are published, as compose sets it; unset: no container."
    )
    allowed_origins: Origins = Field(
        [], description="Extra browser origins, comma-separated; our own is always allowed."
    )
    api_keys: SecretStr | None = Field(
        None, description="Keys that sign tokens (ACCESS=key), id:secret, comma-separated; id:file:PATH: a public key."
    )
    oidc: OidcSettings = Field(default_factory=OidcSettings)  # type: ignore[arg-type]
    secret_key: SecretStr | None = Field(
        None,
        description="Keys of cookies and tokens, comma-separated, the first signs; unset: made in DATA_DIR.",
    )
    admin_token: SecretStr | None = Field(
        None, min_length=16, description="Token that opens /admin, 16 characters or more; unset: no admin page."
    )
    security_log: Path | None = Field(
        None, description="File of the security log, one line of JSON for each event; unset: standard output."
    )
    identify_by_fingerprint: bool = Field(
        False, description="For demonstrations: a browser fingerprint restores the data of a lost cookie."
    )

    @field_validator("openai_base_url", "langsmith_endpoint", "otel_exporter_otlp_endpoint")
    @classmethod
    def _http_url(cls, value: str | None) -> str | None:
        if value and not re.match(r"https?://[^/\s]+", value):
            raise ValueError("must start with http:// or https:// and name a host, e.g. https://us.api.openai.com/v1")
        return value.rstrip("/") if value else None

    @field_validator("otel_exporter_otlp_headers")
    @classmethod
    def _headers(cls, value: SecretStr | None) -> SecretStr | None:
        parts = value.get_secret_value().split(",") if value else []
        if not all(re.fullmatch(r"\s*([^\s=]+=.*)?", part) for part in parts):
            raise ValueError("must be name=value pairs, comma-separated, e.g. x-api-key=secret")
        return value

    @field_validator("redis_url")
    @classmethod
    def _redis_url(cls, value: str | None) -> str | None:
        if value and not re.match(r"(redis|rediss|unix)://", value):
            raise ValueError("must start with redis://, rediss:// or unix://, e.g. redis://localhost:6379/0")
        return value

    @field_validator("turn_secret")
    @classmethod
    def _turn_secret(cls, value: SecretStr) -> SecretStr:
        if 0 < len(value.get_secret_value()) < 16:
            raise ValueError("must have 16 characters or more, e.g. what `openssl rand -hex 32` prints")
        return value

    @field_validator("ice_servers", mode="before")
    @classmethod
    def _ice_servers(cls, value: Any) -> Any:
        try:
            servers = json.loads(value) if isinstance(value, str) else value
        except json.JSONDecodeError:
            servers = None
        if isinstance(servers, list):
            return servers
        raise ValueError(
            'must be a JSON list, e.g. [{"urls": "turn:turn.example.com", "username": "…", "credential": "…"}]'
        )

    @field_validator(
        *(
            "responders",
            "models_without_tools",
            "plugin_folders",
            "thinkers",
            "tools",
            "access",
        ),
        mode="before",
    )
    @classmethod
    def _list(cls, value: Any) -> Any:
        return split(value) if isinstance(value, str) else value

    @field_validator("api_keys")
    @classmethod
    def _api_keys(cls, value: SecretStr | None) -> SecretStr | None:
        key_pairs(value)
        return value

    @field_validator("plugin_folders")
    @classmethod
    def _folders(cls, value: list[Path]) -> list[Path]:
        if missing := [str(folder) for folder in value if not folder.is_dir()]:
            raise ValueError(f"must name folders that exist, comma-separated; {', '.join(missing)} does not")
        return value

    @model_validator(mode="after")
    def _complete(self) -> Settings:
        if self.redis_url:
            password = self.redis_password.get_secret_value()
            if not password and self.redis_password_file:
                password = read_password(self.redis_password_file)
            self.redis_url = complete_redis_url(self.redis_url, password=password, ca_file=self.redis_ca_file)
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.idle_disconnect_s and self.idle_nudge_s >= self.idle_disconnect_s:
            raise ValueError("IDLE_NUDGE_S must be less than IDLE_DISCONNECT_S (or IDLE_DISCONNECT_S 0, for never)")
        if self.share_sessions and not self.redis_url:
            raise ValueError("SHARE_SESSIONS needs REDIS_URL: the Redis that all the servers share")
        if self.share_sessions and self.secret_key is None:
            raise ValueError("SHARE_SESSIONS needs SECRET_KEY: one for all, e.g. what `openssl rand -hex 32` prints")
        if "key" in self.access and not self.api_keys:
            raise ValueError("ACCESS=key needs API_KEYS: the keys that sign the tokens")
        if "oidc" in self.access and not (self.oidc.issuer and self.oidc.client_id):
            raise ValueError("ACCESS=oidc needs OIDC__ISSUER and OIDC__CLIENT_ID: the provider, and our name there")
        if "openai" in self.responder_names and self.openai_api_key is None:
            raise ValueError("RESPONDER=openai needs OPENAI_API_KEY")
        if self.require_provider and not (self.responder or self.responders or self.openai_api_key):
            raise ValueError("REQUIRE_PROVIDER: set OPENAI_API_KEY, RESPONDER or RESPONDERS")
        if self.responder and self.responders:
            raise ValueError("RESPONDER and RESPONDERS exclude each other: RESPONDERS=openai,local names several")
        if len(set(self.responders)) < len(self.responders):
            raise ValueError("RESPONDERS names a provider twice")
        if self.langsmith_tracing_enabled and not self.langsmith_api_key:
            raise ValueError("LANGSMITH_TRACING_ENABLED needs LANGSMITH_API_KEY: set it, or turn tracing off")
        return self

    _of: dict[type[PluginSettings], PluginSettings] = PrivateAttr(default_factory=dict)
    _given: dict[str, dict[str, Any]] = PrivateAttr(default_factory=dict)
    """What a program sets of extensions: the prefix of their variables in lower case → values by field."""

    @model_validator(mode="wrap")
    @classmethod
    def _keep_what_is_given(cls, data: Any, handler: ModelWrapValidatorHandler[Settings]) -> Settings:
        settings = handler(data)
        if isinstance(data, dict):
            given = {name: value for name, value in data.items() if name not in cls.model_fields}
            settings._given = {name: value for name, value in given.items() if isinstance(value, dict)}
        return settings

    def of(self, kind: type[S]) -> S:
        """Return the settings of an extension or a plugin, read once. Raises `SettingsError`, naming the variables."""
        if kind not in self._of:
            self._of[kind] = read_settings(kind, self._given.get(kind.prefix().lower().rstrip("_"), {}))
        return cast("S", self._of[kind])

    @property
    def several_processes(self) -> bool:
        """Whether this process is one of several that serve the same callers."""
        return self.workers > 1 or self.share_sessions

    @property
    def responder_names(self) -> list[str]:
        """Return the names of the providers that converse, in order of preference; none where none is set."""
        return self.responders or [name for name in [self.responder or (self.openai_api_key and "openai")] if name]


def load_settings(**overrides: Any) -> Settings:
    """Read the settings from the environment and `.env`. Raises `SettingsError`, which names each faulty variable."""
    try:
        return Settings(**overrides)
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            name = "__".join(str(part) for part in problem["loc"]).upper()
            lines.append(": ".join(filter(None, (name, problem["msg"].removeprefix("Value error, ")))))
        raise SettingsError(
            "; ".join(lines),
            hint="Correct it in the environment or in .env; .env.example lists every setting.",
        ) from None

"""Settings of tracing: the destinations of traces, and whether traces hold the words."""

import re
from typing import Self

from pydantic import Field, SecretStr, field_validator, model_validator

from backend.settings.network import HttpAddress
from backend.settings.plugin import PluginSettings


class TracingSettings(PluginSettings):
    """The destinations of traces."""

    otel_exporter_otlp_endpoint: HttpAddress | None = Field(
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
    langsmith_endpoint: HttpAddress = Field("https://api.smith.langchain.com", description="LangSmith's API.")
    trace_content: bool = Field(
        False, description="Send what is said, too; false: only lengths, labels and numbers leave the server."
    )

    @field_validator("otel_exporter_otlp_headers")
    @classmethod
    def _headers(cls, value: SecretStr | None) -> SecretStr | None:
        parts = value.get_secret_value().split(",") if value else []
        if not all(re.fullmatch(r"\s*([^\s=]+=.*)?", part) for part in parts):
            raise ValueError("must be name=value pairs, comma-separated, e.g. x-api-key=secret")
        return value

    @model_validator(mode="after")
    def _with_a_key(self) -> Self:
        if self.langsmith_tracing_enabled and not self.langsmith_api_key:
            raise ValueError("LANGSMITH_TRACING_ENABLED needs LANGSMITH_API_KEY: set it, or turn tracing off")
        return self

"""Settings of the Responder's provider: who converses, and the session at the provider (`REALTIME_…`)."""

from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, StringConstraints, model_validator

from backend.settings.network import HttpAddress, Names
from backend.settings.plugin import PluginSettings


class ProviderSettings(PluginSettings):
    """The Responder, and the credentials of OpenAI."""

    responders: Names = Field(
        [],
        description="Who converses, in order of preference, e.g. openai,azure,local; a call goes on with the next. "
        "Unset: openai where there is a key, else what needs none.",
    )
    require_provider: bool = Field(
        False, description="Refuse to start where neither a provider's key nor RESPONDERS is set; true in the image."
    )
    openai_api_key: SecretStr | None = Field(None, description="API key; unset: the local Responder answers.")
    openai_base_url: HttpAddress = Field(
        "https://us.api.openai.com/v1", description="The API: any server with the Realtime and chat APIs."
    )
    transcript_model: str = Field("gpt-4o-mini-transcribe", description="The model that transcribes what callers say.")

    @property
    def names(self) -> list[str]:
        """Return the names of the providers that converse, in order of preference; none if none is set."""
        return self.responders or (["openai"] if self.openai_api_key else [])

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if "openai" in self.names and self.openai_api_key is None:
            raise ValueError("RESPONDERS=openai needs OPENAI_API_KEY")
        if self.require_provider and not self.names:
            raise ValueError("REQUIRE_PROVIDER: set OPENAI_API_KEY or RESPONDERS")
        if len(set(self.responders)) < len(self.responders):
            raise ValueError("RESPONDERS names a provider twice")
        return self


class RealtimeSettings(PluginSettings, env_prefix="REALTIME_"):
    """The session of a Responder at its provider."""

    model: str = Field("gpt-realtime-2", description="The Responder's model.")
    voice: str = Field("shimmer", description="The Responder's voice.")
    effort: Literal["", "minimal", "low", "medium", "high", "xhigh"] = Field(
        "", description="How long a Responder that reasons thinks, minimal to xhigh; empty: as the provider has it."
    )
    noise_reduction: Literal["", "near_field", "far_field"] = Field(
        "", description="Noise reduction at the provider: near_field (headsets), far_field (rooms); empty: none."
    )
    language: Annotated[str, StringConstraints(pattern="^([a-z]{2})?$")] = Field(
        "", description="Language of the transcripts in two letters, e.g. en; empty: it is recognized."
    )
    speed: float = Field(1.0, ge=0.25, le=1.5, description="How fast the Responder speaks, 0.25 to 1.5.")

"""Settings of turn-taking: pauses, interruptions, silence, and how long a Thinker may take."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from backend.settings.plugin import PluginSettings


class TurnSettings(PluginSettings):
    """The turn-taking of calls, unless the caller has chosen otherwise."""

    greeting: str = Field("", description="The Responder's first words in a call; empty: it waits for the caller.")
    idle_nudge_s: float = Field(15, ge=0, description="Seconds of silence before the assistant nudges the caller.")
    idle_disconnect_s: float = Field(60, ge=0, description="Seconds of silence before it says goodbye and hangs up.")
    endpointing: Literal["eager", "balanced", "patient"] = Field(
        "balanced", description="How long to wait for more when the caller pauses: eager (300 ms), balanced or patient."
    )
    interruptions: bool = Field(True, description="Callers may interrupt replies, unless a call is set otherwise.")
    interruption_min_ms: int = Field(
        580, ge=0, description="Milliseconds of speech that interrupt a reply whatever is said."
    )
    wake_name: Annotated[str, StringConstraints(strip_whitespace=True, max_length=40)] = Field(
        "", description="Name by which the assistant must be addressed; empty: it needs none."
    )
    filler_after_s: float = Field(
        2.8,
        ge=0,
        description="Seconds of silence before a filler says that a Thinker is still at work, each time; 0: never.",
    )
    late_answer_max_s: float = Field(
        120,
        ge=0,
        description="Seconds after its question in which an answer is spoken though the caller has moved on; 0: never.",
    )
    thinker_deadline_s: float = Field(15, gt=0, description="Seconds a Thinker has to answer.")

    @model_validator(mode="after")
    def _nudge_before_goodbye(self) -> Self:
        if self.idle_disconnect_s and self.idle_nudge_s >= self.idle_disconnect_s:
            raise ValueError("IDLE_NUDGE_S must be less than IDLE_DISCONNECT_S (or IDLE_DISCONNECT_S 0, for never)")
        return self

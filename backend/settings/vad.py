"""Settings of local voice activity detection (`VAD__…`)."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from backend.settings.plugin import PluginSettings

SCORED_HZ = 16000
"""Samples per second that both detectors score."""


class VadSettings(PluginSettings, env_prefix="VAD__"):
    """The detector, and how its scores become the beginning and end of an utterance."""

    enabled: bool = Field(True, description="Detect turns locally; false leaves it to the provider's semantic_vad.")
    engine: Literal["auto", "ten", "silero"] = Field(
        "auto", description="The detector; auto takes Silero, else TEN VAD."
    )
    threshold: float = Field(0.7, ge=0.05, le=0.99, description="Probability from which a frame counts as speech.")
    onset_threshold: float = Field(
        0.5, ge=0.05, le=0.99, description="The same after silence, with Silero: a first sound may be doubtful."
    )
    vad_sample_rate: int = Field(16000, description="Samples per second that the detector receives; only 16000.")
    vad_frame_ms: Literal[10, 16, 32] = Field(32, description="Milliseconds TEN VAD scores together; Silero always 32.")
    pre_roll_ms: int = Field(
        300, ge=0, le=1000, description="Milliseconds sent from before the onset; a soft consonant may be there."
    )
    post_roll_ms: int = Field(300, ge=0, le=2000, description="Most milliseconds of trailing silence that are sent.")
    hangover_frames: int = Field(15, ge=1, le=150, description="Silent frames of 20 ms that end an utterance.")
    primary_speaker: bool = Field(True, description="Take voices far below the caller's level for the room.")
    primary_speaker_below_db: float = Field(
        8.0, ge=3, le=30, description="Decibels below the caller's level from which a voice is another's."
    )
    primary_speaker_pre_roll_ms: int = Field(
        500, ge=0, le=2000, description="Most milliseconds of a voice in doubt that are sent once it is the caller's."
    )
    primary_speaker_relearn_s: float = Field(
        15.0, ge=1, le=120, description="Seconds of quieter voice, without a wait, after which it may be the caller's."
    )
    utterance_max_s: float = Field(
        15.0, ge=0, le=120, description="Seconds of voice without any fall that are taken for the room; 0: any."
    )
    off_axis_db: float = Field(
        9.0, ge=3, le=40, description="Decibels of treble below the caller's usual from which a voice is off-axis."
    )

    @field_validator("vad_frame_ms", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        """The environment speaks in strings, which a Literal of numbers would refuse."""
        return int(value) if isinstance(value, str) and value.strip().isdecimal() else value

    @field_validator("vad_sample_rate", mode="after")
    @classmethod
    def _rate(cls, value: int) -> int:
        if value != SCORED_HZ:
            raise ValueError(f"Silero and TEN VAD both score {SCORED_HZ} samples a second; leave it out.")
        return value

    @model_validator(mode="after")
    def _sent_to_the_end(self) -> Self:
        """Refuse more trailing silence than an utterance has; left out, as much is sent as there is."""
        silence_ms = self.hangover_frames * 20
        if "post_roll_ms" in self.model_fields_set and self.post_roll_ms > silence_ms:
            raise ValueError(
                f"post_roll_ms ({self.post_roll_ms}) is longer than the {silence_ms} ms of silence that end an "
                f"utterance (hangover_frames, {self.hangover_frames} of 20 ms): lower it, or raise hangover_frames."
            )
        return self

"""Settings of local voice activity detection (`VAD__…`)."""

from pydantic import Field

from backend.settings.plugin import PluginSettings


class VadSettings(PluginSettings, env_prefix="VAD__"):
    """The detector, and how its scores become the beginning and end of an utterance."""

    enabled: bool = Field(True, description="Detect turns locally; false leaves it to the provider's semantic_vad.")
    threshold: float = Field(0.7, ge=0.05, le=0.99, description="Probability from which a frame counts as speech.")
    vad_sample_rate: int = Field(16000, ge=16000, le=16000, description="Samples a second at the detector; only 16000.")
    vad_frame_ms: int = Field(32, ge=32, le=32, description="Milliseconds that the detector scores together; only 32.")
    pre_roll_ms: int = Field(
        300, ge=0, le=1000, description="Milliseconds sent from before the onset; a soft consonant may be there."
    )
    post_roll_ms: int = Field(300, ge=0, le=2000, description="Most milliseconds of trailing silence that are sent.")
    hangover_frames: int = Field(15, ge=1, le=150, description="Silent frames of 20 ms that end an utterance.")
    primary_speaker: bool = Field(True, description="Take voices far below the caller's level for the room.")

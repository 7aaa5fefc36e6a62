"""Settings of recordings (`RECORDING__…`): whether calls may be recorded, and how long recordings are kept."""

from pathlib import Path

from pydantic import Field

from backend.settings.plugin import PluginSettings


class RecordingSettings(PluginSettings, env_prefix="RECORDING__"):
    """Recordings are off; where they are on, a call is recorded only once its caller has agreed."""

    enabled: bool = Field(False, description="Callers may have their calls recorded, each with their consent.")
    folder: Path | None = Field(
        None, description="Folder of the recordings; several machines share it. Unset: `recordings` in DATA_DIR."
    )
    keep_hours: float = Field(168, ge=0, description="Hours a recording is kept after its call; 0: for good.")
    total_mb: float = Field(
        5_000, ge=0, description="Megabytes of all recordings (an hour takes 22); then nothing more is recorded."
    )
    notice: str = Field("", max_length=300, description="What is said when a recording begins; empty: nothing.")

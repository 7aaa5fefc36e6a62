"""TEN VAD can detect speech in place of Silero."""

import logging

from pydantic import Field

from backend.errors import MissingLibrary
from backend.extension import Extension
from backend.extensions.ten.engine import TenEngine
from backend.settings.plugin import PluginSettings
from backend.settings.settings import Settings

log = logging.getLogger(__name__)


class TenSettings(PluginSettings, env_prefix="TEN__"):
    """The setting that chooses TEN VAD."""

    enabled: bool = Field(False, description="Detect speech by TEN VAD (x86-64; the README has its licence).")


def engine(settings: Settings) -> type[TenEngine] | None:
    """Return the engine; None if it is off, or cannot run. The log has the reason."""
    if not settings.of(TenSettings).enabled:
        return None
    try:
        TenEngine()
    except MissingLibrary as error:
        log.warning("speech is detected by Silero: %s %s", error, error.hint)
        return None
    return TenEngine


EXTENSION = Extension(
    name="ten", title="TEN VAD", settings=(TenSettings,), former={"VAD__ENGINE": "TEN__ENABLED"}, vad_engine=engine
)

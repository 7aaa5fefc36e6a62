"""TEN VAD can detect speech in place of Silero."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import Field

from backend.errors import MissingLibrary
from backend.extension import Extension, Ground, Opened
from backend.extensions.ten.engine import TenEngine
from backend.settings.plugin import PluginSettings

log = logging.getLogger(__name__)


class TenSettings(PluginSettings, env_prefix="TEN__"):
    """The choice of TEN VAD."""

    enabled: bool = Field(False, description="Detect speech by TEN VAD (x86-64; the README has its licence).")


@asynccontextmanager
async def open_ten(ground: Ground) -> AsyncIterator[Opened]:
    """Offer the engine to each call, where it is wanted and runs."""
    yield Opened(vad_engine=engine(ground.settings.of(TenSettings)))


def engine(settings: TenSettings) -> type[TenEngine] | None:
    """Return the engine; None where it is not wanted, or cannot run, which the log says."""
    if not settings.enabled:
        return None
    try:
        TenEngine()
    except MissingLibrary as error:
        log.warning("speech is detected by Silero: %s %s", error, error.hint)
        return None
    return TenEngine


EXTENSION = Extension(name="ten", title="TEN VAD", settings=(TenSettings,), open=open_ten)

"""The classification of short utterances ("yeah", "stop", a cough) by their sound, before a transcript comes."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

from pydantic import Field

from backend.extension import Extension, Ground, Opened
from backend.extensions.utterances.classifier import UtteranceClassifier
from backend.settings.plugin import PluginSettings

log = logging.getLogger(__name__)


class UtteranceSettings(PluginSettings, env_prefix="UTTERANCES__"):
    """The setting that turns the classification of short utterances on or off."""

    enabled: bool = Field(
        True, description="A process beside the server reads short utterances by their sound; it takes CPU and 100 MB."
    )


@asynccontextmanager
async def open_utterances(ground: Ground) -> AsyncIterator[Opened]:
    """Offer a classifier until the block ends; the first call starts its child process."""
    if not (ground.serves and ground.settings.of(UtteranceSettings).enabled):
        yield Opened()
        return
    if find_spec("pocketsphinx") is None:
        log.warning("short utterances are judged by their length alone: pocketsphinx is not installed")
        yield Opened()
        return
    reader = UtteranceClassifier()
    try:
        yield Opened(reader=reader)
    finally:
        await reader.close()


EXTENSION = Extension(
    name="utterances",
    title="Short utterances",
    settings=(UtteranceSettings,),
    open=open_utterances,
    former={"UTTERANCE_CLASSIFIER": "UTTERANCES__ENABLED", "UTTERANCE_READER": "UTTERANCES__ENABLED"},
)

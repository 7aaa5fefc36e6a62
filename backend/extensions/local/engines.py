"""The engines that all calls share: recognition, dialogue and synthesis. Each loads in the background."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from backend.extensions.local.dialogue.base import Dialogue
from backend.extensions.local.dialogue.without_model import PlainDialogue
from backend.extensions.local.recognition.choose import open_recognizer
from backend.extensions.local.recognition.pooled import PooledRecognizer
from backend.extensions.local.requirements import installed_voice
from backend.extensions.local.speech_pool import SpeechPool
from backend.extensions.local.synthesis.pooled import ENGINE, PooledSynthesizer
from backend.runtime.supervisor import supervising

if TYPE_CHECKING:
    from backend.extensions.local.dialogue.chat_model import ChatModelDialogue

DIALOGUE = "dialogue"


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines that all connections share."""

    recognizer: PooledRecognizer
    dialogue: Dialogue
    synthesizer: PooledSynthesizer
    pools: tuple[SpeechPool, ...] = ()
    warming: set[str] = field(default_factory=set)
    """Parts without a pool that are being loaded."""

    @property
    def loading(self) -> list[str]:
        """Return the engines that are not ready yet; a call that needs one waits."""
        return [*(pool.name for pool in self.pools if not pool.ready), *sorted(self.warming)]

    @property
    def about(self) -> dict[str, Any]:
        """Return the names of the engines; a call waits for one that is being loaded."""
        return {
            "recognition": self.recognizer.name,
            "voice": self.synthesizer.name,
            "dialogue": self.dialogue.name,
            "loading": self.loading,
        }


@asynccontextmanager
async def open_engines() -> AsyncIterator[Engines]:
    """Choose the engines by installed packages and settings; load them in the background. Raises `SetupError`."""
    async with AsyncExitStack() as stack:
        recognizer, recognition = open_recognizer()
        synthesis = SpeechPool("speech synthesis", ENGINE)
        synthesizer = PooledSynthesizer(installed_voice(), synthesis)
        for pool in (recognition, synthesis):
            stack.push_async_callback(pool.close)
        model = await _open_model()
        if model:
            stack.push_async_callback(model.close)
        dialogue = model or PlainDialogue()
        engines = Engines(recognizer, dialogue, synthesizer, (recognition, synthesis))

        async def warm_up() -> None:
            try:
                await dialogue.warm_up()
            finally:
                engines.warming.discard(DIALOGUE)

        recognition.start()
        synthesis.start()
        engines.warming.add(DIALOGUE)
        await stack.enter_async_context(supervising("dialogue warm-up", warm_up))
        yield engines


async def _open_model() -> ChatModelDialogue | None:
    url = os.environ.get("LOCAL_MODEL_URL", "").strip()
    if not url:
        return None  # its client takes a second to import, and is left out
    from backend.extensions.local.dialogue.chat_model import ChatModelDialogue, first_model

    key = os.environ.get("LOCAL_MODEL_KEY", "")
    return ChatModelDialogue(url, os.environ.get("LOCAL_MODEL", "") or await first_model(url, key), key)

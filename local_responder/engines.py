"""Opens what all calls share: recognition, dialogue and synthesis, each loading in the background."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from backend.runtime.supervisor import supervising
from local_responder.dialogue.base import Dialogue
from local_responder.dialogue.chat_model import ChatModelDialogue, model_from_environment
from local_responder.dialogue.rules import RulesDialogue
from local_responder.recognition.base import Recognizer
from local_responder.recognition.choose import open_recognizer
from local_responder.speech_pool import SpeechPool
from local_responder.synthesis.base import Synthesizer
from local_responder.synthesis.pooled import ENGINE, PooledSynthesizer, chosen_voice

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Engines:
    """What all connections share."""

    recognizer: Recognizer
    dialogue: Dialogue
    synthesizer: Synthesizer
    model: ChatModelDialogue | None = None
    """The dialogue, where it is a model's: Thinkers' chat completions are passed on to it."""
    pools: tuple[SpeechPool, ...] = ()

    @property
    def loading(self) -> list[str]:
        """What is not ready yet; a call that needs it waits."""
        return [pool.name for pool in self.pools if not pool.ready]


@asynccontextmanager
async def open_engines(*, at_once: bool = True) -> AsyncIterator[Engines]:
    """Choose the engines by what is installed and set. Raises `SetupError`.

    They load in the background: `at_once`, or each when it is first used.
    """
    async with AsyncExitStack() as stack:
        recognizer, recognition = open_recognizer()
        synthesizer, synthesis = _open_synthesizer()
        for pool in (recognition, synthesis):
            stack.push_async_callback(pool.close)
        model = model_from_environment()
        if model:
            stack.push_async_callback(model.close)
        dialogue = model or RulesDialogue()
        engines = Engines(recognizer, dialogue, synthesizer, model, (recognition, synthesis))
        if at_once:
            recognition.start()
            synthesis.start()
            await stack.enter_async_context(supervising("dialogue warm-up", dialogue.warm_up))
        yield engines


def _open_synthesizer() -> tuple[PooledSynthesizer, SpeechPool]:
    name = chosen_voice()
    pool = SpeechPool("speech synthesis", ENGINE)
    return PooledSynthesizer(name, pool), pool

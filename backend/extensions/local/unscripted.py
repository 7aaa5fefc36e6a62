"""What the scripted peer does while it has no script: the local Responder answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.responses import Response

from backend.extensions.local.app import answered
from backend.extensions.local.engines import Engines, open_engines
from backend.extensions.local.synthesis.voice import speak
from backend.extensions.local.voice_session import VoiceSession
from backend.responders.serving.completions import complete
from backend.responders.serving.service import MODEL
from backend.testing.offline.unscripted import Unscripted


@asynccontextmanager
async def open_unscripted(*, at_once: bool) -> AsyncIterator[Unscripted]:
    """Open the engines: `at_once`, or each when it is first used."""
    async with open_engines(at_once=at_once) as engines:
        yield Answering(engines)


class Answering(Unscripted):
    """Answers with the engines."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    def new_handler(self) -> VoiceSession:
        return VoiceSession(self._engines)

    async def load(self) -> None:
        await self._engines.loaded()

    async def complete(self, body: bytes) -> Response:
        return await complete(body, MODEL, answered)

    def speak(self, words: str) -> bytes:
        return speak(words)

"""Synthesis in the speech processes that all calls share."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from backend.extensions.local.speech_pool import SpeechPool
from backend.extensions.local.synthesis.jobs import Piece, decode_piece, encode

ENGINE = "backend.extensions.local.synthesis.jobs"
"""The module that a process of the pool loads."""


class PooledSynthesizer:
    """A voice with its engine in the processes of `pool`."""

    def __init__(self, name: str, pool: SpeechPool) -> None:
        self.name = name
        self._pool = pool

    async def speak(self, sentence: str, speed: float = 1.0) -> AsyncGenerator[Piece]:
        """Speak one sentence; yield each piece as soon as it is made. A `speed` of 1.2 is 1.2 times as fast as usual.

        Text without anything to pronounce gives no piece. Raises `SpeechPoolFailed`.
        """
        if not sentence.strip():
            return
        async with aclosing(self._pool.run(encode((sentence, speed)))) as pieces:
            async for piece in pieces:
                yield decode_piece(piece)

"""The jobs and answers of a synthesis process: `speech_pool` carries both as bytes.

This module is also the process's engine: `load()` loads the voice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

Job = tuple[str, float]
"""A sentence, and the speed at which it is to be spoken."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The sound of a part of a sentence."""

    pcm: bytes
    """24 kHz mono PCM16."""
    pause_ms: int = 0
    """The milliseconds of silence between this piece and the next of the same reply."""


encode = msgspec.msgpack.Encoder().encode
_decode_job = msgspec.msgpack.Decoder(Job).decode
decode_piece = msgspec.msgpack.Decoder(Piece).decode


def load() -> Callable[[bytes], Iterator[bytes]]:
    """Load the voice and all parts that it would load on first use; return the engine."""
    # It is imported here, so that the process that serves calls never loads a model.
    from backend.extensions.local.synthesis.hibari import HibariVoice

    voice = HibariVoice()
    voice.warm_up()

    def speak(raw: bytes) -> Iterator[bytes]:
        return map(encode, voice.pieces(*_decode_job(raw)))

    return speak

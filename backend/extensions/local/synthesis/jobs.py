"""The jobs and answers of a synthesis process: `speech_pool` carries both as bytes.

This module is also the process's engine: `load()` loads the voice that the environment names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from backend.extensions.local.synthesis.base import Piece

Job = tuple[str, float]
"""A sentence, and how fast it is to be spoken."""

encode = msgspec.msgpack.Encoder().encode
_decode_job = msgspec.msgpack.Decoder(Job).decode
decode_piece = msgspec.msgpack.Decoder(Piece).decode


def load() -> Callable[[bytes], Iterator[bytes]]:
    """Load the voice, and say once what is loaded late. Raises `SetupError`."""
    # Here, so that the process that serves calls never loads a model.
    from backend.extensions.local.synthesis.hibari import HibariVoice
    from backend.extensions.local.synthesis.voice_files import chosen_file

    voice = HibariVoice(chosen_file())
    voice.warm_up()

    def speak(raw: bytes) -> Iterator[bytes]:
        return map(encode, voice.pieces(*_decode_job(raw)))

    return speak

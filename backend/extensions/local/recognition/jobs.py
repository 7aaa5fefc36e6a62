"""The jobs and answers of a recognition process: `speech_pool` carries both as bytes."""

import msgspec


class AudioJob(msgspec.Struct, array_like=True, frozen=True):
    """Audio to transcribe."""

    pcm: bytes
    """24 kHz mono PCM16."""
    draft: tuple[int, ...] = ()
    """The tokens of an earlier, shorter part of it; empty where the engine gave none."""
    expected: tuple[str, ...] | None = None
    """The usual phrases of a brief utterance; None: the words are for the page, and are computed quickly."""


class RecognizedWords(msgspec.Struct, array_like=True, frozen=True):
    """The recognised words."""

    text: str = ""
    """The text; '' without speech, or without credible words."""
    tokens: tuple[int, ...] = ()
    """The engine's own units, as a draft for audio that goes on."""
    log_probability: float = 0.0
    """The log-probability of the least certain unit; 0 if the engine does not report it."""
    others: tuple[tuple[str, float], ...] = ()
    """Other words that were nearly as likely, each with its difference of log-probabilities."""


encode = msgspec.msgpack.Encoder().encode
decode_hearing = msgspec.msgpack.Decoder(AudioJob).decode
decode_heard = msgspec.msgpack.Decoder(RecognizedWords).decode

"""Speech synthesis as the rest of the local Responder sees it: a sentence in, pieces of sound out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from backend.errors import PeerError


class SynthesisFailed(PeerError):
    """The voice could not speak: its process ended, or has too much to do."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a sentence with its sound. The pieces of a sentence, joined, are the whole sentence."""

    text: str
    """The written words spoken here, as they were given."""
    pcm: bytes
    """24 kHz mono PCM16; empty when nothing in the text can be pronounced."""
    word_starts_ms: tuple[int, ...] = ()
    """When each whitespace-separated word of `text` begins, in milliseconds from the start of the piece."""
    pause_ms: int = 0
    """How much silence belongs between this piece and the next of the same reply."""


class Synthesizer(Protocol):
    """A voice. Any number of sentences may be spoken at the same time."""

    @property
    def name(self) -> str:
        """What the page shows, e.g. "Hibari heart"."""
        ...

    def speak(self, sentence: str, speed: float = 1.0) -> AsyncIterator[Piece]:
        """Speak one sentence, 1.2 times as fast as usual with a `speed` of 1.2. Close the iterator to stop early.

        Text without anything to pronounce gives a piece without sound, no text no piece. Raises `SynthesisFailed`.
        """
        ...

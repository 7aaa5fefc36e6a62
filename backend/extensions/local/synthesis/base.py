"""A voice makes pieces of sound of a sentence."""

from __future__ import annotations

from dataclasses import dataclass

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

"""Speech recognition as the rest of the local Responder sees it: audio in as it comes, words out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from backend.errors import PeerError


class RecognitionFailed(PeerError):
    """The recognizer did not answer, ended while it worked, or has too much to do."""

    hint = "Say it again; where it happens often, lower LOCAL_CALLS or give the machine more cores."


class Utterance(Protocol):
    """One utterance of one call: what is appended until the commit."""

    def feed(self, pcm: bytes) -> None:
        """Take 24 kHz mono PCM16 as it is appended; never blocks."""
        ...

    def expect(self, phrases: tuple[str, ...]) -> None:
        """Say what it most often is, if it is brief; nothing to begin with."""
        ...

    def partials(self) -> AsyncIterator[str]:
        """Yield the whole transcript as far as it is known, each time it changes, until the utterance is over."""
        ...

    async def finish(self) -> str:
        """Return the final transcript, after the commit; '' when nothing was said. Raises `RecognitionFailed`."""
        ...

    @property
    def log_probability(self) -> float:
        """How sure the recognizer is of the final transcript, of its least certain part; 0 where it does not say."""
        ...

    @property
    def others(self) -> Sequence[tuple[str, float]]:
        """Other transcripts that sound nearly as likely, with how much less: the difference of log-probabilities."""
        ...

    def cancel(self) -> None:
        """Give the utterance up. Safe to call twice, and after `finish`."""
        ...


class Recognizer(Protocol):
    """Transcribes any number of utterances at the same time."""

    @property
    def name(self) -> str:
        """What the page shows, e.g. "Moonshine base"."""
        ...

    def start(self) -> Utterance:
        """Begin an utterance."""
        ...

"""One stretch of the caller's speech while it lasts: how much was voiced, and when it will have taken over."""

from __future__ import annotations


class Utterance:
    """Counts voiced time only: a pause inside the hangover neither adds nor ends anything."""

    __slots__ = ("_running_since", "_voiced_ms")

    def __init__(self, now: float) -> None:
        self._voiced_ms = 0
        self._running_since: float | None = now

    def __repr__(self) -> str:
        return f"Utterance({self._voiced_ms} ms{', running' if self._running_since is not None else ', paused'})"

    def pause(self, voiced_ms: int) -> None:
        """The voice fell silent after `voiced_ms` of speech in all."""
        self._voiced_ms = voiced_ms
        self._running_since = None

    def resume(self, voiced_ms: int, now: float) -> None:
        """It goes on."""
        self._voiced_ms = voiced_ms
        self._running_since = now

    def reaches(self, needed_ms: int) -> float | None:
        """The moment it will have lasted `needed_ms`, if it keeps on; None while it is paused."""
        if self._running_since is None:
            return None
        return self._running_since + max(0, needed_ms - self._voiced_ms) / 1000

"""The decision when a program's call is over: its question was answered, and nothing is left to wait for."""

from typing import Any

AT_WORK = frozenset({"routed", "working"})
NEWS = frozenset({"thinker", "transcript", "transcript_delta", "transcript_done", "transcript_interrupted", "error"})


class Progress:
    """Decides when a call made by a program is over. Pure: time is an argument, in seconds of any steady clock.

    A call is over when its question was asked, sound was heard since, no Thinker works, and there was neither voice nor
    news for a while.
    """

    def __init__(self, quiet_after_s: float) -> None:
        self.quiet_after_s = quiet_after_s
        """Seconds without a voice and without news after which the call is over."""
        self._asked_at: float | None = None
        self._heard_at: float | None = None
        self._news_at = 0.0
        self._thinkers: set[str] = set()
        self.ended: str | None = None

    @property
    def answered(self) -> bool:
        """True if sound was heard after the question."""
        return self._heard_at is not None

    def asked(self, now: float) -> None:
        """Note that a question has been asked: earlier sound is no answer to it."""
        self._asked_at = now
        self._heard_at = None

    def heard(self, at: float) -> None:
        """Note that a voice was last heard at `at`."""
        if self._asked_at is not None and at >= self._asked_at:
            self._heard_at = at

    def on_event(self, type_: str, data: dict[str, Any], now: float) -> None:
        """Note an event of the page."""
        if type_ in NEWS:
            self._news_at = now
        if type_ == "thinker":
            (self._thinkers.add if data["event"] in AT_WORK else self._thinkers.discard)(data["call_id"])
        if type_ == "session_ended":
            self.ended = str(data.get("reason", ""))

    def over(self, now: float) -> bool:
        """Return whether nothing is left to wait for."""
        if self.ended is not None:
            return True
        if self._heard_at is None or self._thinkers:
            return False
        return now - max(self._heard_at, self._news_at) >= self.quiet_after_s

"""A circuit breaker: after a failure, calls fail at once for a while instead of waiting out their timeout each.

Closed (calls pass) → a failure → open for `rest_s` → one call passes as a probe while the others still fail
→ it succeeds (closed) or fails (open again). Time is an argument.
"""

from __future__ import annotations


class Breaker:
    """`lets_through(now)` before a call, `succeeded()` or `failed(now)` after it."""

    def __init__(self, rest_s: float) -> None:
        self._rest_s = rest_s
        self._opens_at: float | None = None

    def __repr__(self) -> str:
        return "Breaker(closed)" if self._opens_at is None else f"Breaker(open, next probe at {self._opens_at:.1f})"

    def lets_through(self, now: float) -> bool:
        """Whether a call may be tried; when it is the probe, the next one has to wait its turn."""
        if self._opens_at is None:
            return True
        if now < self._opens_at:
            return False
        self._opens_at = now + self._rest_s
        return True

    def failed(self, now: float) -> None:
        """The peer did not answer."""
        self._opens_at = now + self._rest_s

    def succeeded(self) -> None:
        """The peer answered, be it with an error."""
        self._opens_at = None

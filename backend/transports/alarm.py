"""One timer that is moved often: packets come 50 times a second, and the deadline moves with each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Alarm:
    """Rings once at the earliest moment asked for. Ringing too early is harmless: who is called looks at the time."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._timer: asyncio.Handle | None = None
        self._when = 0.0

    def __repr__(self) -> str:
        return f"Alarm({'off' if self._timer is None else f'at {self._when:.3f}'})"

    def set(self, when: float) -> None:
        """Ring at `when` (loop time), unless it rings before anyway."""
        if self._timer is not None and self._when <= when:
            return
        self.stop()
        self._when = when  # kept here: for a moment that has passed, uvloop's handle does not know it
        self._timer = asyncio.get_running_loop().call_at(when, self._rung)

    def stop(self) -> None:
        """Do not ring."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rung(self) -> None:
        self._timer = None
        self._ring()

"""One timer that is moved often: packets come 50 times a second, and the deadline moves with each.

A timer of the loop is set only when the moment asked for is earlier than the one it is set to: a later one is found out
about when it rings.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable


class Alarm:
    """Rings once at the earliest moment asked for. Ringing too early is harmless: who is called looks at the time.

    It rings in the context it was made in, whoever set it: what then happens belongs to the alarm's owner.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._context = contextvars.copy_context()
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
        self._timer = asyncio.get_running_loop().call_at(when, self._rung, context=self._context)

    def stop(self) -> None:
        """Do not ring."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rung(self) -> None:
        self._timer = None
        self._ring()

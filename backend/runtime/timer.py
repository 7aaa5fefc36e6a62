"""An alarm that is set again often: packets arrive 50 times a second, and each moves the deadline.

The event loop's timer is replaced only if the new moment is earlier than the present one; if it fires too early, the
owner sets the alarm again.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable


class Alarm:
    """Calls `on_alarm` once, at the earliest moment to which it was set. The owner checks the time itself.

    The callback runs in the context in which the alarm was made, so that its work is traced as the owner's.
    """

    def __init__(self, on_alarm: Callable[[], None]) -> None:
        self._on_alarm = on_alarm
        self._context = contextvars.copy_context()
        self._timer: asyncio.Handle | None = None
        self._when = 0.0

    def set(self, when: float) -> None:
        """Call back at `when` (loop time), unless an earlier moment is set already."""
        if self._timer is not None and self._when <= when:
            return
        self.stop()
        self._when = when  # kept here: for a moment that has passed, uvloop's handle does not know it
        self._timer = asyncio.get_running_loop().call_at(when, self._fire, context=self._context)

    def stop(self) -> None:
        """Switch the alarm off until it is set again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        self._on_alarm()

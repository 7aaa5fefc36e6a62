"""The clock of outgoing audio: slots of 20 ms, counted from an epoch, so that lateness never adds up.

Each slot is due at `epoch + slot * 20 ms` on the event loop's clock. A slot served a little late leaves the next
one where it was. After a real stall the missed slots are skipped, not sent in a burst: the caller's jitter buffer
has run dry by then, and a burst would only make it keep the stall as delay. Slot numbers go on counting through a
skip, so timestamps made from them stay truthful.
"""

from __future__ import annotations

import asyncio

from backend.media.frame import FRAME_MS

FRAME_S = FRAME_MS / 1000
"""Seconds in a slot."""
CATCH_UP_S = 0.04
"""Lateness up to which slots are still served, back to back; any jitter buffer covers two frames."""


class Pacer:
    """Hands out slots. One user, one loop."""

    def __init__(self) -> None:
        self._epoch = 0.0
        self._slot = -1
        self._last = 0.0
        self.skipped = 0
        self.worst_gap_ms = 0.0

    def __repr__(self) -> str:
        return f"Pacer(slot {self._slot}, skipped {self.skipped}, worst gap {self.worst_gap_ms:.0f} ms)"

    @property
    def slots(self) -> int:
        """Slots served so far."""
        return self._slot + 1 - self.skipped

    async def next_slot(self) -> int:
        """Wait for the next slot to be due; return its number, from 0."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._slot < 0:
            self._epoch = self._last = now
        wanted = self._slot + 1
        slot = slot_after(self._slot, now - self._epoch)
        if (wait := self._epoch + slot * FRAME_S - now) > 0:
            await asyncio.sleep(wait)
        self.skipped += slot - wanted
        self._slot = slot
        self._measure(loop.time())
        return slot

    def _measure(self, now: float) -> None:
        self.worst_gap_ms = max(self.worst_gap_ms, (now - self._last) * 1000)
        self._last = now


def slot_after(slot: int, elapsed_s: float) -> int:
    """The slot to serve after `slot`, `elapsed_s` from the epoch: the next, or the one due now after a stall."""
    wanted = slot + 1
    if elapsed_s - wanted * FRAME_S > CATCH_UP_S:
        return int(elapsed_s / FRAME_S)
    return wanted

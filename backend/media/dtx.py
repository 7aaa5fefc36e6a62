"""Silence where the caller's audio is missing: muted, discontinuous (DTX), or stalled. Pure: time is an argument.

Endpointing counts frames, so a microphone that simply stops sending would keep a turn open for ever. Once nothing
has come for 100 ms the gap is filled: first what is missing up to now, then a frame every 20 ms.

Where a sender said that it would pause (`pause`), there is nothing to wait for, and the end of what was said must not
come later for it than by packets: who asks every 20 ms is given each frame at the last visit before its time. When the
sender goes on, a frame of silence too much may have been put; that is 20 ms more of nothing.

From then on a gap that it did not tell of is no pause: its network, or the machine it runs on, holds it up. Half a
second of that does not end what somebody is saying.
"""

from __future__ import annotations

from backend.media.frame import FRAME_MS, SILENCE, Frame

FRAME_S = FRAME_MS / 1000
QUIET_AFTER_S = 0.1
"""Seconds without audio before silence is put in its place; longer than the jitter worth waiting for."""
STALLED_AFTER_S = 0.5
"""The same for a sender that tells of its pauses; longer than the 420 ms after which it does so again."""
MOST_AT_ONCE = 50
"""Frames of silence made at once after a stall of our own."""
ROUNDING = 1e-6
"""Of a frame: a moment computed as a sum of 20 ms steps may fall just short of a whole number of them."""


class DtxSilence:
    """Keeps the moment up to which audio has been delivered. `ahead_s`: how far a sender may run ahead of time."""

    def __init__(self, now: float, *, ahead_s: float) -> None:
        self._covered = now
        self._early = 0  # frames before their time
        self._wait_s = QUIET_AFTER_S
        self.due = now + QUIET_AFTER_S
        """When `expire` next has something to give."""
        self._ahead_s = ahead_s

    @property
    def stalled(self) -> bool:
        """Whether what is missing now has been held up: the sender tells of its pauses, and is not in one."""
        return self._wait_s == STALLED_AFTER_S and not self._early

    def heard(self, frames: int, now: float) -> None:
        """`frames` frames of real audio were delivered."""
        covered = self._covered + frames * FRAME_S
        if covered < now:
            covered = now
        elif covered > now + self._ahead_s:
            covered = now + self._ahead_s
        self._covered = covered
        self._early = 0
        self.due = self._covered + self._wait_s

    def pause(self) -> None:
        """The sender sends nothing more until there is something to hear."""
        self._early = 1
        self._wait_s = STALLED_AFTER_S
        self.due = self._covered

    def expire(self, now: float) -> list[Frame]:
        """The silence that is due at `now`."""
        if now < self.due:
            return []
        missing = max(1, int((now - self._covered) / FRAME_S + ROUNDING) + self._early)
        self._covered += missing * FRAME_S
        self.due = self._covered + (1 - self._early) * FRAME_S
        return [SILENCE] * min(missing, MOST_AT_ONCE)

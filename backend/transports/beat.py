"""One clock for the outgoing audio of all calls: a few timers serve everybody, however many there are.

Theory. Every call plays a frame each 20 ms, and waking for each frame of each call costs as much as sending it. So the
20 ms are divided into `PHASES`, and each call gets a place in one of them; a phase's timer serves all its calls in a
row. Few calls share one phase, so that there are few wake-ups; but a hundred served in one row would keep arriving
packets waiting for milliseconds, so that a phase with `FILL` calls is left alone until all have as many.

Slots of a phase are counted from an epoch, so that lateness never adds up; what is done after a stall, `pacer` says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from weakref import WeakKeyDictionary

from backend.transports.pacer import FRAME_S, slot_after

log = logging.getLogger(__name__)

PHASES = 5
PHASE_S = FRAME_S / PHASES
FILL = 8
"""Calls served in a row without a thought: about a millisecond when all of them speak."""

Play = Callable[[int], None]
"""Called on the event loop when a slot is due, with its number, from 0."""


class Place:
    """One call's. `leave` it at the end."""

    def __init__(self, phase: _Phase, play: Play, now: float) -> None:
        self.skipped = 0
        self.worst_gap_ms = 0.0
        self.play = play
        self._phase = phase
        self._first: int | None = None
        self._slot = -1
        self._last = now

    def __repr__(self) -> str:
        return f"Place(slot {self._slot}, skipped {self.skipped}, worst gap {self.worst_gap_ms:.0f} ms)"

    def leave(self) -> None:
        """No more slots. Safe to call twice, and from within `play`."""
        self._phase.leave(self)

    def serve(self, slot: int, now: float) -> None:
        """The phase's `slot` is due."""
        if self._first is None:
            self._first, self._last = slot, now
        own = slot - self._first
        self.skipped += own - self._slot - 1
        self._slot = own
        gap_ms = (now - self._last) * 1000
        if gap_ms > self.worst_gap_ms:
            self.worst_gap_ms = gap_ms
        self._last = now
        try:
            self.play(own)
        except Exception:
            log.exception("a call's audio failed")
            self.leave()


class Beat:
    """All places of one event loop; see `current_beat`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        epoch = loop.time()
        self._phases = [_Phase(loop, epoch + number * PHASE_S) for number in range(PHASES)]

    def __repr__(self) -> str:
        return f"Beat({[len(phase.places) for phase in self._phases]} places)"

    def join(self, play: Play) -> Place:
        """A place; its slot 0 is due within 20 ms."""
        roomy = (phase for phase in self._phases if len(phase.places) < FILL)
        phase = next(roomy, None) or min(self._phases, key=lambda phase: len(phase.places))
        return phase.join(play)


class _Phase:
    """Those who are served together."""

    def __init__(self, loop: asyncio.AbstractEventLoop, epoch: float) -> None:
        self.places: dict[Place, None] = {}  # in the order they came
        self._loop = loop
        self._epoch = epoch
        self._slot = -1
        self._timer: asyncio.TimerHandle | None = None

    def join(self, play: Play) -> Place:
        now = self._loop.time()
        place = Place(self, play, now)
        self.places[place] = None
        if self._timer is None:
            self._slot = int((now - self._epoch) / FRAME_S)  # nobody was here: nothing was missed
            self._wait()
        return place

    def leave(self, place: Place) -> None:
        self.places.pop(place, None)
        if not self.places and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        self._timer = self._loop.call_at(self._epoch + (self._slot + 1) * FRAME_S, self._due)

    def _due(self) -> None:
        self._timer = None
        now = self._loop.time()
        self._slot = slot_after(self._slot, now - self._epoch)
        for place in list(self.places):
            place.serve(self._slot, now)
        if self.places and self._timer is None:  # else somebody has left and joined meanwhile
            self._wait()


_beats: WeakKeyDictionary[asyncio.AbstractEventLoop, Beat] = WeakKeyDictionary()


def current_beat() -> Beat:
    """The running event loop's."""
    loop = asyncio.get_running_loop()
    beat = _beats.get(loop)
    if beat is None:
        beat = _beats[loop] = Beat(loop)
    return beat

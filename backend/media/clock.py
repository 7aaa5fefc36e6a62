"""One clock for the audio of all calls, out and in: one timer serves everybody, however many there are.

Theory. Every call plays a frame each 20 ms and is sent one, and waking for each costs more than handling it: after a
millisecond of sleep the core has forgotten our code and data, and a packet takes four times as long as right behind
another (`python -m benchmarks.wakeups`). So the 20 ms are divided into `PHASES`, one `TICK_S` apart. Each call has a
place in one of them; when a phase is due, all its calls play in a row, and then what has come in meanwhile is
read, from all calls. Calls fill one phase before the next is begun, so that few calls mean few wake-ups, until all are
filled and a hundred calls are spread evenly. Sockets are read at least every `READ_S`, calls or not.

A phase counts its slots from an epoch, so that lateness never adds up; what is done after a stall, `pacer` says. Who
wakes late finds several phases due, plays for all of them, and reads once: the busier the core, the fewer the wake-ups.

Playing goes before reading. While more comes in than can be read, reading to the end would never come back, and
nobody would be played for: so it stops `LATE_S` after the next phase was due, and what is left waits in the kernel. A
voice heard a moment later is a moment's latency; a slot not played is a hole in somebody's sentence. But who stays
behind for `BEHIND_S` reads it all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import Context
from math import inf
from weakref import WeakKeyDictionary

from backend.media.pacer import FRAME_S, slot_after

log = logging.getLogger(__name__)

PHASES = 4
TICK_S = FRAME_S / PHASES
READ_S = 2 * TICK_S
"""Seconds after which sockets are read again: a packet waits for half of them on average."""
LATE_S = 0.015
"""Seconds by which reading may keep the next phase waiting: receivers hold back more than that."""
BEHIND_S = 0.05
"""Seconds for which something may be left; then all is read, whoever waits: nobody must be heard ever later. The longer
it is put off, the more there is to read: with 250 ms as many slots are missed, and answers come later."""
EARLY_S = 0.001
"""Event loops set timers to the millisecond: one may come so much too soon."""
FILL = 8
"""Calls served in a row without a thought: about a millisecond when all of them speak."""
FILL_ORDER = (0, 2, 1, 3)
"""The second phase lies in the middle, where sockets are read anyway."""

Play = Callable[[int], None]
"""Called on the event loop when a slot is due, with its number, from 0."""
Read = Callable[[float], float | None]
"""Called on the event loop when sockets are to be read, with the moment, on its clock, from which the rest must wait
for the next time. Returns up to when everything has been read, None when something is left. Must not fail."""


class Slot:
    """One call's. `leave` it at the end."""

    def __init__(self, phase: _Phase, play: Play, leave: Callable[[Slot], None], now: float) -> None:
        self.skipped = 0
        self.worst_gap_ms = 0.0
        self.play = play
        self.phase = phase
        self._leave = leave
        self._first: int | None = None
        self._slot = -1
        self._last = now

    def __repr__(self) -> str:
        return f"Slot(slot {self._slot}, skipped {self.skipped}, worst gap {self.worst_gap_ms:.0f} ms)"

    def leave(self) -> None:
        """No more slots. Safe to call twice, and from within `play`."""
        self._leave(self)

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


class _Phase:
    """Those who play together."""

    def __init__(self, epoch: float) -> None:
        self.places: dict[Slot, None] = {}  # in the order they came
        self._epoch = epoch
        self._slot = -1
        self.due = epoch
        """When the next slot is, on the event loop's clock."""

    def begin(self, now: float) -> None:
        """Somebody comes after nobody was here: nothing was missed."""
        self._go_to(int((now - self._epoch) // FRAME_S))

    def serve(self, now: float) -> None:
        """The next slot, or the one that is due now after a stall."""
        self._go_to(slot_after(self._slot, now - self._epoch))
        for place in list(self.places):
            place.serve(self._slot, now)

    def _go_to(self, slot: int) -> None:
        self._slot = slot
        self.due = self._epoch + (slot + 1) * FRAME_S


class MediaClock:
    """All places of one event loop; see `current_media_clock`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._epoch = loop.time()
        self._phases = tuple(_Phase(self._epoch + number * TICK_S) for number in range(PHASES))
        self._readers: dict[Read, None] = {}
        self.read_all_at = self._epoch
        """What came before this moment has been heard."""
        self._timer: asyncio.TimerHandle | None = None
        self._nobodys = Context()  # else what is done for all calls would be traced as the work of whoever came first

    def __repr__(self) -> str:
        return f"MediaClock({[len(phase.places) for phase in self._phases]} places, {len(self._readers)} readers)"

    def join(self, play: Play) -> Slot:
        """A place; its slot 0 is due within 20 ms."""
        inviting = [self._phases[number] for number in FILL_ORDER]
        roomy = (phase for phase in inviting if len(phase.places) < FILL)
        phase = next(roomy, None) or min(inviting, key=lambda phase: len(phase.places))
        now = self._loop.time()
        if not phase.places:
            phase.begin(now)
        place = Slot(phase, play, self.leave, now)
        phase.places[place] = None
        self._arm(now)
        return place

    def leave(self, place: Slot) -> None:
        """See `Slot.leave`."""
        place.phase.places.pop(place, None)
        self._rest_if_alone()

    def begin_reading(self, read: Read) -> None:
        """Call `read` whenever somebody has played, and every `READ_S` at least."""
        self._readers[read] = None
        self._arm(self._loop.time())

    def end_reading(self, read: Read) -> None:
        """Call it no more. Safe to call twice."""
        self._readers.pop(read, None)
        self._rest_if_alone()

    def _arm(self, now: float) -> None:
        """Wake when the next phase is due, or reading is."""
        if self._timer is not None:
            self._timer.cancel()
        since = now + EARLY_S - self._epoch
        moment = self._epoch + (int(since / READ_S) + 1) * READ_S if self._readers else inf
        self._timer = self._loop.call_at(min(moment, self._next_slot()), self._due, context=self._nobodys)

    def _due(self) -> None:
        now = self._loop.time()
        for phase in self._phases:
            if phase.places and phase.due <= now + EARLY_S:
                phase.serve(now)
        self._read(now)
        if self._timer is not None:  # else all have left meanwhile
            self._arm(now)

    def _read(self, now: float) -> None:
        behind = now - self.read_all_at > BEHIND_S
        until = inf if behind else min(self._next_slot() + LATE_S, now + FRAME_S)
        up_to = [read(until) for read in list(self._readers)]
        if None not in up_to:
            self.read_all_at = min((each for each in up_to if each is not None), default=now)

    def _next_slot(self) -> float:
        """When somebody must be played for next; infinity when nobody must."""
        moment = inf
        for phase in self._phases:
            if phase.places and phase.due < moment:
                moment = phase.due
        return moment

    def _rest_if_alone(self) -> None:
        if self._timer is not None and not self._readers and not any(phase.places for phase in self._phases):
            self._timer.cancel()
            self._timer = None


_beats: WeakKeyDictionary[asyncio.AbstractEventLoop, MediaClock] = WeakKeyDictionary()


def current_media_clock() -> MediaClock:
    """The running event loop's."""
    loop = asyncio.get_running_loop()
    beat = _beats.get(loop)
    if beat is None:
        beat = _beats[loop] = MediaClock(loop)
    return beat

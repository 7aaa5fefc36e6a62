"""One clock for the audio of all calls, out and in: one timer serves everybody, however many there are.

Theory. Every call plays a frame each 20 ms and is sent one, and waking for each costs more than handling it: after a
millisecond of sleep the core has forgotten our code and data, and a packet takes four times as long as right behind
another (`python -m benchmarks.wakeups`). So the 20 ms are divided into `PHASES`, one `TICK_S` apart. Each call has a
place in one of them; when a phase's tick comes, all its calls play in a row, and then what has come in meanwhile is
read, from all calls. Calls fill one phase before the next is begun, so that few calls mean few wake-ups, until all are
filled and a hundred calls are spread evenly. Sockets are read at least every `READ_TICKS`, calls or not.

Ticks are counted from an epoch, so that lateness never adds up; what is done after a stall, `pacer` says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from weakref import WeakKeyDictionary

from backend.transports.pacer import CATCH_UP_S, FRAME_S

log = logging.getLogger(__name__)

PHASES = 4
TICK_S = FRAME_S / PHASES
READ_TICKS = 2
"""Ticks after which sockets are read again: 10 ms, so that a packet waits 5 ms on average."""
FILL = 8
"""Calls served in a row without a thought: about a millisecond when all of them speak."""
FILL_ORDER = (0, 2, 1, 3)
"""The second phase lies in the middle, where sockets are read anyway."""

Play = Callable[[int], None]
"""Called on the event loop when a slot is due, with its number, from 0."""
Read = Callable[[], None]
"""Called on the event loop when sockets are to be read; must not fail."""


class Place:
    """One call's. `leave` it at the end."""

    def __init__(self, beat: Beat, phase: int, play: Play, now: float) -> None:
        self.skipped = 0
        self.worst_gap_ms = 0.0
        self.play = play
        self.phase = phase
        self._beat = beat
        self._first: int | None = None
        self._slot = -1
        self._last = now

    def __repr__(self) -> str:
        return f"Place(slot {self._slot}, skipped {self.skipped}, worst gap {self.worst_gap_ms:.0f} ms)"

    def leave(self) -> None:
        """No more slots. Safe to call twice, and from within `play`."""
        self._beat.leave(self)

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
        self._loop = loop
        self._epoch = loop.time()
        self._phases: tuple[dict[Place, None], ...] = tuple({} for _ in range(PHASES))  # in the order they came
        self._readers: dict[Read, None] = {}
        self._tick = -1  # the last one served
        self._next = 0
        self._timer: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"Beat({[len(places) for places in self._phases]} places, {len(self._readers)} readers)"

    def join(self, play: Play) -> Place:
        """A place; its slot 0 is due within 20 ms."""
        roomy = (phase for phase in FILL_ORDER if len(self._phases[phase]) < FILL)
        fewest = min(FILL_ORDER, key=lambda phase: len(self._phases[phase]))
        place = Place(self, next(roomy, fewest), play, self._loop.time())
        self._phases[place.phase][place] = None
        self._arm()
        return place

    def leave(self, place: Place) -> None:
        """See `Place.leave`."""
        self._phases[place.phase].pop(place, None)
        self._rest_if_alone()

    def begin_reading(self, read: Read) -> None:
        """Call `read` at every tick, and every `READ_TICKS` at least."""
        self._readers[read] = None
        self._arm()

    def end_reading(self, read: Read) -> None:
        """Call it no more. Safe to call twice."""
        self._readers.pop(read, None)
        self._rest_if_alone()

    def _arm(self) -> None:
        """Wake at the next tick that somebody needs."""
        if self._timer is None:
            self._tick = max(self._tick, int((self._loop.time() - self._epoch) / TICK_S))  # nobody missed anything
        else:
            self._timer.cancel()
        self._next = self._tick + 1
        while not self._needs(self._next):
            self._next += 1
        self._timer = self._loop.call_at(self._epoch + self._next * TICK_S, self._due)

    def _needs(self, tick: int) -> bool:
        return bool(self._phases[tick % PHASES]) or (tick % READ_TICKS == 0 and bool(self._readers))

    def _due(self) -> None:
        now = self._loop.time()
        late = now - (self._epoch + self._next * TICK_S) > CATCH_UP_S
        self._tick = int((now - self._epoch) / TICK_S) if late else self._next
        slot, phase = divmod(self._tick, PHASES)
        for place in list(self._phases[phase]):
            place.serve(slot, now)
        for read in list(self._readers):
            read()
        if self._timer is not None:  # else all have left meanwhile
            self._arm()

    def _rest_if_alone(self) -> None:
        if self._timer is not None and not self._readers and not any(self._phases):
            self._timer.cancel()
            self._timer = None


_beats: WeakKeyDictionary[asyncio.AbstractEventLoop, Beat] = WeakKeyDictionary()


def current_beat() -> Beat:
    """The running event loop's."""
    loop = asyncio.get_running_loop()
    beat = _beats.get(loop)
    if beat is None:
        beat = _beats[loop] = Beat(loop)
    return beat

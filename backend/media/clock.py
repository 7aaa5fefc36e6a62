"""The media clock: one timer plays to all calls of an event loop and reads from them, however many there are.

Theory. Every call plays and receives a frame each 20 ms, and a wake-up for each costs more than the work. After a
millisecond of sleep the core has lost our code and data from its cache. Then a packet takes four times as long as right
behind another (`python -m benchmarks.wakeups`). So the 20 ms are divided into `PHASES`, one `TICK_S` apart. Each call
has a `MediaSlot` in one of them. When a phase is due, all its calls play in a row, and then everything that has arrived
is read, for all calls. Calls fill one phase before the next is begun, so that few calls need few wake-ups; when all are
filled, the calls are spread evenly. Sockets are read at least every `READ_S`, calls or not.

A phase numbers its slots from an epoch, so that lateness never adds up: slot n is due at `epoch + n * 20 ms`, and one
that is served a little late does not move the next. After a real stall the missed slots are skipped, not played in a
burst: the caller's jitter buffer has run dry by then, and a burst would only make it keep the stall as delay. Numbers
count on through a skip, so that timestamps made from them stay true. When several phases are due at a late wake-up, all
of them play and sockets are read once: the busier the core, the fewer the wake-ups.

Playing goes before reading. While more arrives than can be read, reading to the end would never return, and no call
would play. So reading stops `LATE_S` after the next phase was due, and the rest waits in the kernel. A voice received a
moment later is a moment's latency; a slot that is not played is a hole in a sentence. But when data has been left for
`BEHIND_S`, all of it is read.

A transport that must wait for its network (WebSocket) awaits its slots one by one: see `SlotStream`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import Context
from math import inf
from weakref import WeakKeyDictionary

from backend.media.frame import FRAME_MS

log = logging.getLogger(__name__)

FRAME_S = FRAME_MS / 1000
CATCH_UP_S = 0.04
"""The most seconds by which a slot may be late and still be served; any jitter buffer covers two frames."""
PHASES = 4
TICK_S = FRAME_S / PHASES
READ_S = 2 * TICK_S
"""Seconds after which sockets are read again: a packet waits for half of them on average."""
LATE_S = 0.015
"""Seconds by which reading may keep the next phase waiting: receivers hold back more than that."""
BEHIND_S = 0.05
"""Seconds for which data may be left unread; then all is read. The longer it is put off, the more there is to read:
with 250 ms as many slots are missed, and answers come later."""
EARLY_S = 0.001
"""Seconds by which a timer may fire too soon, since event loops set timers to the millisecond."""
FILL = 8
"""Calls that fill a phase before the next is begun: about a millisecond of work when all of them speak."""
FILL_ORDER = (0, 2, 1, 3)
"""The order in which phases are filled: the second lies in the middle, where sockets are read anyway."""

OnSlot = Callable[[int], None]
"""Called on the event loop when a slot is due, with its number, from 0."""
OnFault = Callable[[Exception], None]
"""Called on the event loop, soon, with what `OnSlot` has raised, when the slot has been given up."""
Read = Callable[[float], float | None]
"""Called on the event loop to read sockets, with the moment, on the loop's clock, at which to stop. Returns the moment
up to which everything has been read; None if data is left."""


class MediaSlot:
    """One call's share of the clock, due every 20 ms; call `leave` at the end."""

    def __init__(self, phase: _Phase, on_slot: OnSlot, on_fault: OnFault | None, clock: MediaClock) -> None:
        self.on_slot = on_slot
        self.phase = phase
        self._on_fault = on_fault
        self._clock = clock
        self._first: int | None = None

    def leave(self) -> None:
        """Give the slot up. Safe to call twice, and from within `on_slot`."""
        self._clock.leave(self)

    def serve(self, number: int) -> None:
        """Serve the phase's slot `number`. A fault ends the slots of this call only."""
        if self._first is None:
            self._first = number
        try:
            self.on_slot(number - self._first)
        except Exception as error:
            log.exception("a call's audio failed")
            self.leave()
            if self._on_fault is not None:
                asyncio.get_running_loop().call_soon(self._on_fault, error)


class _Phase:
    """The slots that are due together."""

    def __init__(self, epoch: float) -> None:
        self.slots: dict[MediaSlot, None] = {}  # in the order they joined
        self._epoch = epoch
        self._number = -1
        self.due = epoch
        """The moment the next slot is due, on the event loop's clock."""

    def begin(self, now: float) -> None:
        """Begin again after a time without calls, in which no slot was missed."""
        self._go_to(int((now - self._epoch) // FRAME_S))

    def serve(self, now: float) -> None:
        """Serve the next slot, or the one that is due now after a stall."""
        self._go_to(slot_after(self._number, now - self._epoch))
        for slot in list(self.slots):
            slot.serve(self._number)

    def _go_to(self, number: int) -> None:
        self._number = number
        self.due = self._epoch + (number + 1) * FRAME_S


class MediaClock:
    """All slots and readers of one event loop; see `current_media_clock`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._epoch = loop.time()
        self._phases = tuple(_Phase(self._epoch + number * TICK_S) for number in range(PHASES))
        self._readers: dict[Read, None] = {}
        self.read_all_at = self._epoch
        """The moment up to which everything that arrived has been read."""
        self._timer: asyncio.TimerHandle | None = None
        self._context = Context()  # otherwise work for all calls would be traced as that of the first one

    def join(self, on_slot: OnSlot, on_fault: OnFault | None = None) -> MediaSlot:
        """Return a slot that is due for the first time, as number 0, within 20 ms."""
        inviting = [self._phases[number] for number in FILL_ORDER]
        roomy = (phase for phase in inviting if len(phase.slots) < FILL)
        phase = next(roomy, None) or min(inviting, key=lambda phase: len(phase.slots))
        now = self._loop.time()
        if not phase.slots:
            phase.begin(now)
        slot = MediaSlot(phase, on_slot, on_fault, self)
        phase.slots[slot] = None
        self._arm(now)
        return slot

    def leave(self, slot: MediaSlot) -> None:
        """Stop serving `slot`. Safe to call twice."""
        slot.phase.slots.pop(slot, None)
        self._rest_if_alone()

    def begin_reading(self, read: Read) -> None:
        """Call `read` whenever slots have been served, and at least every `READ_S`."""
        self._readers[read] = None
        self._arm(self._loop.time())

    def end_reading(self, read: Read) -> None:
        """Stop calling `read`. Safe to call twice."""
        self._readers.pop(read, None)
        self._rest_if_alone()

    def _arm(self, now: float) -> None:
        """Set the timer to the next phase or the next reading, whichever is due first."""
        if self._timer is not None:
            self._timer.cancel()
        since = now + EARLY_S - self._epoch
        moment = self._epoch + (int(since / READ_S) + 1) * READ_S if self._readers else inf
        self._timer = self._loop.call_at(min(moment, self._next_slot()), self._due, context=self._context)

    def _due(self) -> None:
        now = self._loop.time()
        try:
            for phase in self._phases:
                if phase.slots and phase.due <= now + EARLY_S:
                    phase.serve(now)
            self._read(now)
        finally:  # a fault costs one reading, not the clock
            if self._timer is not None:  # else all have left meanwhile
                self._arm(now)

    def _read(self, now: float) -> None:
        behind = now - self.read_all_at > BEHIND_S
        until = inf if behind else min(self._next_slot() + LATE_S, now + FRAME_S)
        up_to = [read(until) for read in list(self._readers)]
        if None not in up_to:
            self.read_all_at = min((each for each in up_to if each is not None), default=now)

    def _next_slot(self) -> float:
        """Return when the next phase with calls is due; infinity without calls."""
        moment = inf
        for phase in self._phases:
            if phase.slots and phase.due < moment:
                moment = phase.due
        return moment

    def _rest_if_alone(self) -> None:
        if self._timer is not None and not self._readers and not any(phase.slots for phase in self._phases):
            self._timer.cancel()  # no call is left, and no socket
            self._timer = None


class SlotStream:
    """The slots of a call that has to await its network to send; slots missed meanwhile are skipped, as in a stall.

    A stream serves one task on one event loop; call `leave` at the end.
    """

    def __init__(self, clock: MediaClock) -> None:
        self._latest = self._number = -1
        self._due = asyncio.Event()
        self._slot = clock.join(self._on_slot)

    async def next(self) -> int:
        """Wait until the next slot is due; return its number, from 0."""
        if self._number == self._latest:
            self._due.clear()
            await self._due.wait()
        self._number = slot_after(self._number, self._latest * FRAME_S)
        return self._number

    def leave(self) -> None:
        """Give the slots up. Safe to call twice."""
        self._slot.leave()

    def _on_slot(self, number: int) -> None:
        self._latest = number
        self._due.set()


def slot_after(slot: int, elapsed_s: float) -> int:
    """Return the slot to serve after `slot`, `elapsed_s` from the epoch: the next, or the one due after a stall."""
    wanted = slot + 1
    if elapsed_s - wanted * FRAME_S > CATCH_UP_S:
        return int(elapsed_s / FRAME_S)
    return wanted


_clocks: WeakKeyDictionary[asyncio.AbstractEventLoop, MediaClock] = WeakKeyDictionary()


def current_media_clock() -> MediaClock:
    """Return the running event loop's clock."""
    loop = asyncio.get_running_loop()
    clock = _clocks.get(loop)
    if clock is None:
        clock = _clocks[loop] = MediaClock(loop)
    return clock

"""One media clock serves many calls: each slot on time, and each fault in its own call."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import inf

import pytest

from backend.media.clock import (
    FILL,
    FRAME_S,
    LATE_S,
    PHASES,
    READ_S,
    TICK_S,
    MediaClock,
    MediaSlot,
    SlotStream,
    current_media_clock,
    slot_after,
)
from tests.support.waiting import until


class LateLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock that moves only on command."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.timers: list[tuple[float, Callable[[], object]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[..., object], *args: object, **_: object) -> asyncio.TimerHandle:
        self.timers.append((when, callback))
        return asyncio.TimerHandle(when, callback, args, self)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        self.timers = [timer for timer in self.timers if timer[0] != handle.when()]

    def pass_time(self, seconds: float) -> None:
        """Run every timer that falls due, in order, at its time."""
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer[0] <= end]:
            timer = min(due, key=lambda timer: timer[0])
            self.timers.remove(timer)
            self.now = max(self.now, timer[0])
            timer[1]()
        self.now = end

    def stall(self, seconds: float) -> None:
        """Let time pass without running anything."""
        self.now += seconds


@pytest.fixture
def loop() -> Iterator[LateLoop]:
    loop = LateLoop()
    yield loop
    loop.close()


@pytest.fixture
def clock(loop: LateLoop) -> MediaClock:
    return MediaClock(loop)


def joined(clock: MediaClock) -> tuple[MediaSlot, list[int]]:
    slots: list[int] = []
    return clock.join(slots.append), slots


def noting(loop: LateLoop, reads: list[float]) -> Callable[[float], float]:
    def read(until: float) -> float:
        reads.append(loop.now)
        return loop.now

    return read


@pytest.mark.document("001", "audio path")
def test_slots_come_every_20_ms_from_zero(loop: LateLoop) -> None:
    _, slots = joined(MediaClock(loop))
    loop.pass_time(1.0)
    assert slots == list(range(len(slots)))
    assert len(slots) in (50, 51)


def test_a_few_calls_share_one_phase(loop: LateLoop, clock: MediaClock) -> None:
    moments: set[float] = set()
    for _ in range(FILL):
        clock.join(lambda slot: moments.add(loop.now))
    loop.pass_time(0.5)
    assert len(moments) in (24, 25, 26)


def test_many_calls_are_spread_over_the_phases(loop: LateLoop, clock: MediaClock) -> None:
    calls = [joined(clock) for _ in range(2 * FILL * PHASES)]
    assert len(loop.timers) == 1
    loop.pass_time(0.5)
    assert all(len(slots) in (24, 25, 26) for _, slots in calls)


def test_a_call_that_left_is_not_served_and_an_empty_phase_sleeps(loop: LateLoop) -> None:
    slot, slots = joined(MediaClock(loop))
    loop.pass_time(0.1)
    slot.leave()
    slot.leave()
    before = len(slots)
    loop.pass_time(1.0)
    assert len(slots) == before
    assert loop.timers == []


def test_a_call_that_joins_an_empty_phase_late_has_missed_no_slot(loop: LateLoop, clock: MediaClock) -> None:
    loop.pass_time(7.013)
    _, slots = joined(clock)
    loop.pass_time(0.1)
    assert slots[:3] == [0, 1, 2]


def test_a_short_delay_is_caught_up(loop: LateLoop) -> None:
    _, slots = joined(MediaClock(loop))
    loop.pass_time(0.1)
    loop.stall(0.045)
    loop.pass_time(0.1)
    assert slots == list(range(len(slots)))


def skipped(slots: list[int]) -> int:
    return slots[-1] + 1 - len(slots)


def test_slots_are_skipped_after_a_stall_and_their_numbers_count_on(loop: LateLoop) -> None:
    _, slots = joined(MediaClock(loop))
    loop.pass_time(0.1)
    loop.stall(0.5)
    loop.pass_time(0.1)
    assert 20 <= skipped(slots) <= 25


def test_a_call_may_leave_during_its_slot(loop: LateLoop, clock: MediaClock) -> None:
    slot = clock.join(lambda _: slot.leave())
    loop.pass_time(0.5)
    assert loop.timers == []


@pytest.mark.parametrize(("calls", "times"), [(0, 100), (2 * FILL, 100), (FILL * PHASES, 200)])
def test_sockets_are_read_every_10_ms_and_with_many_calls_at_every_wake_up(
    calls: int, times: int, loop: LateLoop, clock: MediaClock
) -> None:
    reads: list[float] = []
    clock.begin_reading(noting(loop, reads))
    for _ in range(calls):
        clock.join(lambda slot: None)
    loop.pass_time(1.0)
    assert abs(len(reads) - times) <= 1


def test_the_clock_rests_when_no_reader_is_left(loop: LateLoop, clock: MediaClock) -> None:
    reads: list[float] = []
    read = noting(loop, reads)
    for change in (clock.begin_reading, clock.end_reading):
        change(read)
        change(read)
        loop.pass_time(0.1)
    assert loop.timers == [] and 9 <= len(reads) <= 11


def test_a_slot_taken_between_two_reads_is_served_in_time(loop: LateLoop, clock: MediaClock) -> None:
    clock.begin_reading(lambda until: loop.now)
    for _ in range(2 * FILL):
        clock.join(lambda slot: None)
    loop.pass_time(0.1001)
    joined_at, served = loop.now, []
    clock.join(lambda slot: served.append(loop.now))
    loop.pass_time(0.05)
    assert served[0] - joined_at <= 0.02


def test_a_late_clock_serves_every_phase_and_reads_once(loop: LateLoop, clock: MediaClock) -> None:
    reads: list[float] = []
    clock.begin_reading(noting(loop, reads))
    calls = [joined(clock) for _ in range(FILL * PHASES)]
    loop.pass_time(0.1)
    reads.clear()
    loop.stall(0.019)
    loop.pass_time(0.0)
    assert 1 <= len(reads) <= 2
    loop.pass_time(0.1)
    assert not any(skipped(slots) for _, slots in calls)


def test_reading_ends_when_a_slot_is_due(loop: LateLoop, clock: MediaClock) -> None:
    left: list[float] = []

    def read(until: float) -> float:
        left.append(until - loop.now)
        return loop.now

    clock.begin_reading(read)
    loop.pass_time(0.1)
    assert all(each == pytest.approx(FRAME_S) for each in left)
    calls = [joined(clock) for _ in range(FILL * PHASES)]
    left.clear()
    loop.pass_time(0.1)
    assert all(each <= TICK_S + LATE_S + 1e-6 for each in left)
    assert not any(skipped(slots) for _, slots in calls)


def test_endless_reading_delays_no_call(loop: LateLoop, clock: MediaClock) -> None:

    asked: list[float] = []

    def read(until: float) -> float | None:
        asked.append(until)
        loop.now = max(loop.now + 0.001, until) if until < inf else loop.now + 0.05  # there is always more to read
        return loop.now if until == inf else None

    served: list[float] = []
    for _ in range(FILL * PHASES):
        clock.join(lambda slot: served.append(loop.now))
    clock.begin_reading(read)
    loop.pass_time(0.05)
    assert all(later - sooner < 0.025 for sooner, later in pairwise(served))
    loop.pass_time(1.0)
    assert inf in asked  # a clock that is far behind reads everything
    behind = [
        asked.index(inf),
        *(later - earlier for earlier, later in pairwise(i for i, u in enumerate(asked) if u == inf)),
    ]
    assert all(3 <= number <= 8 for number in behind)


def test_the_clock_knows_up_to_when_everything_was_read(loop: LateLoop, clock: MediaClock) -> None:
    has_more = False

    def read(_until: float) -> float | None:
        return None if has_more else loop.now - 0.003

    clock.begin_reading(read)
    loop.pass_time(0.1)
    assert clock.read_all_at == pytest.approx(loop.now, abs=READ_S)
    has_more, before = True, clock.read_all_at
    loop.pass_time(0.1)
    assert clock.read_all_at == before


def test_no_phase_skips_more_slots_than_it_missed_in_a_stall(loop: LateLoop, clock: MediaClock) -> None:
    calls = [joined(clock) for _ in range(FILL * PHASES)]
    loop.pass_time(0.1)
    loop.stall(0.07)
    loop.pass_time(0.1)
    assert all(1 <= skipped(slots) <= 3 for _, slots in calls)


def test_a_slot_follows_the_one_before_it_unless_it_is_two_frames_late() -> None:
    assert [slot_after(slot, (slot + 1) * 0.02) for slot in (-1, 0, 7)] == [0, 1, 8]
    assert slot_after(9, 10 * 0.02 + 0.039) == 10
    assert slot_after(9, 10 * 0.02 + 0.5) == 35


@pytest.mark.alone
async def test_awaited_slots_take_20_ms_each() -> None:
    loop = asyncio.get_running_loop()
    stream, begun = SlotStream(current_media_clock()), loop.time()
    numbers = [await stream.next() for _ in range(26)]
    assert loop.time() - begun == pytest.approx(numbers[-1] * 0.02, abs=0.15)
    assert numbers[-1] >= 25
    stream.leave()
    assert current_media_clock() is current_media_clock()


async def test_a_sender_that_waits_for_its_network_skips_the_missed_slots() -> None:
    stream = SlotStream(current_media_clock())
    first = await stream.next()
    await asyncio.sleep(0.15)
    assert await stream.next() - first >= 5
    stream.leave()


async def test_the_fault_of_a_slot_is_reported_only_to_its_call() -> None:
    clock, faults, served = current_media_clock(), list[Exception](), list[int]()

    def fail(number: int) -> None:
        raise RuntimeError("no sound")

    clock.join(fail, faults.append)
    other = clock.join(served.append)
    await until(lambda: len(served) >= 3)
    other.leave()
    assert [str(fault) for fault in faults] == ["no sound"]


def test_the_failure_of_a_reader_loses_one_read_and_does_not_stop_the_clock(loop: LateLoop) -> None:
    clock, reads = MediaClock(loop), list[float]()

    def read(until: float) -> float:
        reads.append(loop.now)
        if len(reads) == 2:
            raise OSError("no such descriptor")
        return loop.now

    clock.begin_reading(read)
    _, slots = joined(clock)
    with pytest.raises(OSError):  # the event loop would log it
        loop.pass_time(0.1)
    loop.pass_time(0.2)
    assert len(reads) > 5 and len(slots) > 5

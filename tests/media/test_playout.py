"""The playout queue, in examples and random scripts."""

import random
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.media.frame import FRAME_BYTES
from backend.media.playout import DUCK_DB, Playout
from backend.turns.events import Heard, PlaybackDrained, PlaybackEvent, PlaybackStarted
from tests.support.examples import examples


def sound(milliseconds: float, value: int = 1) -> bytes:
    return value.to_bytes(2, "little") * round(milliseconds * 24)


Events = list[PlaybackEvent]


@pytest.fixture
def events() -> Events:
    """Return the events that `playout` has reported."""
    return []


@pytest.fixture
def playout(events: Events) -> Playout:
    return Playout(on_playback=events.append)


def test_a_queue_plays_its_frames_and_drains_once(playout: Playout, events: Events) -> None:
    assert playout.push("a", sound(20))
    assert playout.pull() == sound(20)
    assert playout.pull() is None
    assert events == [PlaybackStarted("a"), PlaybackDrained("a", 20)]


def test_a_frame_joins_the_end_of_one_item_and_the_start_of_the_next(playout: Playout, events: Events) -> None:
    playout.push("a", sound(30, 1))
    playout.push("b", sound(10, 2))
    playout.pull()
    assert playout.pull() == sound(10, 1) + sound(10, 2)
    assert events == [PlaybackStarted("a"), PlaybackStarted("b"), PlaybackDrained("b", 10)]


def test_a_short_piece_waits_one_tick_then_plays_padded(playout: Playout, events: Events) -> None:
    playout.push("a", sound(5))
    assert playout.pull() is None and events == []
    assert playout.pull() == sound(5).ljust(FRAME_BYTES, b"\0")
    assert events[-1] == PlaybackDrained("a", 5)


def test_a_late_piece_joins_without_padding(playout: Playout) -> None:
    playout.push("a", sound(12, 1))
    assert playout.pull() is None
    playout.push("a", sound(8, 2))
    assert playout.pull() == sound(12, 1) + sound(8, 2)


def test_hold_is_silent_immediately_and_resume_continues_at_the_same_sample(playout: Playout, events: Events) -> None:
    playout.push("a", sound(20, 1) + sound(20, 2))
    playout.pull()
    playout.hold()
    assert [playout.pull() for _ in range(5)] == [None] * 5
    playout.resume()
    assert playout.pull() == sound(20, 2)
    assert events == [PlaybackStarted("a"), PlaybackDrained("a", 40)]


def test_the_wait_for_more_audio_pauses_during_a_hold(playout: Playout) -> None:
    playout.push("a", sound(5))
    playout.hold()
    playout.pull()
    playout.resume()
    assert playout.pull() is None


def test_flush_returns_the_heard_part_of_each_unfinished_item_from_the_oldest(playout: Playout, events: Events) -> None:
    playout.push("a", sound(20))
    playout.push("b", sound(50))
    playout.push("c", sound(20))
    playout.pull()
    playout.pull()
    assert playout.flush() == (Heard("b", 20), Heard("c", 0))
    assert playout.pull() is None
    assert not any(isinstance(event, PlaybackDrained) for event in events)


def levels_db(frame: bytes | None, full: int = 10_000) -> list[float]:
    """Return the level of each millisecond of a frame of constant samples, in decibels under `full`."""
    assert frame is not None
    peaks = np.abs(np.frombuffer(frame, dtype="<i2").astype(float)).reshape(-1, 24).mean(axis=1)
    return [float(20 * np.log10(peak / full)) for peak in peaks]


def test_flush_ends_hold_and_duck(playout: Playout) -> None:
    playout.push("a", sound(60, 10_000))
    playout.duck()
    playout.pull()
    playout.hold()
    assert playout.flush() == (Heard("a", 20),)
    playout.push("b", sound(20, 10_000))
    assert playout.pull() == sound(20, 10_000)
    playout.duck()
    playout.push("c", sound(20, 10_000))
    assert levels_db(playout.pull()) == pytest.approx([-DUCK_DB] * 20, abs=0.1), "the level changed slowly in silence"


def test_duck_lowers_the_level_within_a_frame(playout: Playout) -> None:
    playout.push("a", sound(100, 10_000))
    assert playout.pull() == sound(20, 10_000)
    playout.duck()
    falling = levels_db(playout.pull())
    assert falling[0] > -1 and falling == sorted(falling, reverse=True)
    assert falling[-1] == pytest.approx(-DUCK_DB, abs=1)
    assert levels_db(playout.pull()) == pytest.approx([-DUCK_DB] * 20, abs=0.1)
    assert playout.queued_ms == 40


def test_unduck_restores_the_level_over_80_ms_and_then_changes_no_sample(playout: Playout) -> None:
    pcm = sound(200, 10_000)
    playout.push("a", pcm)
    playout.duck()
    playout.pull()
    playout.unduck()
    rising = [level for _ in range(4) for level in levels_db(playout.pull())]
    assert rising == sorted(rising) and rising[0] < -13 and rising[60] < -1
    assert playout.pull() == sound(20, 10_000)


def test_repeated_changes_of_level_cause_no_jump(playout: Playout) -> None:
    playout.push("a", sound(2000, 10_000))
    generator = random.Random(7)
    samples: list[int] = []
    while (frame := playout.pull()) is not None:
        samples += np.frombuffer(frame, dtype="<i2").tolist()
        match generator.randrange(3):
            case 0:
                playout.duck()
            case 1:
                playout.unduck()
    assert len(samples) == 48_000
    assert max(abs(after - before) for before, after in pairwise(samples)) <= 20


def test_restore_continues_at_the_same_sample_and_continues_counting(playout: Playout, events: Events) -> None:
    first, second = bytes(range(240)) * 11, sound(30, 7)
    playout.push("a", first)
    playout.push("b", second)
    before = [playout.pull(), playout.pull()]
    assert playout.flush() == (Heard("a", 40), Heard("b", 0))
    assert playout.pull() is None and playout.queued_ms == 0
    assert playout.restore() and playout.queued_ms == 45
    after = [playout.pull(), playout.pull(), playout.pull(), playout.pull()]
    assert b"".join(frame for frame in before + after if frame)[: len(first + second)] == first + second
    assert events == [PlaybackStarted("a"), PlaybackStarted("a"), PlaybackStarted("b"), PlaybackDrained("b", 30)]


def test_a_restored_reply_can_be_flushed_and_restored_again(playout: Playout, events: Events) -> None:
    playout.push("a", sound(20, 1) + sound(20, 2) + sound(20, 3))
    playout.pull()
    playout.flush()
    assert playout.restore() and not playout.restore()
    playout.pull()
    assert playout.flush() == (Heard("a", 40),)
    assert playout.restore()
    assert playout.pull() == sound(20, 3)
    assert events == [PlaybackStarted("a")] * 3 + [PlaybackDrained("a", 60)]


def test_restore_works_for_the_last_flush_until_new_audio_is_queued(playout: Playout) -> None:
    assert not playout.restore()
    playout.push("a", sound(60))
    playout.flush()
    assert playout.flush() == (), "an empty flush replaced the one before"
    assert playout.restore() and playout.queued_ms == 60
    playout.flush()
    playout.push("b", sound(20))
    assert not playout.restore() and playout.queued_ms == 20
    playout.flush()
    playout.forget()
    assert not playout.restore() and playout.queued_ms == 0


def test_an_item_interleaved_with_another_is_counted_as_one(playout: Playout, events: Events) -> None:
    for item in ("a", "b", "a"):
        playout.push(item, sound(20))
    for _ in range(3):
        playout.pull()
    assert events == [PlaybackStarted("a"), PlaybackStarted("b"), PlaybackDrained("a", 40)]


def test_a_full_queue_refuses_and_drops_the_whole_piece() -> None:
    playout = Playout(limit_ms=100)
    assert playout.push("a", sound(90))
    assert not playout.push("a", sound(20))
    assert playout.queued_ms == 90
    playout.pull()
    assert playout.push("a", sound(20))


def test_half_a_sample_waits_for_its_other_half_through_a_restored_flush(playout: Playout) -> None:
    pcm = bytes(range(240)) * 4
    for at in range(0, len(pcm), 7):
        playout.push("a", pcm[at : at + 7])
        if at == 105:
            playout.flush()
            playout.restore()
    assert playout.pull() == pcm
    playout.push("a", sound(20, 1) + b"\x09")
    playout.push("b", sound(20, 2))
    assert [playout.pull(), playout.pull()] == [sound(20, 1), sound(20, 2)], "half a sample of another item was played"


def test_a_listener_may_flush() -> None:
    playout = Playout(on_playback=lambda _event: dropped.append(playout.flush()))
    dropped: list[tuple[Heard, ...]] = []
    playout.push("a", sound(60))
    assert playout.pull() == sound(20)
    assert playout.pull() is None and dropped == [(Heard("a", 20),)]


pieces = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 3000), st.sampled_from(["pull", "hold", "resume", ""])),
    max_size=40,
)


@given(pieces, st.integers(0, 2**32))
@examples(200)
def test_every_sample_pushed_is_played_once_in_order(script: list[tuple[str, int, str]], seed: int) -> None:
    events: Events = []
    playout = Playout(on_playback=events.append)
    generator = random.Random(seed)
    pushed = bytearray()
    pulled = bytearray()
    lengths: defaultdict[str, int] = defaultdict(int)
    left = 0

    def pull() -> None:
        nonlocal left
        frame = playout.pull()
        if frame is not None:
            real = min(left, FRAME_BYTES)
            assert frame[real:] == bytes(FRAME_BYTES - real)
            pulled.extend(frame[:real])
            left -= real

    for item, samples, then in script:
        pcm = generator.randbytes(2 * samples)
        playout.push(item, pcm)
        pushed.extend(pcm)
        lengths[item] += samples
        left += len(pcm)
        if then == "pull":
            for _ in range(generator.randrange(6)):
                pull()
        elif then:
            getattr(playout, then)()
    playout.resume()
    while playout.queued_ms or left:
        pull()
    assert pulled == pushed
    drained = {event.item: event.played_ms for event in events if isinstance(event, PlaybackDrained)}
    for item, played_ms in drained.items():
        assert played_ms <= lengths[item] // 24
    if pushed:
        last = next(item for item, samples, _ in reversed(script) if samples)
        assert drained[last] == lengths[last] // 24
    started = [event.item for event in events if isinstance(event, PlaybackStarted)]
    assert sorted(started) == sorted(item for item, samples in lengths.items() if samples)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 2000)), min_size=1, max_size=20), st.integers(0, 60))
def test_flush_counts_every_sample(script: list[tuple[str, int]], ticks: int) -> None:
    playout = Playout()
    lengths: defaultdict[str, int] = defaultdict(int)
    for item, samples in script:
        playout.push(item, bytes(2 * samples))
        lengths[item] += samples
    total = sum(lengths.values())
    played = 0
    for _ in range(ticks):
        if playout.pull() is not None:
            played = min(total, played + 480)
    heard = playout.flush()
    assert len({entry.item for entry in heard}) == len(heard)
    if played == total:
        assert heard == ()
        return
    expected: defaultdict[str, int] = defaultdict(int)
    for item, samples in script:
        part = min(samples, played)
        expected[item] += part
        played -= part
    for entry in heard:
        assert entry.played_ms == expected[entry.item] // 24 and expected[entry.item] < lengths[entry.item]
    assert {entry.item for entry in heard} == {item for item in lengths if expected[item] < lengths[item]}

"""Silence in the place of missing audio, at the pace of time."""

from __future__ import annotations

import pytest

from backend.media.clock import FRAME_S
from backend.media.receive import MOST_AT_ONCE, SILENT_AFTER_S, STALLED_AFTER_S, DtxSilence


@pytest.mark.parametrize("late_s", [0.0, 0.013])
def test_silence_comes_at_the_pace_of_frames_even_by_a_timer_that_rings_late(late_s: float) -> None:
    silence = DtxSilence(0.0, ahead_s=0.1)
    now, made = 0.0, 0
    while now < 10.0:
        now = silence.due + late_s
        made += len(silence.expire(now))
    assert made == pytest.approx(500, abs=2)


def test_a_slow_clock_at_the_other_end_never_adds_up_to_a_gap() -> None:
    silence = DtxSilence(0.0, ahead_s=0.1)
    now = 0.0
    for _ in range(100_000):
        now += 0.0201
        assert silence.expire(now - 0.001) == []
        silence.delivered(1, now)


@pytest.mark.parametrize(("frames", "at", "due"), [(50, 0.05, 1.1), (500, 1.0, 3.1)], ids=["a second", "ten"])
def test_a_burst_covers_the_time_ahead_but_only_so_far(frames: int, at: float, due: float) -> None:
    silence = DtxSilence(0.0, ahead_s=2.0)
    silence.delivered(frames, at)
    assert silence.due == pytest.approx(due)


def test_a_long_stall_of_our_own_is_not_made_up_for_in_full() -> None:
    silence = DtxSilence(0.0, ahead_s=0.1)
    assert len(silence.expire(3600.0)) == MOST_AT_ONCE
    assert silence.expire(3600.01) == []


@pytest.mark.parametrize("phase", [0.0, 0.003, 0.006, 0.0101, 0.014, 0.0199])
def test_whenever_somebody_asks_a_pause_lasts_as_long_as_it_does(phase: float) -> None:
    silence = DtxSilence(0.0, ahead_s=0.0)
    silence.delivered(1, 1.0)
    silence.pause()
    made = 0
    for visit in range(200):
        now = 1.0 + phase + visit * 0.02
        made += len(silence.expire(now))
        assert -FRAME_S - 1e-6 <= now - 1.0 - made * 0.02 <= 1e-6


def test_a_packet_after_a_pause_is_waited_for_as_any_other() -> None:
    silence = DtxSilence(0.0, ahead_s=0.0)
    silence.delivered(1, 1.0)
    silence.pause()
    silence.expire(1.02)
    silence.delivered(1, 1.04)
    assert silence.expire(1.04 + SILENT_AFTER_S - 0.001) == []


def test_who_tells_of_pauses_is_waited_for_longer_where_nothing_was_told() -> None:
    silence = DtxSilence(0.0, ahead_s=0.0)
    silence.delivered(1, 1.0)
    silence.pause()
    silence.delivered(1, 2.0)
    assert silence.expire(2.0 + STALLED_AFTER_S - 0.001) == []
    assert len(silence.expire(2.0 + STALLED_AFTER_S)) == 25
    assert len(silence.expire(2.0 + STALLED_AFTER_S + 0.02)) == 1

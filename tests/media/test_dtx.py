"""Silence replaces missing audio at the pace of time."""

import pytest

from backend.media.clock import FRAME_S
from backend.media.receive import MOST_AT_ONCE, SILENT_AFTER_S, STALLED_AFTER_S, DtxSilence


@pytest.mark.parametrize("late_s", [0.0, 0.013])
def test_silence_comes_at_the_pace_of_frames_even_with_a_late_timer(late_s: float) -> None:
    silence = DtxSilence(0.0, ahead_s=0.1)
    now, made = 0.0, 0
    while now < 10.0:
        now = silence.due + late_s
        made += len(silence.expire(now))
    assert made == pytest.approx(500, abs=2)


def test_a_slow_clock_of_the_sender_does_not_become_a_gap() -> None:
    silence = DtxSilence(0.0, ahead_s=0.1)
    now = 0.0
    for _ in range(100_000):
        now += 0.0201
        assert silence.expire(now - 0.001) == []
        silence.delivered(1, now)


@pytest.mark.parametrize(("frames", "at", "due"), [(50, 0.05, 1.1), (500, 1.0, 3.1)], ids=["a second", "ten"])
def test_a_burst_covers_a_limited_time_ahead(frames: int, at: float, due: float) -> None:
    silence = DtxSilence(0.0, ahead_s=2.0)
    silence.delivered(frames, at)
    assert silence.due == pytest.approx(due)


def test_a_long_stall_of_the_server_is_only_partly_filled() -> None:
    silence = DtxSilence(0.0, ahead_s=0.1)
    assert len(silence.expire(3600.0)) == MOST_AT_ONCE
    assert silence.expire(3600.01) == []


@pytest.mark.parametrize("phase", [0.0, 0.003, 0.006, 0.0101, 0.014, 0.0199])
def test_a_pause_has_its_length_whenever_it_is_read(phase: float) -> None:
    silence = DtxSilence(0.0, ahead_s=0.0)
    silence.delivered(1, 1.0)
    silence.pause()
    made = 0
    for visit in range(200):
        now = 1.0 + phase + visit * 0.02
        made += len(silence.expire(now))
        assert -FRAME_S - 1e-6 <= now - 1.0 - made * 0.02 <= 1e-6


def test_a_packet_after_a_pause_is_waited_for_like_any_other() -> None:
    silence = DtxSilence(0.0, ahead_s=0.0)
    silence.delivered(1, 1.0)
    silence.pause()
    silence.expire(1.02)
    silence.delivered(1, 1.04)
    assert silence.expire(1.04 + SILENT_AFTER_S - 0.001) == []


def test_a_sender_that_announces_pauses_is_waited_for_longer_in_an_unannounced_one() -> None:
    silence = DtxSilence(0.0, ahead_s=0.0)
    silence.delivered(1, 1.0)
    silence.pause()
    silence.delivered(1, 2.0)
    assert silence.expire(2.0 + STALLED_AFTER_S - 0.001) == []
    assert len(silence.expire(2.0 + STALLED_AFTER_S)) == 25
    assert len(silence.expire(2.0 + STALLED_AFTER_S + 0.02)) == 1

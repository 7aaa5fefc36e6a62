"""Frames get their place on one clock, whatever the network and the sound card do."""

from __future__ import annotations

import itertools
import random

from backend.extensions.recordings.side_clock import PlayedClock, ReceivedClock
from backend.media.frame import FRAME_SAMPLES

MS = 24
"""Samples."""


def test_played_slots_follow_each_other_however_late_each_is_served() -> None:
    clock = PlayedClock()
    places = [clock.place((1_000 + number * 20 + (number * 7) % 40) * MS) for number in range(200)]
    assert places == [1_000 * MS + number * FRAME_SAMPLES for number in range(200)]


def test_a_first_slot_that_was_served_late_delays_the_others_only_until_silence() -> None:
    clock = PlayedClock()
    assert clock.place(115 * MS) == 115 * MS
    assert clock.place(120 * MS) == 135 * MS  # it sounds: nothing is cut
    assert clock.place(140 * MS, silent=True) == 140 * MS
    assert clock.place(161 * MS) == 160 * MS


def test_slots_skipped_in_a_stall_are_skipped_in_the_recording() -> None:
    clock = PlayedClock()
    before = [clock.place(number * 20 * MS) for number in range(10)]
    after = clock.place((10 * 20 + 300) * MS)
    assert before[-1] == 180 * MS and after == 500 * MS


def test_received_frames_ignore_jitter() -> None:
    clock, chance = ReceivedClock(), random.Random(1)
    arrivals = [20 * (number + 1) + chance.choice([0, 3, 12, 18]) for number in range(400)]
    places = [clock.place(at * MS) for at in arrivals]
    steps = {after - before for before, after in itertools.pairwise(places)}
    assert steps == {FRAME_SAMPLES}


def test_a_slow_sound_card_does_not_drift() -> None:
    clock = ReceivedClock()
    slow = 20.006  # three hundred parts in a million: a second in an hour
    errors = [clock.place(int(slow * (number + 1) * MS)) - slow * number * MS for number in range(60 * 60 * 50)]
    assert max(map(abs, errors)) < 45 * MS


def test_a_fast_sound_card_is_told_to_leave_out_a_quiet_frame_now_and_then() -> None:
    clock, left_out = ReceivedClock(), 0
    for number in range(60 * 60 * 50):
        at = int(19.994 * (number + 1) * MS)
        place = clock.place(at)
        assert place - (at - FRAME_SAMPLES) < 45 * MS
        if clock.too_many:
            clock.leave_out()
            left_out += 1
    assert 45 <= left_out <= 55


def test_lost_frames_leave_a_gap_within_a_second() -> None:
    clock = ReceivedClock()
    for number in range(100):
        clock.place((number + 1) * 20 * MS)
    late = [clock.place((number + 1) * 20 * MS) for number in range(150, 260)]  # a second is missing
    assert late[-1] == 259 * 20 * MS


def test_frames_that_waited_for_the_beginning_come_before_it() -> None:
    clock = ReceivedClock(waiting=5)
    places = [clock.place(2_400 * MS) for _ in range(6)]
    assert places[0] == 2_280 * MS and places[-1] + FRAME_SAMPLES == 2_400 * MS

"""Frames get their place on one clock, in spite of the network and the sound card."""

import itertools
import random

from backend.extensions.recordings.side_clock import SideClock
from backend.media.frame import FRAME_SAMPLES

MS = 24
"""Samples."""


def test_received_frames_ignore_jitter() -> None:
    clock, chance = SideClock(before=1), random.Random(1)
    arrivals = [20 * (number + 1) + chance.choice([0, 3, 12, 18]) for number in range(400)]
    places = [clock.place(at * MS) for at in arrivals]
    steps = {after - before for before, after in itertools.pairwise(places)}
    assert steps == {FRAME_SAMPLES}


def test_a_slow_sound_card_does_not_drift() -> None:
    clock = SideClock(before=1)
    slow = 20.006  # three hundred parts in a million: a second in an hour
    errors = [clock.place(int(slow * (number + 1) * MS)) - slow * number * MS for number in range(60 * 60 * 50)]
    assert max(map(abs, errors)) < 45 * MS


def test_a_fast_sound_card_leaves_out_a_quiet_frame_now_and_then() -> None:
    clock, left_out = SideClock(before=1), 0
    for number in range(60 * 60 * 50):
        at = int(19.994 * (number + 1) * MS)
        place = clock.place(at)
        assert place - (at - FRAME_SAMPLES) < 45 * MS
        if clock.too_many:
            clock.leave_out()
            left_out += 1
    assert 45 <= left_out <= 55


def test_lost_frames_leave_a_gap_within_a_second() -> None:
    clock = SideClock(before=1)
    for number in range(100):
        clock.place((number + 1) * 20 * MS)
    late = [clock.place((number + 1) * 20 * MS) for number in range(150, 260)]  # a second is missing
    assert late[-1] == 259 * 20 * MS


def test_frames_that_waited_for_the_beginning_come_before_it() -> None:
    clock = SideClock(before=6)
    places = [clock.place(2_400 * MS) for _ in range(6)]
    assert places[0] == 2_280 * MS and places[-1] + FRAME_SAMPLES == 2_400 * MS

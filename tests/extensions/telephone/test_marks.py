"""What a telephone caller has heard, by the returned marks, without the delay of the provider's buffer."""

import pytest

from backend.extensions.telephone.marks import EVERY, LONGEST_S, MarkedPlayback

FRAME = bytes(160)


def sent(marks: MarkedPlayback, frames: int, now: float, item: str = "a") -> tuple[list[tuple[str, float]], float]:
    """Send frames in real time from `now`; return the marks with their moments, and when the last frame left."""
    made = []
    for _ in range(frames):
        now += 0.02
        if name := marks.sent(item, FRAME, now):
            made.append((name, now))
    return made, now


def test_a_mark_is_due_every_100_ms_and_at_the_end_of_the_sound() -> None:
    marks = MarkedPlayback()
    made, now = sent(marks, 2 * EVERY + 1, 0.0)
    assert len(made) == 2
    assert marks.paused(now) == "m3"
    assert marks.paused(now) is None


@pytest.mark.parametrize("delay_s", [0.04, 0.2, 0.5])
def test_sound_within_the_providers_delay_was_not_heard(delay_s: float) -> None:
    marks = MarkedPlayback()
    made, now = sent(marks, 50, 0.0)
    for name, at in made:
        if at + delay_s <= now:
            marks.came_back(name, at + delay_s)
    assert len(marks.unheard(now)) * 0.02 == pytest.approx(delay_s, abs=0.021)


def test_an_overdue_mark_means_that_the_delay_has_grown() -> None:
    marks = MarkedPlayback()
    made, now = sent(marks, 10, 0.0)
    marks.came_back(made[0][0], made[0][1] + 0.04)
    later, now = sent(marks, 20, now)
    assert len(marks.unheard(now)) * 0.02 == pytest.approx(now - made[1][1], abs=0.021)
    assert later


def test_everything_was_heard_some_time_after_the_last_frame() -> None:
    marks = MarkedPlayback()
    made, now = sent(marks, 10, 0.0)
    for name, at in made:
        marks.came_back(name, at + 0.1)
    assert marks.unheard(now + 0.2) == []


def test_marks_of_before_a_clear_do_not_count() -> None:
    marks = MarkedPlayback()
    made, now = sent(marks, 10, 0.0)
    dropped = marks.clear(now)
    assert [frame.item for frame in dropped] == ["a"] * len(dropped) and dropped
    for name, _ in made:  # Twilio sends them back immediately
        marks.came_back(name, now + 3)
    assert marks.delay_s < 1
    assert marks.unheard(now) == []


def test_a_provider_that_never_returns_marks_counts_as_playing_immediately() -> None:
    marks = MarkedPlayback()
    _, now = sent(marks, 50 * 20, 0.0)
    assert now > LONGEST_S
    assert len(marks.unheard(now)) < 20

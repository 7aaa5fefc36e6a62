"""In sure speech the detector is asked now and then; any fall, of the level or of its scores, has it asked again."""

from __future__ import annotations

from backend.media.vad import NEAR_DB, SURE, UNASKED_FRAMES, Certainty

VOICE = -20.0


def sure() -> Certainty:
    certainty = Certainty()
    assert not certainty.holds(VOICE)
    certainty.learn(1.0)
    return certainty


def test_nothing_is_sure_before_the_detector_said_so() -> None:
    certainty = Certainty()
    assert not any(certainty.holds(VOICE) for _ in range(10))


def test_a_steady_voice_is_asked_about_at_least_every_60_ms() -> None:
    certainty = sure()
    known = []
    for _ in range(9):
        known.append(certainty.holds(VOICE))
        if not known[-1]:
            certainty.learn(1.0)
    assert known == ([True] * UNASKED_FRAMES + [False]) * 3


def test_a_fall_of_the_level_is_asked_about_at_once() -> None:
    assert sure().holds(VOICE - NEAR_DB + 1)
    assert not sure().holds(VOICE - NEAR_DB - 1)


def test_a_voice_that_becomes_quieter_slowly_stays_known() -> None:
    certainty = sure()
    for number in range(60):
        if not certainty.holds(VOICE - 0.4 * number):
            assert number % (UNASKED_FRAMES + 1) == UNASKED_FRAMES
            certainty.learn(1.0)


def test_after_a_doubtful_answer_every_frame_is_asked_about() -> None:
    certainty = sure()
    certainty.learn(SURE - 0.01)
    assert not any(certainty.holds(VOICE) for _ in range(10))

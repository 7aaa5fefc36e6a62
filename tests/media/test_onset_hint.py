"""An onset hint precedes the detector's decision, lasts for a moment, and is not repeated quickly."""

from backend.media.endpointing import LocalEndpointing
from backend.media.frame import SILENCE, Frame
from backend.media.onset_hint import KEPT_FRAMES, LONGEST_FRAMES, REST_FRAMES, OnsetHint
from backend.media.primary_speaker import PrimarySpeaker
from backend.media.segmenter import Segmenter
from tests.support.detector import Saying


def loud(amplitude: int) -> Frame:
    """Return a square wave at 500 Hz."""
    one = amplitude.to_bytes(2, "little", signed=True) * 24
    other = (-amplitude).to_bytes(2, "little", signed=True) * 24
    return Frame((one + other) * 10)


def followed(hint: OnsetHint, *scores: float, is_near: bool = True) -> list[bool]:
    stands = []
    for score in scores:
        hint.follow(score, is_near=is_near)
        stands.append(hint.stands)
    return stands


def heard(local: LocalEndpointing) -> tuple[bool, bool]:
    """Return whether there is a hint, and whether the latest frame was a near sound."""
    return local.hinted, local.near_sound


def test_a_doubtful_sound_makes_a_hint_for_100_ms() -> None:
    hint = OnsetHint()
    assert followed(hint, 0.1, 0.3, *[0.0] * KEPT_FRAMES) == [False, *[True] * KEPT_FRAMES, False]


def test_a_distant_sound_makes_no_hint() -> None:
    assert not any(followed(OnsetHint(), 0.4, 0.4, is_near=False))


def test_a_hint_without_speech_is_not_repeated_immediately() -> None:
    hint = OnsetHint()
    stands = followed(hint, *[0.3] * (LONGEST_FRAMES + 1 + REST_FRAMES + 1))
    assert stands == [*[True] * LONGEST_FRAMES, *[False] * (REST_FRAMES + 1), True]


def test_an_onset_ends_a_hint() -> None:
    hint = OnsetHint()
    followed(hint, 0.3)
    hint.settle()
    assert not hint.stands and followed(hint, 0.3) == [True], "the next hint had to wait"


def test_a_soft_sound_of_a_known_caller_makes_a_hint_in_a_quiet_room() -> None:
    quiet, voice, soft, far = SILENCE, loud(6000), loud(1000), loud(300)
    known = [*[(quiet, 0.0)] * 160, *[(voice, 0.9)] * 60, *[(quiet, 0.0)] * 60]
    after: list[tuple[Frame, float, tuple[bool, bool]]] = [
        (far, 0.3, (False, False)),  # 26 dB below the caller
        *[(quiet, 0.0, (False, False))] * 110,
        (soft, 0.01, (False, True)),  # 16 dB below, so near, at any score
        (quiet, 0.0, (False, False)),
        (soft, 0.3, (True, True)),
        (voice, 0.9, (False, False)),  # a voice has begun
    ]
    scores = [score for _, score in known] + [score for _, score, _ in after]
    local = LocalEndpointing(Saying(*scores), Segmenter(0, 0, 3), threshold=0.7, near=PrimarySpeaker())
    for frame, _ in known:
        local.process(frame)
        assert heard(local) == (False, False)
    for frame, _, expected in after:
        local.process(frame)
        assert heard(local) == expected

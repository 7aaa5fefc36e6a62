"""The segmenter, in examples and random streams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.media.frame import FRAME_BYTES, FRAME_MS, Frame
from backend.media.segmenter import Segmenter
from backend.turns.events import SpeechEvent
from backend.turns.events import SpeechPaused as Paused
from backend.turns.events import SpeechResumed as Resumed
from backend.turns.events import SpeechStarted as Onset
from backend.turns.events import SpeechStopped as Ended


def numbered(number: int) -> Frame:
    return Frame(number.to_bytes(4, "little") * (FRAME_BYTES // 4))


def number_of(frame: bytes) -> int:
    return int.from_bytes(frame[:4], "little")


def run(pattern: str, *, pre_roll_ms: int = 40, post_roll_ms: int = 40, hangover: int = 4) -> list[int | SpeechEvent]:
    """Push one frame per letter, 's' speech and '.' silence; return frames by number, and events."""
    segmenter = Segmenter(pre_roll_ms, post_roll_ms, hangover)
    out: list[int | SpeechEvent] = []
    for number, letter in enumerate(pattern):
        things = segmenter.push(numbered(number), letter == "s")
        out.extend(number_of(thing) if isinstance(thing, bytes) else thing for thing in things)
    return out


@pytest.mark.document("001", "local VAD")
def test_the_onset_comes_before_the_pre_roll_and_its_frame() -> None:
    assert run("....s") == [Onset(), 2, 3, 4]


def test_a_short_pause_is_forwarded_within_an_utterance() -> None:
    assert run("s.s") == [Onset(), 0, Paused(20), 1, Resumed(20), 2]


@pytest.mark.document("001", "local VAD")
def test_the_hangover_ends_the_utterance_after_the_post_roll() -> None:
    assert run("ss....") == [Onset(), 0, 1, Paused(40), 2, 3, Ended(40, 80)]


def test_speech_after_the_post_roll_is_preceded_by_the_kept_frames() -> None:
    assert run("s.....s", hangover=8) == [Onset(), 0, Paused(20), 1, 2, Resumed(20), 4, 5, 6]


def test_frames_skipped_in_the_hangover_become_the_next_pre_roll() -> None:
    assert run("s....s") == [Onset(), 0, Paused(20), 1, 2, Ended(20, 80), Onset(), 3, 4, 5]


def test_a_hangover_of_one_frame_pauses_and_ends_immediately() -> None:
    assert run("s.", hangover=1) == [Onset(), 0, Paused(20), 1, Ended(20, 20)]


streams = st.text(alphabet="s.", max_size=120)
rolls = st.integers(0, 160)
hangovers = st.integers(1, 20)


@given(streams, rolls, rolls, hangovers)
def test_frames_keep_their_order_and_none_comes_twice(pattern: str, pre: int, post: int, hangover: int) -> None:
    numbers = [x for x in run(pattern, pre_roll_ms=pre, post_roll_ms=post, hangover=hangover) if isinstance(x, int)]
    assert numbers == sorted(set(numbers))


@given(streams, rolls, rolls, hangovers)
def test_all_speech_is_forwarded_with_silence_only_near_it(pattern: str, pre: int, post: int, hangover: int) -> None:
    sent = {x for x in run(pattern, pre_roll_ms=pre, post_roll_ms=post, hangover=hangover) if isinstance(x, int)}
    before, after = -(-pre // FRAME_MS), post // FRAME_MS
    for number, letter in enumerate(pattern):
        if letter == "s":
            assert number in sent
        elif number in sent:
            assert "s" in pattern[max(0, number - after) : number + before + 1]


@given(streams, rolls, rolls, hangovers)
def test_onsets_and_ends_alternate(pattern: str, pre: int, post: int, hangover: int) -> None:
    follows: dict[type[SpeechEvent] | None, tuple[type[SpeechEvent], ...]] = {
        None: (Onset,),
        Onset: (Paused,),
        Paused: (Resumed, Ended),
        Resumed: (Paused,),
        Ended: (Onset,),
    }
    last: type[SpeechEvent] | None = None
    for thing in run(pattern, pre_roll_ms=pre, post_roll_ms=post, hangover=hangover):
        if not isinstance(thing, int):
            assert type(thing) in follows[last]
            last = type(thing)


@given(streams, rolls, rolls, hangovers)
def test_nothing_is_forwarded_between_the_end_and_the_next_onset(
    pattern: str, pre: int, post: int, hangover: int
) -> None:
    ended = True
    for thing in run(pattern, pre_roll_ms=pre, post_roll_ms=post, hangover=hangover):
        if isinstance(thing, Onset):
            ended = False
        assert not (ended and isinstance(thing, int))
        if isinstance(thing, Ended):
            ended = True


@given(streams, hangovers)
def test_voiced_time_counts_speech_frames_only(pattern: str, hangover: int) -> None:
    out = run(pattern + "." * hangover, hangover=hangover)
    assert sum(thing.voiced_ms for thing in out if isinstance(thing, Ended)) == pattern.count("s") * FRAME_MS

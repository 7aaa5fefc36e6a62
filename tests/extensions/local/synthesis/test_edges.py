"""The ends of a piece of speech, and the cuts of long sentences."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backend.extensions.local.synthesis.clauses import (
    FIRST_CHARACTERS,
    LATER_CHARACTERS,
    WHOLE_CHARACTERS,
    clauses,
    pause_ms,
)
from backend.extensions.local.synthesis.edges import LEAD_MS, TAIL_MS, Samples, trimmed
from backend.media.frame import SAMPLE_RATE


def words(text: str) -> list[str]:
    return text.split()


def silence(ms: int) -> Samples:
    return np.zeros(ms * SAMPLE_RATE // 1000, np.float32)


def loud(ms: int) -> Samples:
    """A tone that begins at its peak."""
    tone: Samples = np.cos(np.arange(ms * SAMPLE_RATE // 1000) * 0.1).astype(np.float32)
    return tone


def test_silence_around_speech_is_cut() -> None:
    speech = trimmed(np.concatenate([silence(300), loud(500), silence(450)]))
    assert speech.size * 1000 // SAMPLE_RATE == LEAD_MS + 500 + TAIL_MS


def test_silence_inside_speech_stays() -> None:
    speech = trimmed(np.concatenate([loud(200), silence(400), loud(200)]))
    assert speech.size * 1000 // SAMPLE_RATE >= 800


def test_sound_that_begins_and_ends_at_its_peak_is_faded() -> None:
    samples = trimmed(loud(500))
    assert samples[0] == 0 == samples[-1]
    assert np.abs(np.diff(samples[:200])).max() < 0.12
    assert np.abs(samples[-24:]).max() < 0.01


def test_an_offset_is_removed() -> None:
    assert abs(float(trimmed(loud(500) + 0.25).mean())) < 0.01


def test_silence_alone_leaves_nothing() -> None:
    assert trimmed(silence(500)).size == 0
    assert trimmed(silence(0)).size == 0


def test_a_short_sentence_is_not_cut() -> None:
    assert clauses(words("Sure, let me check that for you.")) == [7]
    assert clauses([]) == []


def test_a_long_sentence_is_cut_at_its_clauses_and_the_first_piece_is_short() -> None:
    sentence = words(
        "I found three trains to Boston tomorrow morning; the first one leaves at six fifteen, arrives at ten, and "
        "costs forty-nine dollars, while the second leaves at seven."
    )
    first, *_ = clauses(sentence)
    assert " ".join(sentence[:first]) == "I found three trains to Boston tomorrow morning;"


def test_a_sentence_without_marks_is_cut_before_a_joining_word() -> None:
    sentence = words(
        "The museum of modern art in the old harbor opens tomorrow at nine because the whole building was painted again"
    )
    first, *_ = clauses(sentence)
    assert sentence[first] in ("because", "at", "in", "of")


@given(st.lists(st.text("abc,.", min_size=1, max_size=30), max_size=120))
def test_pieces_hold_all_words_and_stay_short(said: list[str]) -> None:
    sizes = clauses(said)
    assert sum(sizes) == len(said)
    assert all(size > 0 for size in sizes)
    if len(" ".join(said)) > WHOLE_CHARACTERS:
        assert len(" ".join(said[: sizes[0]])) <= FIRST_CHARACTERS
    assert all(
        len(" ".join(said[sum(sizes[:n]) : sum(sizes[: n + 1])])) <= LATER_CHARACTERS for n in range(1, len(sizes))
    )


def test_a_pause_is_long_after_a_sentence_short_after_a_comma_and_none_inside_a_clause() -> None:
    assert pause_ms("Yes.") > pause_ms("Yes,") > pause_ms("Yes") == 0
    assert pause_ms('"Really?"') == pause_ms("Really?")

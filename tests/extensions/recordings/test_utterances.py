"""Utterances and words have the times at which they sounded."""

from backend import page_events as page
from backend.extensions.recordings.utterances import ONSET_MS, UtteranceTimes
from backend.turns import events as ev


def play(times: UtteranceTimes, item: str, from_ms: int, ms: int) -> None:
    times.on_event(ev.PlaybackStarted(item), from_ms)
    for at in range(from_ms, from_ms + ms, 20):
        times.on_played(at)


def test_the_callers_late_words_have_the_times_of_their_voice() -> None:
    times = UtteranceTimes()
    times.on_event(ev.SpeechStarted(), 1_000)
    times.on_event(ev.SpeechPaused(500), 1_500)
    times.on_event(ev.SpeechResumed(500), 2_000)
    times.on_event(ev.SpeechPaused(1_000), 2_500)
    times.on_event(ev.SpeechStopped(1_000, 500), 3_000)
    times.on_event(ev.InputCommitted("u1"), 3_010)
    found = times.settled(page.TranscriptCompleted("user", "u1", "one two  three four"), 9_000)
    assert found is not None
    assert (found["from_ms"], found["to_ms"], found["typed"]) == (1_000 - ONSET_MS, 2_500, False)
    assert [word for word, *_ in found["words"]] == ["one", "two", "three", "four"]


def test_a_murmur_long_before_is_no_part_of_the_next_utterance() -> None:
    times = UtteranceTimes()
    for at in (1_000, 20_000):
        times.on_event(ev.SpeechStarted(), at)
        times.on_event(ev.SpeechPaused(400), at + 400)
        times.on_event(ev.SpeechStopped(400, 500), at + 900)
    times.on_event(ev.InputCommitted("u1"), 21_000)
    found = times.settled(page.TranscriptCompleted("user", "u1", "yes"), 22_000)
    assert found is not None and found["from_ms"] == 20_000 - ONSET_MS


def test_words_share_the_time_of_their_utterance_by_their_length() -> None:
    times = UtteranceTimes()
    play(times, "i", 5_000, 1_600)
    found = times.settled(page.TranscriptCompleted("assistant", "i", "good morning all"), 8_000)
    assert found is not None
    assert found["words"] == [("good", 5_000, 5_470), ("morning", 5_470, 6_223), ("all", 6_223, 6_600)]


def test_only_the_heard_part_of_an_interrupted_reply_is_there() -> None:
    times = UtteranceTimes()
    play(times, "i", 1_000, 400)
    found = times.settled(page.TranscriptInterrupted("i", "one two", "one two three four five six"), 1_600)
    assert found is not None and found["interrupted"]
    assert (found["text"], found["from_ms"], found["to_ms"]) == ("one two", 1_000, 1_400)
    assert found["words"][-1][2] == 1_400


def test_typed_words_have_one_moment_and_unheard_ones_none() -> None:
    times = UtteranceTimes()
    typed = times.settled(page.TranscriptCompleted("user", "t1", "hello"), 700)
    assert typed is not None and typed["typed"] and (typed["from_ms"], typed["words"]) == (700, [])
    assert times.settled(page.TranscriptCompleted("assistant", "i9", "never played"), 800) is None
    assert times.settled(page.FloorChanged("user"), 900) is None

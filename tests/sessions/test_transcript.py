"""Who said what, in the order it was said."""

from backend.page_events import TranscriptCompleted, TranscriptDelta, TranscriptInterrupted, UserItemAdded
from backend.sessions.session import Transcript


def lines(transcript: Transcript) -> list[tuple[str, str]]:
    return [(entry["role"], entry["content"]) for entry in transcript]


def test_late_words_fill_the_place_of_their_utterance() -> None:
    transcript = Transcript()
    transcript.add(UserItemAdded("u1"))
    transcript.add(TranscriptCompleted("assistant", "a1", "It is sunny."))
    transcript.add(TranscriptCompleted("user", "u1", "How is the weather?"))
    assert lines(transcript) == [("user", "How is the weather?"), ("assistant", "It is sunny.")]


def test_an_item_without_words_is_not_shown() -> None:
    transcript = Transcript()
    transcript.add(UserItemAdded("u1"))
    assert lines(transcript) == []


def test_an_interrupted_reply_has_the_words_that_were_heard_and_is_marked() -> None:
    transcript = Transcript()
    transcript.add(TranscriptDelta("assistant", "a1", "It is"))
    transcript.add(TranscriptInterrupted("a1", "It is", "It is sunny."))
    [entry] = transcript
    assert (entry["content"], entry["interrupted"]) == ("It is", True)


def test_an_interrupted_reply_of_which_nothing_was_heard_is_not_shown() -> None:
    transcript = Transcript()
    transcript.add(TranscriptInterrupted("a1", "", "It is sunny."))
    assert lines(transcript) == []


def test_the_transcript_is_bounded_and_drops_the_oldest() -> None:
    transcript = Transcript(limit=3)
    for number in range(5):
        transcript.add(TranscriptCompleted("user", f"u{number}", str(number)))
    assert [entry["content"] for entry in transcript] == ["2", "3", "4"]


def test_a_resumed_reply_continues_after_the_words_that_were_heard() -> None:
    transcript = Transcript()
    transcript.add(TranscriptInterrupted("a1", "Paris is", "Paris is the capital of France."))
    transcript.add(TranscriptInterrupted("a1", "the capital", "the capital of France."))
    assert [(entry["content"], entry["interrupted"]) for entry in transcript] == [("Paris is the capital", True)]
    transcript.add(TranscriptCompleted("assistant", "a1", "of France."))
    [entry] = transcript
    assert entry["content"] == "Paris is the capital of France." and "interrupted" not in entry

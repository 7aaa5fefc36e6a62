"""The words of unfinished speech: shown while they come, joined to their turn, and withdrawn if there was none."""

from typing import Any

from backend.page_events import TranscriptCompleted, TranscriptDelta, UserItemAdded
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.end_of_turn import EndpointingStyle
from tests.turns.story import Story


def shown(story: Story) -> str:
    """The caller's words on the page, entry by entry."""
    entries: dict[str, str] = {}
    for command in story.all(do.Publish):
        match command.event:
            case TranscriptDelta("user", item, delta):
                entries[item] = entries.get(item, "") + delta
            case TranscriptCompleted("user", item, text):
                entries[item] = text
    return " | ".join(f"{item}: {text}" for item, text in entries.items() if text)


def speaking(*events: ev.Event, **limits: Any) -> Story:
    story = Story(**limits)
    story.tell(ev.SpeechStarted(), *events)
    return story


def test_words_grow_while_the_caller_speaks_and_the_commit_adds_the_rest_to_them() -> None:
    story = speaking(ev.UserTranscriptGrew("i1", "What is"))
    assert shown(story) == "i1: What is"
    story.tell(ev.UserTranscriptGrew("i1", " the weather"))
    assert shown(story) == "i1: What is the weather"
    story.now += 1
    story.tell(ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300), ev.InputCommitted("i1"))
    story.tell(ev.UserTranscriptGrew("i1", " in Oslo?"))
    assert shown(story) == "i1: What is the weather in Oslo?"
    story.tell(ev.UserTranscribed("i1", "What was the weather in Oslo?"))
    story.wait(3)
    assert shown(story) == "i1: What was the weather in Oslo?"
    assert [each.item_id for each in story.published(UserItemAdded)] == ["i1"]
    assert story.all(do.Remember) == [do.Remember("user", "What was the weather in Oslo?")]


def test_a_noise_withdraws_its_words() -> None:
    story = speaking(ev.UserTranscriptGrew("i1", "A"))
    assert shown(story) == "i1: A"
    story.tell(ev.SpeechPaused(40), ev.SpeechStopped(40, 300))
    assert story.all(do.ClearInput) and shown(story) == ""
    story.tell(ev.UserTranscriptGrew("i1", " late"))
    assert shown(story) == "", "the unfinished words belong to nothing"
    story.tell(ev.SpeechStarted(), ev.UserTranscriptGrew("i2", "Hello"))
    assert shown(story) == "i2: Hello"


def test_words_over_a_reply_are_shown_once_they_take_the_floor(story: Story) -> None:
    story.ask()
    story.tell(ev.InputCommitted("i1"), ev.UserTranscribed("i1", "Hi."))
    story.reply()
    story.now += 5
    story.tell(ev.SpeechStarted(), ev.UserTranscriptGrew("i2", "No I mean"))
    assert shown(story) == "i1: Hi."
    story.wait(0.6)
    assert story.all(do.FlushPlayback) and shown(story) == "i1: Hi. | i2: No I mean"


def test_words_of_a_later_segment_join_those_of_its_turn() -> None:
    story = speaking(ev.UserTranscriptGrew("i1", "My number"), style=EndpointingStyle.BALANCED)
    story.now += 1
    story.tell(ev.SpeechPaused(1000))
    story.wait(0.25)
    story.tell(ev.SpeechResumed(1000))
    assert story.all(do.CommitInput)
    story.tell(ev.InputCommitted("i1"), ev.UserTranscriptGrew("i2", "is"))
    assert shown(story) == "i1: My number is"
    story.tell(ev.UserTranscriptGrew("i2", " five"))
    assert shown(story) == "i1: My number is five"


def test_a_lost_connection_withdraws_unfinished_words() -> None:
    story = speaking(ev.UserTranscriptGrew("i1", "What is"))
    story.tell(ev.ResponderLost("gone"))
    assert shown(story) == ""


def test_the_words_of_two_items_that_were_never_committed_do_not_mix() -> None:
    story = speaking(ev.UserTranscriptGrew("i1", "What is"), ev.UserTranscriptGrew("i2", "Where is"))
    assert shown(story) == "i2: Where is"

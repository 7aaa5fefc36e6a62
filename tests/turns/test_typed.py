"""Typed words: a turn immediately, or after the answer to the caller's speech."""

from backend.page_events import TranscriptCompleted
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose
from backend.turns.machine.floor.typed import WAITING_LIMIT
from tests.turns.story import Story, purposes


def heard(story: Story, reply: str) -> None:
    story.hear(reply)
    story.wait(0)


def typed_while_speaking(story: Story, *texts: str) -> None:
    story.tell(ev.SpeechStarted())
    story.now += 1
    story.tell(*(ev.TextTyped(text) for text in texts))
    assert purposes(story) == [] and not story.all(do.AddUserText)
    story.tell(ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300))


def test_words_typed_while_the_caller_speaks_are_shown_immediately_and_answered_after_the_speech(story: Story) -> None:
    typed_while_speaking(story, "and in Paris?", "and in Rome?")
    assert [event.content for event in story.published(TranscriptCompleted)] == ["and in Paris?", "and in Rome?"]
    assert purposes(story) == [Purpose.ANSWER] and not story.all(do.AddUserText)
    heard(story, "r1")
    assert story.all(do.AddUserText) == [do.AddUserText("and in Paris?")]
    assert purposes(story) == [Purpose.ANSWER] * 2
    heard(story, "r2")
    assert story.all(do.AddUserText)[1:] == [do.AddUserText("and in Rome?")]
    heard(story, "r3")
    story.wait(10)
    assert purposes(story) == [Purpose.ANSWER] * 3


def test_typed_words_wait_for_the_thinker_of_the_spoken_turn() -> None:
    story = Story(filler_after_s=0)
    typed_while_speaking(story, "and in Paris?")
    story.call("c1")
    story.wait(3)
    assert not story.all(do.AddUserText)
    story.tell(ev.ThinkerFinished("c1", "12 degrees"))
    heard(story, "r2")
    assert purposes(story) == [Purpose.ANSWER, Purpose.RESULT, Purpose.ANSWER]


def test_typed_words_are_answered_immediately_if_the_voice_was_only_a_noise(story: Story) -> None:
    story.tell(ev.SpeechStarted(), ev.TextTyped("hello"))
    story.now += 0.05
    story.tell(ev.SpeechPaused(50), ev.SpeechStopped(50, 300))
    story.wait(0)
    assert purposes(story) == [Purpose.ANSWER] and story.all(do.AddUserText) == [do.AddUserText("hello")]


def test_words_typed_as_a_voice_begins_over_a_reply_stop_it_and_wait_for_the_voice(story: Story) -> None:
    story.ask()
    story.reply()
    story.tell(ev.SpeechStarted(), ev.TextTyped("hello"))
    assert story.all(do.FlushPlayback) and not story.all(do.AddUserText)
    story.now += 1
    story.tell(ev.PlaybackFlushed(()), ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300))
    heard(story, "r2")
    assert story.all(do.AddUserText) == [do.AddUserText("hello")]


def test_any_amount_of_typed_words_is_kept(story: Story) -> None:
    texts = [f"message {number}" for number in range(WAITING_LIMIT + 4)]
    typed_while_speaking(story, *texts)
    for number in range(WAITING_LIMIT + 1):
        heard(story, f"r{number}")
    assert "\n".join(command.text for command in story.all(do.AddUserText)).split("\n") == texts


PICTURE = "data:image/png;base64,AAAA"


def test_a_picture_is_a_turn_with_or_without_words_and_is_remembered_as_one_word(story: Story) -> None:
    story.tell(ev.TextTyped("", (PICTURE,)))
    heard(story, "r1")
    story.tell(ev.TextTyped("and this?", (PICTURE,)))
    assert story.all(do.AddUserText) == [do.AddUserText("", (PICTURE,)), do.AddUserText("and this?", (PICTURE,))]
    kept = [command.text for command in story.all(do.Remember) if command.role == "user"]
    assert kept == ["[picture]", "[picture] and this?"]
    assert [event.content for event in story.published(TranscriptCompleted) if event.role == "user"] == kept
    assert purposes(story) == [Purpose.ANSWER] * 2


def test_a_picture_shown_during_an_outage_reaches_the_next_connection(story: Story) -> None:
    story.tell(ev.ResponderLost("broken"), ev.TextTyped("look", (PICTURE,)))
    assert not story.all(do.AddUserText)
    story.tell(ev.ResponderRestored("OpenAI", "m"))
    assert story.all(do.AddUserText) == [do.AddUserText("look", (PICTURE,))]


def test_pictures_joined_while_the_caller_speaks_are_bounded(story: Story) -> None:
    story.tell(ev.SpeechStarted())
    story.now += 1
    story.tell(*(ev.TextTyped("", (f"{PICTURE}{number}",)) for number in range(WAITING_LIMIT + 9)))
    story.tell(ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300))
    for number in range(WAITING_LIMIT + 1):
        heard(story, f"r{number}")
    assert [len(command.pictures) for command in story.all(do.AddUserText)] == [1] * (WAITING_LIMIT - 1) + [4]

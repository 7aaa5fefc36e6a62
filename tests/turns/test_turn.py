"""Each rule of turn-taking, as a short story. Time is a number; nothing waits."""

import pytest

from backend.page_events import TranscriptInterrupted, TurnMeasured
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Clip, Purpose
from backend.turns.machine.floor.state import Floor
from tests.turns.story import MS, Story, purposes


@pytest.fixture
def story() -> Story:
    """A call in which something was asked."""
    asked = Story()
    asked.ask()
    return asked


def test_a_turn_is_committed_and_answered(story: Story) -> None:
    assert story.all(do.CommitInput) == [do.CommitInput()]
    assert purposes(story) == [Purpose.ANSWER]
    story.reply()
    assert story.floor() is Floor.ASSISTANT
    story.tell(ev.PlaybackDrained("i-r1", 2000))
    assert story.floor() is Floor.LISTENING
    assert story.all(do.Remember) == [do.Remember("assistant", "It is sunny in Seattle today.")]


def test_noise_shorter_than_a_word_is_no_turn() -> None:
    story = Story()
    story.tell(ev.SpeechStarted(), ev.SpeechPaused(40), ev.SpeechStopped(40, 300))
    assert story.all(do.ClearInput) and not story.all(do.CommitInput)
    assert story.floor() is Floor.LISTENING


def test_a_cough_resumes_the_reply(story: Story) -> None:
    story.reply()
    story.tell(ev.SpeechStarted())
    story.now += 0.15
    story.tell(ev.SpeechPaused(150))
    assert story.wait(0.3) == [do.CommitInput()], "a transcript may still say that it was a word"
    said = story.tell(ev.SpeechStopped(150, 300))
    assert do.UnduckPlayback() in said and do.ClearInput() in said
    assert not story.all(do.CancelReply) and not story.all(do.FlushPlayback)
    assert story.floor() is Floor.ASSISTANT


def test_only_the_voice_counts_in_two_coughs_within_one_hangover() -> None:
    story = Story(interruption_min_ms=400)
    story.ask()
    story.reply()
    story.tell(ev.SpeechStarted())
    story.now += 0.15
    story.tell(ev.SpeechPaused(150))
    story.wait(0.2)
    story.tell(ev.SpeechResumed(150))
    assert not story.wait(0.2)
    assert do.FlushPlayback() in story.wait(0.06)


def test_lasting_speech_takes_the_floor(story: Story) -> None:
    request = story.all(do.CreateReply)[-1].request
    story.tell(ev.ReplyStarted("r1", request), ev.ReplyAudio("r1", "i1", bytes(2000 * MS)), ev.SpeechStarted())
    said = story.wait(0.6)
    assert do.CancelReply("r1") in said and do.FlushPlayback() in said
    assert story.floor() is Floor.USER


@pytest.mark.document("001", "interruptions and guards")
def test_an_interrupted_item_is_truncated_to_the_heard_part(story: Story) -> None:
    story.reply(ms=4000, text="one two three four")
    story.wait(1.4)
    story.tell(ev.SpeechStarted())
    story.wait(0.6)
    said = story.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 2000),)))
    assert do.TruncateItem("i-r1", 2000) in said
    assert do.Remember("assistant", "one two") in said
    assert story.published(TranscriptInterrupted)[0].heard == "one two"


def test_an_unheard_item_is_deleted_and_not_remembered(story: Story) -> None:
    story.reply()
    story.tell(ev.SpeechStarted())
    story.wait(0.6)
    said = story.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 0),)))
    assert do.DeleteItem("i-r1") in said
    assert not any(isinstance(command, do.Remember) for command in said)


def test_an_item_heard_to_its_end_before_the_cut_stays_whole(story: Story) -> None:
    request = story.all(do.CreateReply)[-1].request
    story.tell(
        ev.ReplyStarted("r1", request),
        ev.ReplyText("r1", "first", "Let me see."),
        ev.ReplyAudio("r1", "first", bytes(500 * MS)),
        ev.ReplyText("r1", "second", "It rains in Oslo"),
        ev.ReplyAudio("r1", "second", bytes(1000 * MS)),
        ev.ReplyFinished("r1", "completed"),
        ev.SpeechStarted(),
    )
    story.wait(0.6)
    said = story.tell(ev.PlaybackFlushed((ev.Heard("second", 500),)))
    assert do.Remember("assistant", "Let me see.") in said
    assert [command for command in said if isinstance(command, do.TruncateItem)] == [do.TruncateItem("second", 500)]


def test_an_unconfirmed_cancellation_does_not_silence_the_call(story: Story) -> None:
    request = story.all(do.CreateReply)[-1].request
    story.tell(ev.ReplyStarted("r1", request), ev.SpeechStarted())
    story.wait(0.6)
    story.tell(ev.SpeechPaused(400), ev.SpeechStopped(400, 300))
    story.wait(3)
    assert len(story.all(do.CreateReply)) == 2


def test_a_refused_reply_is_requested_again(story: Story) -> None:
    request = story.all(do.CreateReply)[-1].request
    story.tell(ev.ReplyRefused(request, "conversation_already_has_active_response"))
    story.wait(0.3)
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]


def test_a_failed_reply_is_requested_once_more(story: Story) -> None:
    story.tell(ev.ReplyStarted("r1", "answer-1"), ev.ReplyFinished("r1", "failed", "server_error"))
    story.wait(0.3)
    story.tell(ev.ReplyStarted("r2", "answer-2"), ev.ReplyFinished("r2", "failed", "server_error"))
    assert do.PlayClip(Clip.SORRY) in story.said


def test_an_unrequested_reply_is_cancelled() -> None:
    story = Story()
    assert story.tell(ev.ReplyStarted("r9")) == [do.CancelReply("r9")]


def test_typed_text_interrupts_and_is_answered(story: Story) -> None:
    story.reply()
    said = story.tell(ev.TextTyped("and in Paris?"))
    assert do.FlushPlayback() in said and do.AddUserText("and in Paris?") in said
    assert isinstance(said[-1], do.CreateReply)


def test_a_caller_who_leaves_cancels_all_work_for_them(story: Story) -> None:
    story.call("c1")
    said = story.tell(ev.TransportClosed("network_lost"))
    assert do.CancelThinker("c1") in said and do.HangUp("network_lost") in said
    assert story.machine.deadline() is None


def test_only_words_heard_before_leaving_are_remembered(story: Story) -> None:
    story.reply(ms=2000, text="one two three four")
    story.tell(ev.TransportClosed("disconnected"))
    said = story.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 1000),)))
    assert do.Remember("assistant", "one two") in said


def test_the_legs_of_a_turn_add_up(story: Story) -> None:
    story.now += 0.1
    story.tell(ev.ReplyStarted("r1", "answer-1"))
    story.now += 0.15
    story.tell(ev.ReplyText("r1", "i1", "Hel"))
    story.now += 0.05
    story.tell(ev.ReplyText("r1", "i1", "lo"), ev.ReplyAudio("r1", "i1", bytes(960)))
    story.now += 0.02
    story.tell(ev.PlaybackStarted("i1"))
    assert story.published(TurnMeasured) == [
        TurnMeasured(
            turn=1,
            hangover_ms=300,
            commit_ms=0,
            reply_started_ms=100,
            first_audio_ms=200,
            end_of_turn_ms=0,
            played_ms=20,
            first_sound_ms=620,
            first_token_ms=150,
            wait_ms=300,
            reason="eager",
        )
    ]


def test_a_provider_that_endpoints_gets_no_commits_and_its_coughs_are_deleted() -> None:
    story = Story(endpointing="provider")
    story.ask()
    assert not story.all(do.CommitInput) and purposes(story) == [Purpose.ANSWER]
    story.reply()
    story.tell(ev.SpeechStarted())
    story.now += 0.1
    story.tell(ev.SpeechStopped(100, 0), ev.InputCommitted("cough"), ev.UserTranscribed("cough", "hm"))
    assert do.DeleteItem("cough") in story.said
    assert not [c for c in story.all(do.Remember) if c.role == "user"]


def test_a_greeting_is_spoken_when_one_is_set() -> None:
    assert purposes(Story(greeting=True)) == [Purpose.GREETING]
    assert purposes(Story()) == []

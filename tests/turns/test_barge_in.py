"""The caller's words during a reply: agreement, interruption, laughter, a murmur, words for another person."""

import pytest

from backend.page_events import MurmurHeard, TranscriptCompleted
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.machine.floor.state import Floor
from backend.turns.utterances import UtteranceKind
from tests.turns.talk import Talk, replying


@pytest.fixture
def talk() -> Talk:
    """A call in which a long reply is being spoken."""
    return replying()


def test_an_agreement_is_noted_and_the_reply_goes_on(talk: Talk) -> None:
    talk.say(400)
    assert do.DuckPlayback() in talk.said
    talk.wait(0.15)
    talk.tell(ev.UtteranceRead(UtteranceKind.AGREEMENT, "mm-hmm"))
    assert do.UnduckPlayback() in talk.said
    talk.stop()
    talk.wait(2)
    assert talk.published(MurmurHeard) == [MurmurHeard("agreement", "mm-hmm")]
    talk.transcribe("mm-hmm")
    assert not talk.all(do.FlushPlayback) and talk.all(do.ClearInput)
    assert do.DeleteItem("u1") in talk.said, "it is no part of the conversation"
    assert talk.floor() is Floor.ASSISTANT and talk.machine.turn == 1
    assert len(talk.published(MurmurHeard)) == 1


def test_an_agreement_that_turns_into_an_objection_takes_the_floor(talk: Talk) -> None:
    talk.utter(400, UtteranceKind.AGREEMENT, "yeah")
    talk.tell(ev.SpeechResumed(400))
    assert talk.floor() is Floor.HELD
    talk.wait(0.5)
    assert talk.floor() is Floor.HELD, "the agreement does not count"
    talk.wait(0.1)
    assert talk.floor() is Floor.USER and talk.all(do.FlushPlayback)


def test_stop_takes_the_floor_as_soon_as_it_is_read(talk: Talk) -> None:
    talk.utter(300, UtteranceKind.COMMAND, "stop")
    assert talk.all(do.FlushPlayback) and talk.floor() is Floor.USER
    talk.stop()
    assert len(talk.all(do.CommitInput)) == 1


def test_an_unreadable_utterance_is_judged_by_its_length() -> None:
    cough, words = replying(), replying()
    for talk, ms in ((cough, 200), (words, 400)):
        talk.say(ms)
        talk.wait(0.15)
        talk.tell(ev.UtteranceRead(None))
        talk.stop()
    assert not cough.all(do.FlushPlayback) and cough.floor() is Floor.ASSISTANT
    assert words.floor() is Floor.HELD, "a transcript may come"
    words.wait(0.5)
    assert words.all(do.FlushPlayback)
    assert words.all(do.CreateReply)


def test_a_transcript_withdraws_a_turn_that_was_only_agreement(talk: Talk) -> None:
    talk.say(700)
    talk.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 3000),)))
    talk.stop()
    talk.transcribe("oh yeah that's right")
    assert do.RestorePlayback("i-r1", 9000) in talk.said and do.DeleteItem("u1") in talk.said
    assert talk.floor() is Floor.ASSISTANT and len(talk.all(do.CreateReply)) == 2


def test_a_transcript_gives_the_floor_to_a_misread_word(talk: Talk) -> None:
    talk.utter(300, UtteranceKind.AGREEMENT, "yeah")
    talk.stop()
    assert talk.floor() is Floor.ASSISTANT
    talk.transcribe("in celsius")
    assert talk.all(do.FlushPlayback)
    talk.wait(1)
    assert len(talk.all(do.CreateReply)) == 2
    words = [event for event in talk.published(TranscriptCompleted) if event.role == "user"]
    assert words[-1].content == "in celsius"


def test_a_transcript_turns_up_a_reply_that_stayed_turned_down(talk: Talk) -> None:
    talk.utter(300, UtteranceKind.OTHER)
    assert talk.floor() is Floor.HELD
    talk.stop()
    talk.transcribe("I see")
    assert talk.floor() is Floor.ASSISTANT and not talk.all(do.FlushPlayback)


def test_a_reply_that_was_cut_by_words_for_another_person_goes_on(talk: Talk) -> None:
    talk.say(1000)
    talk.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 3000),)))
    assert do.TruncateItem("i-r1", 3000) in talk.said
    talk.stop()
    talk.call_tool("r2", do.WAIT_FOR_USER)
    assert do.RestorePlayback("i-r1", 9000) in talk.said and talk.floor() is Floor.ASSISTANT
    talk.tell(ev.ReplyFinished("r2", "completed"), ev.PlaybackStarted("i-r1"), ev.PlaybackDrained("i-r1", 9000))
    assert [note.text for note in talk.all(do.AddNote)] == [
        'The caller had not meant you, so you went on and said: "four five six seven eight nine"'
    ]
    assert talk.floor() is Floor.LISTENING and len(talk.all(do.CreateReply)) == 2


def test_a_reply_cut_twice_is_counted_from_where_it_went_on(talk: Talk) -> None:
    talk.say(1000)
    talk.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 3000),)))
    talk.stop()
    talk.call_tool("r2", do.WAIT_FOR_USER)
    talk.tell(ev.ReplyFinished("r2", "completed"), ev.PlaybackStarted("i-r1"))
    talk.say(1000)
    talk.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 6000),)))
    assert talk.all(do.TruncateItem) == [do.TruncateItem("i-r1", 3000)], "the provider knows no more of it"
    assert "four five" in talk.all(do.AddNote)[-1].text


def test_while_interruptions_are_off_the_callers_words_are_answered_afterwards() -> None:
    talk = replying(interruptible=False)
    talk.say(1500)
    talk.stop()
    assert not talk.all(do.DuckPlayback) and not talk.all(do.FlushPlayback)
    assert len(talk.all(do.CommitInput)) == 1 and len(talk.all(do.CreateReply)) == 2
    assert talk.floor() is Floor.ASSISTANT


def test_interruptions_can_be_switched_during_the_call(talk: Talk) -> None:
    talk.tell(ev.InterruptionsSwitched(False))
    talk.say(1500)
    assert not talk.all(do.DuckPlayback)
    talk.stop()
    talk.tell(ev.InterruptionsSwitched(True))
    talk.say(1500)
    assert talk.all(do.FlushPlayback)


def test_a_notice_that_must_be_heard_is_not_interrupted(talk: Talk) -> None:
    talk.tell(ev.PlaybackDrained("i-r1", 9000), ev.NoticeArrived("n1", "This call is recorded.", interruptible=False))
    talk.wait(1.1)
    talk.reply(ms=5000, text="This call is recorded.", reply="r2")
    talk.say(1000)
    assert not talk.all(do.DuckPlayback) and not talk.all(do.FlushPlayback)
    talk.tell(ev.PlaybackDrained("i-r2", 5000))
    assert talk.all(do.NoticeDelivered) == [do.NoticeDelivered("n1")]


def test_words_that_began_like_a_hesitation_get_little_more_time(talk: Talk) -> None:
    """ "How much ..." is read as "hm" at first."""
    talk.tell(ev.SpeechStarted())
    talk.sound(0.32, UtteranceKind.HESITATION, "hm")
    talk.sound(0.12, UtteranceKind.OTHER, "how much")
    talk.wait(0.2)
    assert talk.floor() is Floor.HELD
    talk.wait(0.1)
    assert talk.floor() is Floor.USER


def test_a_beginning_like_a_command_is_read_twice_even_after_a_pause_of_the_voice(talk: Talk) -> None:
    """The reader heard "hey" for "great" when the voice paused before its last sound."""
    talk.say(320)
    talk.wait(0.1)
    talk.tell(ev.SpeechResumed(320), ev.UtteranceRead(UtteranceKind.COMMAND, "hey"))
    assert talk.floor() is Floor.HELD and not talk.all(do.FlushPlayback)


def test_a_hint_turns_the_reply_down_and_nothing_up_again(talk: Talk) -> None:
    talk.tell(ev.OnsetHinted(True))
    assert do.DuckPlayback() in talk.said and talk.floor() is Floor.ASSISTANT
    talk.tell(ev.OnsetHinted(False))
    assert talk.said[-1] == do.UnduckPlayback() and talk.floor() is Floor.ASSISTANT
    talk.tell(ev.OnsetHinted(True), ev.SpeechStarted(), ev.OnsetHinted(False))
    assert talk.floor() is Floor.HELD and len(talk.all(do.UnduckPlayback)) == 1, "it stays down: a voice has begun"


def test_a_hint_changes_nothing_on_a_call_without_ducking() -> None:
    talk = replying(interruptible=False)
    talk.tell(ev.OnsetHinted(True), ev.OnsetHinted(False))
    assert not talk.all(do.DuckPlayback) and not talk.all(do.UnduckPlayback) and not talk.all(do.HoldPlayback)


def test_an_off_axis_voice_does_not_interrupt(talk: Talk) -> None:
    talk.tell(ev.SpeechStarted())
    talk.wait(0.2)
    talk.tell(ev.VoiceOffAxis(True))
    assert do.UnduckPlayback() in talk.said
    talk.wait(1.5)
    talk.tell(ev.SpeechPaused(1700))
    talk.voiced_ms = 1700
    talk.stop()
    assert talk.floor() is Floor.ASSISTANT and not talk.all(do.FlushPlayback) and talk.all(do.ClearInput)


def test_a_voice_that_turns_towards_the_microphone_interrupts(talk: Talk) -> None:
    talk.tell(ev.SpeechStarted())
    talk.wait(0.2)
    talk.tell(ev.VoiceOffAxis(True))
    talk.wait(0.5)
    talk.tell(ev.VoiceOffAxis(False))
    assert talk.floor() is Floor.HELD
    talk.wait(0.6)
    assert talk.all(do.FlushPlayback)


def test_a_long_agreement_gets_more_time_than_an_interruption(talk: Talk) -> None:
    talk.tell(ev.SpeechStarted())
    talk.wait(0.42)
    assert do.ReadUtterance(partial=True) in talk.said
    talk.tell(ev.UtteranceRead(UtteranceKind.AGREEMENT, "yeah", partial=True))
    talk.wait(0.5)
    assert talk.floor() is Floor.HELD
    talk.wait(0.3)
    assert talk.floor() is Floor.USER, "not forever"


@pytest.mark.parametrize(("last", "held"), [(UtteranceKind.OTHER, False), (UtteranceKind.NOISE, True)])
def test_a_continued_murmur_gets_still_more_time(last: UtteranceKind, held: bool, talk: Talk) -> None:
    talk.tell(ev.SpeechStarted())
    for kind in (UtteranceKind.OTHER, UtteranceKind.AGREEMENT, UtteranceKind.AGREEMENT):
        talk.sound(0.2, kind, "yeah")
    talk.wait(0.38)
    assert talk.said.count(do.ReadUtterance(partial=True)) == 5
    talk.tell(ev.UtteranceRead(last, "", partial=True))
    talk.wait(0.3)
    assert (talk.floor() is Floor.HELD) == held
    talk.wait(0.2)
    assert talk.floor() is Floor.USER, "not forever"


@pytest.mark.parametrize("words", ["sorry", "hey", "enough"])
def test_a_sound_like_a_murmur_is_judged_by_its_transcript(words: str, talk: Talk) -> None:
    """The reader hears "sorry" for "er"."""
    talk.say(340)
    talk.wait(0.09)
    talk.tell(ev.UtteranceRead(UtteranceKind.COMMAND, words))
    talk.stop()
    assert talk.floor() is Floor.HELD and do.CommitInput() in talk.said
    talk.transcribe("er")
    assert talk.floor() is Floor.ASSISTANT and not talk.all(do.FlushPlayback)


@pytest.mark.parametrize(("words", "at_once"), [("no", False), ("no no", False), ("stop", True), ("wait", True)])
def test_a_possible_beginning_of_oh_okay_is_read_again_before_it_ends_the_reply(
    words: str, at_once: bool, talk: Talk
) -> None:
    talk.tell(ev.SpeechStarted())
    talk.sound(0.32, UtteranceKind.COMMAND, words)
    assert (talk.floor() is Floor.USER) == at_once
    talk.sound(0.12, UtteranceKind.COMMAND, words)
    assert talk.floor() is Floor.USER


@pytest.mark.parametrize(("words", "at_once"), [("be quiet", False), ("okay stop", True)])
def test_a_command_after_an_agreement_that_it_does_not_begin_with_is_read_again(
    words: str, at_once: bool, talk: Talk
) -> None:
    """The reader heard "be quiet" for "got it" at the second look."""
    talk.tell(ev.SpeechStarted())
    talk.sound(0.32, UtteranceKind.AGREEMENT, "okay")
    talk.sound(0.12, UtteranceKind.COMMAND, words)
    assert (talk.floor() is Floor.USER) == at_once
    talk.sound(0.12, UtteranceKind.COMMAND, words)
    assert talk.floor() is Floor.USER


def test_a_stop_ends_the_reply_though_its_last_sound_comes_during_the_reading(talk: Talk) -> None:
    talk.say(240)
    talk.wait(0.07)
    assert do.ReadUtterance() in talk.said
    talk.tell(ev.SpeechResumed(240))
    talk.tell(ev.UtteranceRead(UtteranceKind.COMMAND, "stop"))
    assert talk.all(do.FlushPlayback) and talk.floor() is Floor.USER


def test_a_word_that_is_read_as_a_murmur_is_still_transcribed(talk: Talk) -> None:
    talk.say(300)
    talk.wait(0.07)
    talk.tell(ev.UtteranceRead(UtteranceKind.AGREEMENT, "why not"))
    assert do.UnduckPlayback() in talk.said and do.CommitInput() in talk.said
    talk.voiced_ms = 300
    talk.stop()
    talk.transcribe("be quiet")
    assert talk.all(do.FlushPlayback)


def test_a_long_stop_is_understood_while_it_is_spoken(talk: Talk) -> None:
    talk.tell(ev.SpeechStarted())
    talk.sound(0.32, UtteranceKind.OTHER)
    assert talk.floor() is Floor.HELD
    talk.wait(0.12)
    assert talk.said.count(do.ReadUtterance(partial=True)) == 3
    talk.tell(ev.UtteranceRead(UtteranceKind.COMMAND, "stop", partial=True))
    assert talk.all(do.FlushPlayback) and talk.floor() is Floor.USER


def test_an_utterance_that_cut_a_reply_is_answered_without_the_hangover(talk: Talk) -> None:
    talk.say(900)
    talk.wait(0.13)
    assert talk.floor() is Floor.PAUSING and len(talk.all(do.CreateReply)) == 2
    talk.tell(ev.SpeechResumed(900))
    talk.wait(0.04)
    assert talk.floor() is Floor.PAUSING, "it may be noise"
    talk.wait(0.06)
    assert talk.floor() is Floor.USER and talk.all(do.CancelReply)
    talk.tell(ev.ReplyStarted("r2", "answer-2"), ev.ReplyFinished("r2", "cancelled"))
    talk.tell(ev.SpeechPaused(1400))
    talk.voiced_ms = 1400
    talk.stop()
    talk.wait(1)
    assert len(talk.all(do.CreateReply)) == 3


def test_a_laugh_that_cut_a_reply_is_no_turn(talk: Talk) -> None:
    talk.say(700)
    talk.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 3000),)))
    talk.stop()
    talk.transcribe("")
    assert talk.all(do.RestorePlayback)

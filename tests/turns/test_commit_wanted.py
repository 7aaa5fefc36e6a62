"""A program that commits its caller's input, though the server finds turns."""

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.machine.floor.state import Floor
from tests.turns.talk import Talk, replying


def test_a_commit_during_speech_sends_the_segment_and_the_turn_goes_on(talk: Talk) -> None:
    talk.tell(ev.SpeechStarted())
    talk.wait(1)
    assert do.CommitInput() in talk.tell(ev.InputCommitWanted())
    assert talk.floor() is Floor.USER and not talk.all(do.CreateReply), "a commit alone asks for nothing"
    talk.wait(0.5)
    talk.tell(ev.SpeechPaused(1500))
    talk.wait(0.28)
    talk.tell(ev.SpeechStopped(1500, 300))
    assert len(talk.all(do.CommitInput)) == 2, "the rest is committed, too"
    assert len(talk.all(do.CreateReply)) == 1 and talk.machine.turn == 1


def test_a_segment_that_was_committed_in_a_pause_is_not_committed_twice(talk: Talk) -> None:
    talk.say()
    assert do.CommitInput() in talk.tell(ev.InputCommitWanted())
    talk.stop()
    assert len(talk.all(do.CommitInput)) == 1
    assert not talk.tell(ev.InputCommitWanted()), "nothing was said since"


def test_the_end_of_a_committed_word_is_no_segment_of_its_own(talk: Talk) -> None:
    talk.tell(ev.SpeechStarted())
    talk.wait(1)
    assert do.CommitInput() in talk.tell(ev.InputCommitWanted())
    talk.wait(0.06)
    talk.tell(ev.SpeechPaused(1040))
    talk.wait(0.28)
    talk.tell(ev.SpeechStopped(1040, 300))
    assert len(talk.all(do.CommitInput)) == len(talk.all(do.CreateReply)) == 1


def test_silence_and_noise_are_not_committed(talk: Talk) -> None:
    assert not talk.tell(ev.InputCommitWanted())
    talk.tell(ev.SpeechStarted())
    talk.wait(0.04)
    assert not talk.tell(ev.InputCommitWanted())
    talk.tell(ev.SpeechPaused(40), ev.SpeechStopped(40, 300))
    assert not talk.all(do.CommitInput) and talk.floor() is Floor.LISTENING


def test_a_commit_over_a_reply_takes_the_floor() -> None:
    talk = replying()
    talk.tell(ev.SpeechStarted())
    talk.wait(0.2)
    assert talk.floor() is Floor.HELD
    assert do.CommitInput() in talk.tell(ev.InputCommitWanted())
    assert talk.floor() is Floor.USER and talk.all(do.FlushPlayback)


def test_a_provider_that_finds_the_turns_gets_the_commit() -> None:
    talk = Talk(endpointing="provider")
    talk.tell(ev.SpeechStarted())
    talk.wait(1)
    assert talk.tell(ev.InputCommitWanted()).count(do.CommitInput()) == 1

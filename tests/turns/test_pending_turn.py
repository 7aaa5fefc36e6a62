"""The pending turn: its reply is prepared early and played late, and it stays one turn across pauses."""

import pytest

from backend.page_events import ReplyDiscarded, TranscriptCompleted, TranscriptInterrupted, TurnMeasured
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.pending_turn.waiting import CREDIT_PER_TURN, HINTED_S
from backend.turns.utterances import UtteranceKind
from tests.turns.talk import Talk, replying


def test_input_is_committed_before_the_turn_is_over_so_that_its_words_are_known(talk: Talk) -> None:
    talk.say()
    talk.wait(0.09)
    assert not talk.all(do.CommitInput)
    talk.wait(0.02)
    assert len(talk.all(do.CommitInput)) == 1
    talk.stop()
    assert len(talk.all(do.CommitInput)) == 1, "nothing new was said"


def test_a_prepared_reply_sounds_only_when_the_turn_counts_as_over(talk: Talk) -> None:
    talk.say()
    talk.stop()
    assert talk.floor() is Floor.PAUSING and len(talk.all(do.CreateReply)) == 1
    talk.answer()
    assert not talk.all(do.Play)
    talk.wait(0.38)
    assert not talk.all(do.Play)
    talk.wait(0.01)
    assert talk.all(do.Play) and talk.floor() is Floor.ASSISTANT, "so that it is heard after 700 ms"


@pytest.fixture
def prepared(talk: Talk) -> Talk:
    """A caller has paused, and a reply is prepared; in 14 ms it may sound."""
    talk.say()
    talk.stop()
    talk.answer()
    talk.wait(0.37)
    return talk


def test_a_prepared_reply_waits_a_moment_for_a_voice_that_may_be_beginning(prepared: Talk) -> None:
    prepared.tell(ev.OnsetHinted(True))
    prepared.wait(0.06)
    prepared.tell(ev.SpeechStarted(), ev.OnsetHinted(False))
    prepared.wait(0.3)
    assert not prepared.all(do.Play) and prepared.floor() is Floor.USER, "the caller has gone on, and heard nothing"


@pytest.mark.parametrize("nothing_after_s", [0.06, None])
def test_a_hint_delays_a_reply_until_it_ends_or_for_a_tenth_of_a_second(
    nothing_after_s: float | None, prepared: Talk
) -> None:
    prepared.tell(ev.OnsetHinted(True))
    prepared.wait(nothing_after_s or 0.014 + HINTED_S)
    assert not prepared.all(do.Play)
    if nothing_after_s:
        prepared.tell(ev.OnsetHinted(False))
    prepared.wait(0.002)
    assert prepared.all(do.Play)


def test_words_that_complete_a_question_bring_the_reply_immediately(talk: Talk) -> None:
    talk.say()
    talk.wait(0.1)
    talk.stop()
    talk.answer()
    talk.transcribe("what is the weather in seattle tomorrow")
    talk.tell(ev.SentenceEndEstimated("what is the weather in seattle tomorrow", -0.4))
    talk.wait(0.15)
    assert talk.all(do.Play)


def test_words_that_trail_off_delay_the_reply(talk: Talk) -> None:
    talk.say()
    talk.stop()
    talk.answer()
    talk.transcribe("I would like to know the")
    talk.wait(0.9)
    assert not talk.all(do.Play) and talk.floor() is Floor.PAUSING


def test_a_caller_who_goes_on_has_heard_nothing_and_the_segments_are_one_turn(talk: Talk) -> None:
    talk.say()
    talk.stop()
    talk.answer()
    talk.transcribe("what is the weather")
    talk.say(600)
    assert do.DeleteItem("i-r1") in talk.said and not talk.all(do.Play)
    assert talk.published(ReplyDiscarded) == [ReplyDiscarded(1, 100, 20)]
    talk.stop()
    talk.transcribe("in seattle tomorrow")
    talk.wait(3)
    talk.answer("r2")
    assert talk.machine.turn == 1
    assert talk.all(do.Remember)[0] == do.Remember("user", "what is the weather in seattle tomorrow")
    words = [event for event in talk.published(TranscriptCompleted) if event.role == "user"]
    assert words == [TranscriptCompleted("user", "u1", "what is the weather in seattle tomorrow")]
    talk.tell(ev.PlaybackStarted("i-r2"))
    [measured] = talk.published(TurnMeasured)
    assert measured.segments == 2 and measured.discarded == 1 and measured.reason


def test_a_reply_in_preparation_is_cancelled_when_the_caller_goes_on(talk: Talk) -> None:
    talk.say()
    talk.stop()
    request = talk.all(do.CreateReply)[-1].request
    talk.tell(ev.ReplyStarted("r1", request), ev.ReplyText("r1", "i1", "It"))
    talk.say(600)
    assert do.CancelReply("r1") in talk.said and do.DeleteItem("i1") in talk.said
    talk.tell(ev.ReplyFinished("r1", "cancelled", input_tokens=90, output_tokens=3))
    assert talk.published(ReplyDiscarded) == [ReplyDiscarded(1, 90, 3)]


def spoken_into(talk: Talk, after_s: float = 0.3) -> None:
    """A reply begins to sound after "what is the weather". The caller speaks again so long after that."""
    talk.say()
    talk.stop()
    talk.transcribe("what is the weather")
    talk.wait(1.2)
    talk.answer()
    talk.tell(ev.PlaybackStarted("i-r1"))
    talk.wait(after_s)
    talk.say(600)
    assert talk.all(do.FlushPlayback)
    talk.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 800),)))


def test_a_caller_who_goes_on_after_a_false_start_gets_one_answer_to_one_turn(talk: Talk) -> None:
    spoken_into(talk)
    assert do.DeleteItem("i-r1") in talk.said and not talk.all(do.TruncateItem)
    assert not [said for said in talk.all(do.Remember) if said.role == "assistant"]
    assert [cut.heard for cut in talk.published(TranscriptInterrupted)] == [""]
    talk.stop()
    talk.transcribe("in seattle tomorrow")
    talk.wait(2.5)
    talk.answer("r2")
    talk.tell(ev.PlaybackStarted("i-r2"))
    assert talk.machine.turn == 1
    said = [event.content for event in talk.published(TranscriptCompleted) if event.role == "user"]
    assert said == ["what is the weather", "what is the weather in seattle tomorrow"]
    assert {event.item_id for event in talk.published(TranscriptCompleted)} == {"u1"}
    assert talk.all(do.Remember) == [
        do.Remember("user", "what is the weather"),
        do.Remember("user", "in seattle tomorrow"),
    ]
    assert talk.published(TurnMeasured)[-1].segments == 2


def test_a_segment_committed_over_a_false_start_belongs_to_its_turn(talk: Talk) -> None:
    talk.say()
    talk.stop()
    talk.transcribe("what is the weather")
    talk.wait(1.2)
    talk.answer()
    talk.tell(ev.PlaybackStarted("i-r1"))
    talk.say(350)
    talk.wait(0.15)
    talk.tell(ev.InputCommitted("u2"))
    talk.tell(ev.SpeechStopped(350, 300), ev.UserTranscribed("u2", "in seattle"))
    assert do.FlushPlayback() in talk.said and talk.machine.turn == 1
    talk.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 500),)))
    talk.wait(3)
    assert talk.published(TranscriptCompleted)[-1] == TranscriptCompleted(
        "user", "u1", "what is the weather in seattle"
    )


def test_later_words_into_a_reply_are_another_turn(talk: Talk) -> None:
    spoken_into(talk, 1.3)
    talk.stop()
    assert do.TruncateItem("i-r1", 800) in talk.said and talk.machine.turn == 2


@pytest.mark.parametrize(("after_s", "turn"), [(0.8, 2), (0.2, 1)])
def test_no_refuses_the_reply_or_corrects_the_words_just_before(after_s: float, turn: int, talk: Talk) -> None:
    talk.say()
    talk.stop()
    talk.wait(1.2)
    talk.answer()
    talk.tell(ev.PlaybackStarted("i-r1"))
    talk.wait(after_s)
    talk.tell(ev.SpeechStarted())
    talk.wait(0.3)
    talk.tell(ev.SpeechPaused(300))
    talk.wait(0.07)
    talk.tell(ev.UtteranceRead(UtteranceKind.COMMAND, "no"))
    talk.stop()
    assert do.FlushPlayback() in talk.said and talk.machine.turn == turn


def test_a_reply_cut_by_a_murmur_at_its_beginning_goes_on_whole(talk: Talk) -> None:
    spoken_into(talk)
    talk.stop()
    talk.transcribe("mm-hmm yeah")
    assert do.RestorePlayback("i-r1", 1000) in talk.said and talk.machine.turn == 1
    assert do.DeleteItem("u2") in talk.said
    talk.tell(ev.PlaybackDrained("i-r1", 1000))
    assert talk.all(do.Remember)[-1] == do.Remember("assistant", "It is sunny.")
    assert talk.published(TranscriptCompleted)[-1] == TranscriptCompleted("assistant", "i-r1", "It is sunny.")


def test_tool_calls_do_not_start_while_the_caller_may_go_on(talk: Talk) -> None:
    talk.say()
    talk.stop()
    talk.call_tool()
    talk.tell(ev.ReplyFinished("r1", "completed"))
    assert not talk.all(do.RunThinker)
    talk.say(600)
    assert not talk.all(do.RunThinker) and [each.call for each in talk.all(do.SubmitResult)] == ["c1"]


def test_a_tool_call_that_had_started_serves_the_continued_turn(talk: Talk) -> None:
    talk.say()
    talk.stop()
    talk.call_tool()
    talk.tell(ev.ReplyFinished("r1", "completed"))
    talk.wait(0.6)
    talk.say(600)
    talk.tell(ev.ThinkerFinished("c1", "12 degrees"))
    talk.stop()
    talk.wait(1)
    assert talk.machine.turn == 1 and not talk.all(do.CancelThinker)
    assert do.SubmitResult("c1", "12 degrees") in talk.said
    assert [create.purpose.value for create in talk.all(do.CreateReply)] == ["answer", "answer"]


def test_noise_in_a_pause_only_delays_the_reply(talk: Talk) -> None:
    talk.say()
    talk.stop()
    talk.answer()
    talk.tell(ev.SpeechStarted())
    talk.wait(0.04)
    talk.tell(ev.SpeechPaused(40))
    talk.wait(0.28)
    talk.tell(ev.SpeechStopped(40, 300))
    talk.wait(0.2)
    assert talk.all(do.Play) and not talk.published(ReplyDiscarded)


def test_after_a_turn_with_a_pause_a_short_turn_waits_for_its_words_until_three_were_whole(talk: Talk) -> None:
    asked, asked_early = 0, list[bool]()
    for turn, pauses in enumerate((True, False, False, False, False)):
        talk.say()
        talk.stop()
        asked_early.append(len(talk.all(do.CreateReply)) > asked)
        talk.transcribe("turn off the lights please")
        if pauses:
            talk.answer("discarded")
            talk.say(600)
            talk.stop()
            talk.transcribe("in the kitchen")
        talk.wait(1.5)
        talk.answer(f"r{turn}")
        talk.tell(ev.PlaybackStarted(f"i-r{turn}"), ev.PlaybackDrained(f"i-r{turn}", 1000))
        talk.wait(3)
        asked = len(talk.all(do.CreateReply))
    assert asked_early == [True, False, False, False, True]


def test_replies_are_prepared_on_credit(talk: Talk) -> None:
    for turn in range(4):
        talk.say()
        talk.stop()
        asked = len(talk.all(do.CreateReply))
        talk.say(600)
        talk.stop()
        talk.wait(2)
        talk.answer(f"r{turn}")
        talk.tell(ev.PlaybackStarted(f"i-r{turn}"), ev.PlaybackDrained(f"i-r{turn}", 1000))
        talk.wait(0.5)
    assert asked
    assert sum(event.discarded for event in talk.published(TurnMeasured)) <= 1 + CREDIT_PER_TURN * 4


def test_um_alone_is_no_turn(talk: Talk) -> None:
    talk.say(400)
    talk.wait(0.15)
    assert talk.all(do.ReadUtterance)
    talk.tell(ev.UtteranceRead(UtteranceKind.HESITATION, "um"))
    talk.stop()
    assert talk.floor() is Floor.PAUSING
    talk.transcribe("um")
    talk.wait(3)
    assert talk.floor() is Floor.LISTENING and talk.machine.turn == 0
    assert not talk.all(do.CreateReply) and do.DeleteItem("u1") in talk.said


def test_a_word_that_was_read_as_um_is_answered() -> None:
    for words in ("hello there", None):
        talk = Talk()
        talk.utter(400, UtteranceKind.HESITATION, "er")
        talk.stop()
        assert not talk.all(do.CreateReply)
        if words:
            talk.transcribe(words)
        talk.wait(0.8 if words else 2.5)
        assert talk.machine.turn == 1 and talk.all(do.CreateReply)


def test_um_before_a_question_belongs_to_it(talk: Talk) -> None:
    talk.utter(400, UtteranceKind.HESITATION, "um")
    talk.stop()
    talk.wait(1)
    talk.say(1500)
    talk.stop()
    talk.wait(1)
    assert talk.machine.turn == 1 and not talk.all(do.ClearInput) and not talk.all(do.DeleteItem)
    assert talk.all(do.CreateReply)


def test_silence_of_the_responder_after_typed_words_is_not_accepted(talk: Talk) -> None:
    talk.tell(ev.TextTyped("hello"))
    talk.call_tool(name=do.WAIT_FOR_USER)
    talk.tell(ev.ReplyFinished("r1", "completed"))
    talk.wait(1)
    assert len(talk.all(do.CreateReply)) == 2


def test_an_answer_begun_over_the_end_of_our_question_is_a_turn(talk: Talk) -> None:
    talk.tell(ev.TextTyped("hello"))
    talk.reply(ms=2000, text="Shall I book it?")
    talk.tell(ev.SpeechStarted())
    talk.wait(0.2)
    talk.tell(ev.PlaybackDrained("i-r1", 2000))
    assert talk.floor() is Floor.USER
    talk.tell(ev.SpeechPaused(300))
    talk.wait(0.15)
    talk.tell(ev.UtteranceRead(UtteranceKind.AGREEMENT, "yes"))
    talk.voiced_ms = 300
    talk.stop()
    talk.wait(0.2)
    assert len(talk.all(do.CommitInput)) == 1 and len(talk.all(do.CreateReply)) == 2


def test_a_caller_who_hangs_up_in_a_pause_is_remembered(talk: Talk) -> None:
    talk.say()
    talk.stop()
    talk.transcribe("please call me back on")
    talk.tell(ev.TransportClosed("disconnected"))
    assert talk.all(do.Remember) == [do.Remember("user", "please call me back on")]


def test_a_provider_that_endpoints_has_the_last_word_on_the_end_of_a_turn() -> None:
    talk = Talk(endpointing="provider")
    talk.tell(ev.SpeechStarted(), ev.SpeechStopped(1500))
    talk.answer()
    assert talk.all(do.Play)


def test_words_typed_after_a_murmur_are_answered() -> None:
    talk = replying()
    talk.say(700)
    talk.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 3000),)))
    talk.stop()
    talk.tell(ev.TextTyped("and tomorrow?"))
    talk.transcribe("yes")
    talk.tell(ev.ReplyStarted("r2", "answer-2"), ev.ReplyFinished("r2", "cancelled"))
    assert len(talk.all(do.CreateReply)) == 3 and not talk.all(do.RestorePlayback)


def test_a_failed_transcript_withdraws_no_turn() -> None:
    talk = replying()
    talk.say(700)
    talk.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 3000),)))
    talk.stop()
    talk.transcribe("", failed=True)
    assert not talk.all(do.RestorePlayback)
    talk.wait(1)
    assert len(talk.all(do.CreateReply)) == 2


def test_a_segment_committed_over_the_end_of_a_reply_begins_its_turn() -> None:
    talk = replying()
    talk.say(400)
    talk.wait(0.13)
    assert talk.all(do.CommitInput)
    talk.tell(ev.PlaybackDrained("i-r1", 9000), ev.ReplyFinished("r1", "completed"))
    assert talk.floor() is Floor.USER
    talk.tell(ev.SpeechResumed(400))
    talk.wait(0.6)
    talk.tell(ev.SpeechPaused(1000))
    talk.transcribe("I want to")
    talk.voiced_ms = 1000
    talk.stop()
    talk.transcribe("change my flight")
    talk.wait(1)
    assert not talk.all(do.DeleteItem)
    assert talk.published(TranscriptCompleted)[-1].content == "I want to change my flight"

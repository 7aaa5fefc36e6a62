"""Each rule of turn-taking, told as a short story. Time is a number; nothing waits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeVar

from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.conversation.commands import Clip, Command, Purpose
from backend.conversation.limits import TurnLimits
from backend.conversation.machine.state import Floor
from backend.conversation.page_events import (
    ErrorShown,
    IdleNudged,
    ThinkerChanged,
    TranscriptInterrupted,
    TurnMeasured,
)
from backend.conversation.patience import EndpointingStyle
from backend.conversation.turn import TurnMachine

MS = 48
T = TypeVar("T")


class Story:
    """Tells a machine what happens and keeps what it says."""

    def __init__(self, **limits: Any) -> None:
        limits.setdefault("style", EndpointingStyle.EAGER)  # what may be waited for is told in test_open_turn.py
        self.machine = TurnMachine(TurnLimits(**limits))
        self.now = 0.0
        self.said: list[Command] = []
        self.tell(ev.CallStarted())

    def tell(self, *events: ev.Event) -> list[Command]:
        said = [command for event in events for command in self.machine.receive(event, self.now)]
        self.said += said
        return said

    def wait(self, seconds: float) -> list[Command]:
        """Let time go by, meeting every deadline on the way."""
        until, said = self.now + seconds, []
        while (due := self.machine.deadline()) is not None and due <= until:
            self.now = max(due, self.now)
            said += self.machine.expire(self.now)
        self.now = until
        self.said += said
        return said

    def all(self, kind: type[T]) -> list[T]:
        return [command for command in self.said if isinstance(command, kind)]

    def published(self, kind: type[T]) -> list[T]:
        return [command.event for command in self.all(do.Publish) if isinstance(command.event, kind)]

    def floor(self) -> Floor:
        return self.machine.floor

    def ask(self) -> None:
        """The caller says something; its reply is requested."""
        self.tell(ev.SpeechStarted())
        self.now += 1
        self.tell(ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300))

    def reply(self, ms: int = 2000, text: str = "It is sunny in Seattle today.", reply: str = "r1") -> None:
        """The requested reply comes, whole, and begins to play."""
        request = self.all(do.CreateReply)[-1].request
        self.tell(
            ev.ReplyStarted(reply, request),
            ev.ReplyText(reply, f"i-{reply}", text),
            ev.ReplyAudio(reply, f"i-{reply}", bytes(ms * MS)),
            ev.ReplyFinished(reply, "completed"),
            ev.PlaybackStarted(f"i-{reply}"),
        )

    def call(self, *calls: str, reply: str = "r1") -> None:
        """The requested reply is nothing but tool calls."""
        request = self.all(do.CreateReply)[-1].request
        self.tell(ev.ReplyStarted(reply, request))
        self.tell(*(ev.ToolCalled(reply, call, "route_to_thinker", "{}") for call in calls))
        self.tell(ev.ReplyFinished(reply, "completed"))


def purposes(story: Story) -> list[Purpose]:
    return [command.purpose for command in story.all(do.CreateReply)]


def test_a_turn_is_committed_and_answered() -> None:
    story = Story()
    story.ask()
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


def test_speech_onset_turns_playback_down_at_once() -> None:
    story = Story()
    story.ask()
    story.reply()
    assert do.DuckPlayback() in story.tell(ev.SpeechStarted())
    assert story.floor() is Floor.HELD


def test_cough_resumes_the_reply() -> None:
    story = Story()
    story.ask()
    story.reply()
    story.tell(ev.SpeechStarted())
    story.now += 0.15
    story.tell(ev.SpeechPaused(150))
    assert story.wait(0.3) == [do.CommitInput()], "a transcript may still say that it was a word"
    said = story.tell(ev.SpeechStopped(150, 300))
    assert do.UnduckPlayback() in said and do.ClearInput() in said
    assert not story.all(do.CancelReply) and not story.all(do.FlushPlayback)
    assert story.floor() is Floor.ASSISTANT


def test_two_coughs_within_one_hangover_add_up_only_their_voices() -> None:
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


def test_speech_that_lasts_takes_the_floor() -> None:
    story = Story()
    story.ask()
    request = story.all(do.CreateReply)[-1].request
    story.tell(ev.ReplyStarted("r1", request), ev.ReplyAudio("r1", "i1", bytes(2000 * MS)), ev.SpeechStarted())
    said = story.wait(0.6)
    assert do.CancelReply("r1") in said and do.FlushPlayback() in said
    assert story.floor() is Floor.USER


def test_an_interrupted_item_is_truncated_to_what_was_heard() -> None:
    story = Story()
    story.ask()
    story.reply(ms=4000, text="one two three four")
    story.wait(1.4)
    story.tell(ev.SpeechStarted())
    story.wait(0.6)
    said = story.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 2000),)))
    assert do.TruncateItem("i-r1", 2000) in said
    assert do.Remember("assistant", "one two") in said
    assert story.published(TranscriptInterrupted)[0].heard == "one two"


def test_an_item_nobody_heard_is_deleted_and_not_remembered() -> None:
    story = Story()
    story.ask()
    story.reply()
    story.tell(ev.SpeechStarted())
    story.wait(0.6)
    said = story.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 0),)))
    assert do.DeleteItem("i-r1") in said
    assert not any(isinstance(command, do.Remember) for command in said)


def test_an_item_heard_to_its_end_before_the_cut_stays_whole() -> None:
    story = Story()
    story.ask()
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


def test_late_audio_of_a_cancelled_reply_is_never_played() -> None:
    story = Story()
    story.ask()
    request = story.all(do.CreateReply)[-1].request
    story.tell(ev.ReplyStarted("r1", request), ev.ReplyAudio("r1", "i1", bytes(960)), ev.SpeechStarted())
    story.wait(0.6)
    assert story.tell(ev.ReplyAudio("r1", "i1", bytes(960)), ev.ReplyText("r1", "i1", "late")) == []


def test_the_next_reply_waits_until_the_cancelled_one_is_confirmed() -> None:
    story = Story()
    story.ask()
    request = story.all(do.CreateReply)[-1].request
    story.tell(ev.ReplyStarted("r1", request), ev.SpeechStarted())
    story.wait(0.6)
    story.tell(ev.SpeechPaused(400), ev.SpeechStopped(400, 300))
    assert len(story.all(do.CreateReply)) == 1
    story.tell(ev.ReplyFinished("r1", "cancelled"))
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]


def test_a_cancellation_nobody_confirms_does_not_silence_the_call() -> None:
    story = Story()
    story.ask()
    request = story.all(do.CreateReply)[-1].request
    story.tell(ev.ReplyStarted("r1", request), ev.SpeechStarted())
    story.wait(0.6)
    story.tell(ev.SpeechPaused(400), ev.SpeechStopped(400, 300))
    story.wait(3)
    assert len(story.all(do.CreateReply)) == 2


def test_a_refused_reply_is_asked_for_again() -> None:
    story = Story()
    story.ask()
    request = story.all(do.CreateReply)[-1].request
    story.tell(ev.ReplyRefused(request, "conversation_already_has_active_response"))
    story.wait(0.3)
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]


def test_a_reply_that_never_comes_is_retried_and_then_apologised_for_within_ten_seconds() -> None:
    story = Story()
    story.ask()
    story.wait(9.5)
    assert len(story.all(do.CreateReply)) == 2
    assert do.PlayClip(Clip.SORRY) in story.said
    assert story.published(ErrorShown)


def test_a_failed_reply_is_asked_for_once_more() -> None:
    story = Story()
    story.ask()
    story.tell(ev.ReplyStarted("r1", "answer-1"), ev.ReplyFinished("r1", "failed", "server_error"))
    story.wait(0.3)
    story.tell(ev.ReplyStarted("r2", "answer-2"), ev.ReplyFinished("r2", "failed", "server_error"))
    assert do.PlayClip(Clip.SORRY) in story.said


def test_a_reply_nobody_asked_for_is_cancelled() -> None:
    story = Story()
    assert story.tell(ev.ReplyStarted("r9")) == [do.CancelReply("r9")]


def test_a_tool_call_runs_a_thinker_and_its_result_is_spoken() -> None:
    story = Story()
    story.ask()
    story.call("c1")
    assert story.all(do.RunThinker) == [do.RunThinker("c1", "route_to_thinker", "{}")]
    story.tell(ev.ThinkerFinished("c1", "12 degrees"))
    assert story.all(do.SubmitResult) == [do.SubmitResult("c1", "12 degrees")]
    assert purposes(story) == [Purpose.ANSWER, Purpose.RESULT]


def test_two_calls_of_one_reply_are_spoken_as_one_answer() -> None:
    story = Story()
    story.ask()
    story.call("c1", "c2")
    story.tell(ev.ThinkerFinished("c1", "one"))
    assert purposes(story) == [Purpose.ANSWER]
    story.tell(ev.ThinkerFailed("c2", "no service"))
    assert purposes(story) == [Purpose.ANSWER, Purpose.RESULT]
    assert len(story.all(do.SubmitResult)) == 2


def test_a_result_that_comes_twice_is_submitted_once() -> None:
    story = Story()
    story.ask()
    story.call("c1")
    story.tell(ev.ThinkerFinished("c1", "one"), ev.ThinkerFailed("c1", "too late"))
    assert len(story.all(do.SubmitResult)) == 1


def test_a_call_of_a_cancelled_reply_is_answered_at_once_and_runs_nothing() -> None:
    story = Story()
    story.ask()
    story.tell(ev.ReplyStarted("r1", "answer-1"), ev.SpeechStarted())
    story.wait(0.6)
    story.tell(ev.ToolCalled("r1", "c1", "route_to_thinker", "{}"))
    assert len(story.all(do.SubmitResult)) == 1 and not story.all(do.RunThinker)


def test_a_stale_result_is_submitted_but_not_spoken() -> None:
    story = Story()
    story.ask()
    story.call("c1")
    story.wait(3)
    story.ask()
    story.reply(reply="r2")
    story.tell(ev.PlaybackDrained("i-r2", 2000))
    story.tell(ev.ThinkerFinished("c1", "too late"))
    assert story.all(do.SubmitResult) == [do.SubmitResult("c1", "too late")]
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]
    assert story.published(ThinkerChanged) == [ThinkerChanged("c1", "stale")]


def late_answer(story: Story) -> None:
    """A Thinker answers when the caller has moved on, and the reply to the newer turn was heard."""
    story.ask()
    story.call("c1")
    story.wait(3)
    story.ask()
    story.reply(reply="r2")
    story.tell(ev.PlaybackDrained("i-r2", 2000))
    story.tell(ev.ThinkerFinished("c1", "too late"))


def test_a_stale_answer_that_is_asked_for_is_spoken_once() -> None:
    story = Story()
    late_answer(story)
    said = story.tell(ev.LateAnswerWanted("c1", "12 degrees"))
    assert do.AddNote("12 degrees") in said
    assert purposes(story)[-1] is Purpose.RESULT
    assert story.published(ThinkerChanged)[-1] == ThinkerChanged("c1", "complete")
    story.reply(reply="r3")
    story.tell(ev.PlaybackDrained("i-r3", 2000))
    assert story.tell(ev.LateAnswerWanted("c1", "12 degrees")) == []


def test_a_stale_answer_asked_for_while_the_caller_speaks_comes_after_the_answer_to_that() -> None:
    story = Story()
    late_answer(story)
    story.tell(ev.SpeechStarted(), ev.LateAnswerWanted("c1", "12 degrees"))
    story.now += 1
    story.tell(ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300))
    assert purposes(story)[-1] is Purpose.ANSWER
    assert not story.all(do.AddNote)
    story.reply(reply="r3")
    assert story.all(do.AddNote) == [do.AddNote("12 degrees")]
    assert purposes(story)[-1] is Purpose.RESULT


def test_a_further_turn_makes_an_answer_asked_for_stale_again() -> None:
    story = Story()
    late_answer(story)
    story.tell(ev.TextTyped("hello"), ev.LateAnswerWanted("c1", "12 degrees"), ev.TextTyped("no, wait"))
    assert [event.stage for event in story.published(ThinkerChanged)] == ["stale", "complete", "stale"]
    assert Purpose.RESULT not in purposes(story)


def test_only_an_answer_nobody_heard_can_be_asked_for() -> None:
    story = Story()
    story.ask()
    story.call("c1")
    assert story.tell(ev.LateAnswerWanted("c1", "not yet"), ev.LateAnswerWanted("c9", "nobody's")) == []
    story.tell(ev.ThinkerFinished("c1", "12 degrees"))
    assert story.tell(ev.LateAnswerWanted("c1", "it is being spoken")) == []


def test_a_dismissed_thinker_stops_and_its_call_is_answered_once() -> None:
    story = Story()
    story.ask()
    story.reply()
    story.tell(ev.PlaybackDrained("i-r1", 2000))
    story.tell(ev.TextTyped("and Paris?"))
    story.call("c1", reply="r2")
    said = story.tell(ev.ThinkerDismissed("c1"), ev.ThinkerFinished("c1", "too late"), ev.ThinkerDismissed("c1"))
    assert said[0] == do.CancelThinker("c1")
    assert len(story.all(do.SubmitResult)) == 1
    assert story.published(ThinkerChanged) == [ThinkerChanged("c1", "cancelled")]


def test_a_dismissal_before_any_word_was_said_is_acknowledged() -> None:
    story = Story()
    story.ask()
    story.call("c1")
    story.tell(ev.ThinkerDismissed("c1"))
    assert purposes(story) == [Purpose.ANSWER, Purpose.RESULT]


def test_a_dismissal_after_an_acknowledgement_is_silent_and_starts_idling_anew() -> None:
    story = Story(idle_nudge_s=15)
    story.ask()
    request = story.all(do.CreateReply)[-1].request
    story.tell(
        ev.ReplyStarted("r1", request),
        ev.ReplyAudio("r1", "i1", bytes(500 * MS)),
        ev.ToolCalled("r1", "c1", "route_to_thinker", "{}"),
        ev.ReplyFinished("r1", "completed"),
        ev.PlaybackStarted("i1"),
        ev.PlaybackDrained("i1", 500),
    )
    story.now += 14
    story.tell(ev.ThinkerDismissed("c1"))
    story.wait(14)
    assert purposes(story) == [Purpose.ANSWER]
    story.wait(2)
    assert purposes(story) == [Purpose.ANSWER, Purpose.NUDGE]


def test_of_two_thinkers_the_one_that_was_not_dismissed_is_heard() -> None:
    story = Story()
    story.ask()
    story.call("c1", "c2")
    story.tell(ev.ThinkerFinished("c1", "12 degrees"), ev.ThinkerDismissed("c2"))
    assert purposes(story) == [Purpose.ANSWER, Purpose.RESULT]


def test_a_murmur_while_a_thinker_works_does_not_lose_its_answer() -> None:
    story = Story()
    story.ask()
    story.call("c1")
    story.tell(ev.SpeechStarted())
    story.now += 0.2
    story.tell(ev.SpeechPaused(200), ev.SpeechStopped(200, 300))
    story.tell(ev.ThinkerFinished("c1", "12 degrees"))
    assert purposes(story)[-1] is Purpose.RESULT


def test_a_result_waits_while_the_caller_speaks() -> None:
    story = Story()
    story.ask()
    story.call("c1")
    story.tell(ev.SpeechStarted())
    story.tell(ev.ThinkerFinished("c1", "12 degrees"))
    assert purposes(story) == [Purpose.ANSWER]
    story.now += 0.1
    story.tell(ev.SpeechPaused(100), ev.SpeechStopped(100, 300))
    assert purposes(story) == [Purpose.ANSWER, Purpose.RESULT]


def test_a_slow_thinker_is_covered_by_a_filler() -> None:
    story = Story(filler_after_s=4)
    story.ask()
    story.call("c1")
    story.wait(3.9)
    assert purposes(story) == [Purpose.ANSWER]
    story.wait(0.2)
    assert purposes(story) == [Purpose.ANSWER, Purpose.FILLER]


def test_idling_counts_from_what_was_heard() -> None:
    story = Story(idle_nudge_s=15, idle_disconnect_s=60)
    story.ask()
    story.reply(ms=10_000)
    story.now += 10
    story.tell(ev.PlaybackDrained("i-r1", 10_000))
    story.wait(14.9)
    assert not story.published(IdleNudged)
    story.wait(0.2)
    assert purposes(story)[-1] is Purpose.NUDGE


def test_a_nudge_does_not_push_the_goodbye_away() -> None:
    story = Story(idle_nudge_s=15, idle_disconnect_s=60)
    story.wait(15)
    story.reply(reply="nudge")
    story.now += 2
    story.tell(ev.PlaybackDrained("i-nudge", 2000))
    story.wait(43.1)
    assert purposes(story) == [Purpose.NUDGE, Purpose.GOODBYE]
    story.reply(reply="bye")
    story.tell(ev.PlaybackDrained("i-bye", 2000))
    assert story.all(do.HangUp) == [do.HangUp("idle")]


def test_a_goodbye_that_is_never_heard_hangs_up_all_the_same() -> None:
    story = Story(idle_nudge_s=0, idle_disconnect_s=60)
    story.wait(71)
    assert story.all(do.HangUp) == [do.HangUp("idle")]


def test_speaking_over_the_goodbye_keeps_the_call() -> None:
    story = Story(idle_nudge_s=0, idle_disconnect_s=60)
    story.wait(60)
    story.reply(reply="bye")
    story.tell(ev.SpeechStarted())
    story.wait(0.5)
    story.tell(ev.PlaybackFlushed((ev.Heard("i-bye", 100),)), ev.SpeechPaused(500), ev.SpeechStopped(500, 300))
    story.reply(reply="r2")
    assert not story.all(do.HangUp)


def test_typed_text_interrupts_and_is_answered() -> None:
    story = Story()
    story.ask()
    story.reply()
    said = story.tell(ev.TextTyped("and in Paris?"))
    assert do.FlushPlayback() in said and do.AddUserText("and in Paris?") in said
    assert isinstance(said[-1], do.CreateReply)


def test_a_lost_line_asks_again_for_the_reply_it_swallowed() -> None:
    story = Story()
    story.ask()
    story.tell(ev.InputCommitted("u1"), ev.UserTranscribed("u1", "what time is it"), ev.ResponderLost("closed"))
    assert len(story.all(do.CreateReply)) == 1
    story.tell(ev.ResponderRestored())
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]


def test_words_lost_with_the_line_are_asked_for_again() -> None:
    story = Story()
    story.tell(ev.SpeechStarted(), ev.ResponderLost("closed"))
    story.now += 1
    story.tell(ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300))
    assert not story.all(do.CommitInput)
    story.tell(ev.ResponderRestored())
    assert do.PlayClip(Clip.SORRY) in story.said


def test_a_result_whose_line_broke_comes_back_as_a_note() -> None:
    story = Story()
    story.ask()
    story.tell(ev.UserTranscribed("u1", "weather in Rome"))
    story.call("c1")
    story.tell(ev.ResponderLost("closed"), ev.ThinkerFinished("c1", "20 degrees"), ev.ResponderRestored())
    assert story.all(do.AddNote) == [do.AddNote("20 degrees")] and not story.all(do.SubmitResult)
    assert purposes(story)[-1] is Purpose.RESULT


def test_what_is_typed_while_the_line_is_down_is_sent_once_it_is_back() -> None:
    story = Story()
    story.tell(ev.ResponderLost("closed"), ev.TextTyped("hello?"))
    assert not story.all(do.AddUserText) and not story.all(do.Remember)
    story.tell(ev.ResponderRestored())
    assert story.all(do.AddUserText) == [do.AddUserText("hello?")]
    assert purposes(story) == [Purpose.ANSWER]


def test_a_long_reconnection_is_spoken_about() -> None:
    story = Story()
    story.ask()
    story.tell(ev.ResponderLost("closed"))
    assert do.PlayClip(Clip.MOMENT) in story.wait(2)


def waits_told(story: Story, seconds: int, clip_s: float = 1.2) -> list[float]:
    """The seconds at which the caller was told to wait, by clips of that length, over so many seconds."""
    began, heard = story.now, []
    while story.now - began < seconds:
        if clips := [each for each in story.wait(0.1) if isinstance(each, do.PlayClip)]:
            heard.append(round(story.now - began, 1))
            item = f"clip:{clips[0].clip}"
            story.tell(ev.PlaybackStarted(item))
            story.now += clip_s
            story.tell(ev.PlaybackDrained(item, round(clip_s * 1000)))
    return heard


def test_who_is_owed_an_answer_never_hears_four_seconds_of_silence_while_the_line_is_down() -> None:
    story = Story()
    story.ask()
    story.tell(ev.InputCommitted("u1"), ev.UserTranscribed("u1", "what time is it"), ev.ResponderLost("closed"))
    told = waits_told(story, 60)
    assert told[0] < 2 and len(told) > 10
    assert all(3 < later - earlier - 1.2 < 4 for earlier, later in pairwise(told))
    assert not story.all(do.HangUp)
    story.tell(ev.ResponderRestored())
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]
    assert do.PlayClip(Clip.SORRY) not in story.said


def test_who_spoke_while_the_line_was_down_is_kept_company_and_asked_again() -> None:
    story = Story()
    story.tell(ev.ResponderLost("closed"))
    assert waits_told(story, 20) == [], "nobody waits for anything"
    story.tell(ev.SpeechStarted())
    story.now += 1
    story.tell(ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300))
    assert len(waits_told(story, 20)) >= 3
    story.tell(ev.ResponderRestored())
    assert do.PlayClip(Clip.SORRY) in story.said


def test_nobody_is_idle_while_the_line_is_down() -> None:
    story = Story()
    story.tell(ev.ResponderLost("closed"))
    story.wait(70)
    story.tell(ev.ResponderRestored())
    assert not story.all(do.HangUp) and purposes(story) == []
    story.wait(16)
    assert purposes(story) == [Purpose.NUDGE]


def test_who_calls_while_the_line_is_down_hears_words() -> None:
    story = Story()
    story.machine = TurnMachine()  # the call has not begun yet
    story.tell(ev.ResponderLost("refused"))
    told = waits_told(story, 20)
    assert told[0] < 2 and len(told) >= 4


def test_a_line_that_stays_dead_ends_with_a_word() -> None:
    story = Story()
    story.tell(ev.ResponderLost("closed"), ev.ResponderGone("refused"))
    assert do.PlayClip(Clip.LOST) in story.said
    story.tell(ev.PlaybackStarted("clip:lost"), ev.PlaybackDrained("clip:lost", 2000))
    assert story.all(do.HangUp) == [do.HangUp("responder_gone")]


def test_a_caller_who_leaves_cancels_what_was_under_way_for_them() -> None:
    story = Story()
    story.ask()
    story.call("c1")
    said = story.tell(ev.TransportClosed("network_lost"))
    assert do.CancelThinker("c1") in said and do.HangUp("network_lost") in said
    assert story.machine.deadline() is None


def test_only_what_was_heard_before_leaving_is_remembered() -> None:
    story = Story()
    story.ask()
    story.reply(ms=2000, text="one two three four")
    story.tell(ev.TransportClosed("disconnected"))
    said = story.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 1000),)))
    assert do.Remember("assistant", "one two") in said


def test_the_legs_of_a_turn_add_up() -> None:
    story = Story()
    story.ask()
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
            patience_ms=0,
            played_ms=20,
            total_ms=620,
            first_token_ms=150,
            wait_ms=300,
            reason="eager",
        )
    ]


def test_a_provider_that_endpoints_is_not_asked_to_commit_and_its_coughs_are_deleted() -> None:
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

"""Thinkers and the turns that asked for them: results spoken, held back, asked for late, dismissed."""

from itertools import pairwise

import pytest

from backend.page_events import ThinkerChanged
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Clip, Purpose
from tests.turns.story import MS, Story, purposes, waits_told


@pytest.fixture
def story() -> Story:
    """A call in which something was asked."""
    asked = Story()
    asked.ask()
    return asked


def test_a_tool_call_runs_a_thinker_and_its_result_is_spoken(story: Story) -> None:
    story.call("c1")
    [run] = story.all(do.RunThinker)
    assert (run.call, run.name, run.arguments, run.turn) == ("c1", "route_to_thinker", "{}", 1)
    story.tell(ev.ThinkerFinished("c1", "12 degrees"))
    assert story.all(do.SubmitResult) == [do.SubmitResult("c1", "12 degrees")]
    assert purposes(story) == [Purpose.ANSWER, Purpose.RESULT]


def test_two_calls_of_one_reply_are_spoken_as_one_answer(story: Story) -> None:
    story.call("c1", "c2")
    story.tell(ev.ThinkerFinished("c1", "one"))
    assert purposes(story) == [Purpose.ANSWER]
    story.tell(ev.ThinkerFailed("c2", "no service"))
    assert purposes(story) == [Purpose.ANSWER, Purpose.RESULT]
    assert len(story.all(do.SubmitResult)) == 2


def test_a_call_of_a_cancelled_reply_is_answered_immediately_and_runs_nothing(story: Story) -> None:
    story.tell(ev.ReplyStarted("r1", "answer-1"), ev.SpeechStarted())
    story.wait(0.6)
    story.tell(ev.ToolCalled("r1", "c1", "route_to_thinker", "{}"))
    assert len(story.all(do.SubmitResult)) == 1 and not story.all(do.RunThinker)


def late_answer(story: Story) -> None:
    """A Thinker answers when the caller has moved on, and the reply to the newer turn was heard."""
    story.call("c1")
    story.wait(2)
    story.ask()
    story.reply(reply="r2")
    story.tell(ev.PlaybackDrained("i-r2", 2000))
    story.tell(ev.ThinkerFinished("c1", "too late"))


@pytest.mark.document("001", "interruptions and guards")
def test_a_stale_result_is_submitted_but_not_spoken(story: Story) -> None:
    late_answer(story)
    assert story.all(do.SubmitResult) == [do.SubmitResult("c1", "too late", silent=True)]
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]
    assert story.published(ThinkerChanged) == [ThinkerChanged("c1", "stale")]


def test_a_requested_stale_answer_is_spoken_once(story: Story) -> None:
    late_answer(story)
    said = story.tell(ev.LateAnswerWanted("c1", "12 degrees"))
    assert do.AddNote("12 degrees") in said
    assert purposes(story)[-1] is Purpose.RESULT
    assert story.published(ThinkerChanged)[-1] == ThinkerChanged("c1", "complete")
    story.reply(reply="r3")
    story.tell(ev.PlaybackDrained("i-r3", 2000))
    assert story.tell(ev.LateAnswerWanted("c1", "12 degrees")) == []


def test_a_stale_answer_requested_while_the_caller_speaks_comes_after_the_answer_to_that(story: Story) -> None:
    late_answer(story)
    story.tell(ev.SpeechStarted(), ev.LateAnswerWanted("c1", "12 degrees"))
    story.now += 1
    story.tell(ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300))
    assert purposes(story)[-1] is Purpose.ANSWER
    assert not story.all(do.AddNote)
    story.reply(reply="r3")
    assert story.all(do.AddNote) == [do.AddNote("12 degrees")]
    assert purposes(story)[-1] is Purpose.RESULT


def test_a_further_turn_makes_a_requested_answer_stale_again(story: Story) -> None:
    late_answer(story)
    story.tell(ev.TextTyped("hello"), ev.LateAnswerWanted("c1", "12 degrees"), ev.TextTyped("no, wait"))
    assert [event.stage for event in story.published(ThinkerChanged)] == ["stale", "complete", "stale"]
    assert Purpose.RESULT not in purposes(story)


def test_only_an_unheard_answer_can_be_requested(story: Story) -> None:
    story.call("c1")
    assert story.tell(ev.LateAnswerWanted("c1", "not yet"), ev.LateAnswerWanted("c9", "nobody's")) == []
    story.tell(ev.ThinkerFinished("c1", "12 degrees"))
    assert story.tell(ev.LateAnswerWanted("c1", "it is being spoken")) == []


def test_a_dismissed_thinker_stops_and_its_call_is_answered_once(story: Story) -> None:
    story.reply()
    story.tell(ev.PlaybackDrained("i-r1", 2000))
    story.tell(ev.TextTyped("and Paris?"))
    story.call("c1", reply="r2")
    said = story.tell(ev.ThinkerDismissed("c1"), ev.ThinkerFinished("c1", "too late"), ev.ThinkerDismissed("c1"))
    assert said[0] == do.CancelThinker("c1")
    assert len(story.all(do.SubmitResult)) == 1
    assert story.published(ThinkerChanged) == [ThinkerChanged("c1", "cancelled")]


def test_a_dismissal_before_any_words_is_acknowledged(story: Story) -> None:
    story.call("c1")
    story.tell(ev.ThinkerDismissed("c1"))
    assert purposes(story) == [Purpose.ANSWER, Purpose.RESULT]


def test_a_dismissal_after_an_acknowledgement_is_silent_and_restarts_idling() -> None:
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


def test_of_two_thinkers_the_one_that_was_not_dismissed_is_heard(story: Story) -> None:
    story.call("c1", "c2")
    story.tell(ev.ThinkerFinished("c1", "12 degrees"), ev.ThinkerDismissed("c2"))
    assert purposes(story) == [Purpose.ANSWER, Purpose.RESULT]


def test_a_murmur_while_a_thinker_works_does_not_lose_its_answer(story: Story) -> None:
    story.call("c1")
    story.tell(ev.SpeechStarted())
    story.now += 0.2
    story.tell(ev.SpeechPaused(200), ev.SpeechStopped(200, 300))
    story.tell(ev.ThinkerFinished("c1", "12 degrees"))
    assert purposes(story)[-1] is Purpose.RESULT


def test_a_slow_thinker_is_covered_by_a_filler_after_each_silence() -> None:
    story = Story(filler_after_s=2.8)
    story.ask()
    story.now += 1  # until the provider calls
    story.call("c1")
    story.wait(1.7)
    assert purposes(story) == [Purpose.ANSWER]
    story.wait(0.2)
    assert purposes(story) == [Purpose.ANSWER, Purpose.FILLER]
    for number in range(3):
        story.reply(ms=1000, text="Still looking.", reply=f"f{number}")
        story.now += 1
        story.tell(ev.PlaybackDrained(f"i-f{number}", 1000))
        story.wait(2.7)
        assert purposes(story)[1:] == [Purpose.FILLER] * (number + 1)
        story.wait(0.2)
        assert purposes(story)[1:] == [Purpose.FILLER] * (number + 2)


def test_a_filler_without_sound_is_replaced_by_a_clip(story: Story) -> None:
    story.call("c1")
    story.wait(2.9)
    request = story.all(do.CreateReply)[-1].request
    story.tell(ev.ReplyStarted("r2", request), ev.ReplyFinished("r2", "failed"))
    heard = waits_told(story, 12, clip_s=1)
    assert heard[0] < 1 and all(later - earlier - 1 < 4 for earlier, later in pairwise(heard))
    assert set(story.all(do.PlayClip)) == {do.PlayClip(Clip.MOMENT)}, "the connection stands, and nothing else is said"


def test_without_fillers_a_working_thinker_is_left_in_peace() -> None:
    story = Story(filler_after_s=0)
    story.ask()
    story.call("c1")
    story.wait(8)
    assert purposes(story) == [Purpose.ANSWER] and not story.all(do.PlayClip)


def test_a_call_based_on_a_doubtful_transcript_says_so(story: Story) -> None:
    story.tell(ev.InputCommitted("u1"), ev.UserTranscribed("u1", "note by milk", unsure=True))
    story.call("c1")
    story.tell(ev.ThinkerFinished("c1", "asked"))
    story.hear("r2")
    story.ask()
    story.tell(ev.InputCommitted("u2"), ev.UserTranscribed("u2", "yes"))
    story.call("c2", reply="r3")
    assert [command.unsure for command in story.all(do.RunThinker)] == [True, False]

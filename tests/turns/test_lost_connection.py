"""A lost connection to the provider: what is requested again, and what the caller hears meanwhile."""

from __future__ import annotations

from itertools import pairwise

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Clip, Purpose
from backend.turns.turn import TurnMachine
from tests.turns.story import Story, purposes, waits_told


def test_a_new_connection_requests_the_lost_reply_again(story: Story) -> None:
    story.ask()
    story.tell(ev.InputCommitted("u1"), ev.UserTranscribed("u1", "what time is it"), ev.ResponderLost("closed"))
    assert len(story.all(do.CreateReply)) == 1
    story.tell(ev.ResponderRestored())
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]


def test_a_result_for_a_lost_connection_returns_as_a_note(story: Story) -> None:
    story.ask()
    story.tell(ev.UserTranscribed("u1", "weather in Rome"))
    story.call("c1")
    story.tell(ev.ResponderLost("closed"), ev.ThinkerFinished("c1", "20 degrees"), ev.ResponderRestored())
    assert story.all(do.AddNote) == [do.AddNote("20 degrees")] and not story.all(do.SubmitResult)
    assert purposes(story)[-1] is Purpose.RESULT


def test_typed_words_are_sent_once_the_connection_is_back(story: Story) -> None:
    story.tell(ev.ResponderLost("closed"), ev.TextTyped("hello?"))
    assert not story.all(do.AddUserText) and not story.all(do.Remember)
    story.tell(ev.ResponderRestored())
    assert story.all(do.AddUserText) == [do.AddUserText("hello?")]
    assert purposes(story) == [Purpose.ANSWER]


def test_a_caller_who_waits_for_an_answer_never_hears_four_seconds_of_silence(story: Story) -> None:
    story.ask()
    story.tell(ev.InputCommitted("u1"), ev.UserTranscribed("u1", "what time is it"), ev.ResponderLost("closed"))
    waits = waits_told(story, 60)
    assert waits[0] < 2 and len(waits) > 10
    assert all(3 < later - earlier - 1.2 < 4 for earlier, later in pairwise(waits))
    assert not story.all(do.HangUp)
    story.tell(ev.ResponderRestored())
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]
    assert do.PlayClip(Clip.SORRY) not in story.said


def test_a_caller_who_spoke_during_the_outage_hears_fillers_and_gets_an_answer(story: Story) -> None:
    story.tell(ev.ResponderLost("closed"))
    assert waits_told(story, 20) == [], "nothing waits for a deadline"
    story.ask()
    assert len(waits_told(story, 20)) >= 3
    story.tell(ev.ResponderRestored())
    assert do.PlayClip(Clip.SORRY) in story.said


def test_an_outage_does_not_count_as_idling(story: Story) -> None:
    story.tell(ev.ResponderLost("closed"))
    story.wait(70)
    story.tell(ev.ResponderRestored())
    assert not story.all(do.HangUp) and purposes(story) == []
    story.wait(16)
    assert purposes(story) == [Purpose.NUDGE]


def test_a_caller_who_calls_during_the_outage_hears_words(story: Story) -> None:
    story.machine = TurnMachine()  # the call has not begun yet
    story.tell(ev.ResponderLost("refused"))
    waits = waits_told(story, 20)
    assert waits[0] < 2 and len(waits) >= 4


def test_an_outage_that_lasts_ends_the_call_with_words(story: Story) -> None:
    story.tell(ev.ResponderLost("closed"), ev.ResponderGone("refused"))
    assert do.PlayClip(Clip.LOST) in story.said
    story.tell(ev.PlaybackStarted("clip:lost"), ev.PlaybackDrained("clip:lost", 2000))
    assert story.all(do.HangUp) == [do.HangUp("responder_gone")]

"""Replies that do not come whole, replies of several messages, and promises without an answer."""

from __future__ import annotations

from itertools import pairwise

import pytest

from backend.page_events import ReplyFailed, TranscriptCompleted, TranscriptInterrupted
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Clip, Purpose
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.reply.failures import LONGEST_WAIT_S
from tests.turns.story import MS, Story, purposes, waits_told


@pytest.fixture
def story() -> Story:
    """A call in which something was asked."""
    asked = Story()
    asked.ask()
    return asked


def begin(story: Story, text: str = "It is", ms: int = 1000, reply: str = "r1") -> None:
    """The requested reply begins and sounds; its end is open."""
    request = story.all(do.CreateReply)[-1].request
    item = f"i-{reply}"
    story.tell(ev.ReplyStarted(reply, request), ev.ReplyText(reply, item, text))
    story.tell(ev.ReplyAudio(reply, item, bytes(ms * MS)), ev.PlaybackStarted(item))


def fail(story: Story, status: str = "failed", reason: str = "server_error", reply: str = "r1") -> None:
    assert status in ("failed", "incomplete")
    story.tell(ev.ReplyFinished(reply, status, reason))  # type: ignore[arg-type]


def notes(story: Story) -> list[str]:
    return [note.text for note in story.all(do.AddNote)]


# --- several messages in one reply --------------------------------------------------------------------


def two_messages(story: Story) -> None:
    """One reply of two messages of two seconds each, all sent."""
    begin(story, "First, this.", 2000)
    story.tell(ev.MessageFinished("r1", "i-r1"))
    story.tell(ev.ReplyText("r1", "i-2", "Then one two three."), ev.ReplyAudio("r1", "i-2", bytes(2000 * MS)))


def test_all_messages_of_a_reply_are_played_in_order_and_remembered(story: Story) -> None:
    two_messages(story)
    story.tell(ev.MessageFinished("r1", "i-2"), ev.ReplyFinished("r1", "completed"))
    story.tell(ev.PlaybackStarted("i-2"), ev.PlaybackDrained("i-2", 2000))
    assert [command.item for command in story.all(do.Play)] == ["i-r1", "i-2"]
    assert story.all(do.Remember) == [
        do.Remember("assistant", "First, this."),
        do.Remember("assistant", "Then one two three."),
    ]
    assert story.floor() is Floor.LISTENING


def test_an_interruption_of_the_second_message_leaves_the_first_whole(story: Story) -> None:
    two_messages(story)
    story.tell(ev.PlaybackStarted("i-2"))
    story.now += 2  # long after a false start
    story.tell(ev.SpeechStarted())
    story.wait(1)
    story.tell(ev.PlaybackFlushed((ev.Heard("i-2", 700),)))
    assert story.all(do.TruncateItem) == [do.TruncateItem("i-2", 700)]
    assert not story.all(do.DeleteItem)
    assert [event.content for event in story.published(TranscriptCompleted)] == ["First, this."]
    assert [event.item_id for event in story.published(TranscriptInterrupted)] == ["i-2"]


def test_an_interruption_between_two_messages_truncates_nothing(story: Story) -> None:
    begin(story, "First, this.", 2000)
    story.tell(ev.MessageFinished("r1", "i-r1"), ev.PlaybackDrained("i-r1", 2000))
    story.now += 2
    story.tell(ev.SpeechStarted())
    story.wait(1)
    story.tell(ev.PlaybackFlushed(()))
    assert story.all(do.CancelReply) == [do.CancelReply("r1")]
    assert not story.all(do.TruncateItem) and not story.all(do.DeleteItem)
    assert [event.content for event in story.published(TranscriptCompleted)] == ["First, this."]


def test_an_interruption_of_the_first_message_deletes_the_second(story: Story) -> None:
    two_messages(story)
    story.now += 2
    story.tell(ev.SpeechStarted())
    story.wait(1)
    story.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 1200), ev.Heard("i-2", 0))))
    assert story.all(do.TruncateItem) == [do.TruncateItem("i-r1", 1200)]
    assert story.all(do.DeleteItem) == [do.DeleteItem("i-2")]


def test_a_preamble_is_heard_and_the_answer_is_still_owed(story: Story) -> None:
    begin(story, "Let me check that.", 800)
    story.tell(ev.MessageFinished("r1", "i-r1"), ev.ToolCalled("r1", "c1", "route_to_thinker", "{}"))
    story.tell(ev.ReplyFinished("r1", "completed"), ev.PlaybackDrained("i-r1", 800))
    assert not story.published(ReplyFailed) and purposes(story) == [Purpose.ANSWER]
    story.tell(ev.ThinkerFinished("c1", "four"))
    assert purposes(story) == [Purpose.ANSWER, Purpose.RESULT]


# --- replies that fail --------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "reason"), [("failed", "server_error"), ("incomplete", "max_output_tokens")])
def test_a_reply_that_breaks_off_is_continued_and_reported(status: str, reason: str, story: Story) -> None:
    begin(story, "It is sunny in")
    fail(story, status, reason)
    assert story.published(ReplyFailed) == [ReplyFailed(1, "answer", status, reason, True, "continued")]
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]
    assert len(notes(story)) == 1 and '"It is sunny in"' in notes(story)[0]
    begin(story, "Seattle.", reply="r2")
    story.tell(ev.ReplyFinished("r2", "completed"), ev.PlaybackStarted("i-r2"), ev.PlaybackDrained("i-r2", 1000))
    assert [memory.text for memory in story.all(do.Remember)] == ["It is sunny in", "Seattle."]
    assert not story.all(do.PlayClip)


def test_a_reply_that_breaks_off_again_ends_with_an_apology(story: Story) -> None:
    begin(story)
    fail(story)
    begin(story, "sunny", reply="r2")
    fail(story, reply="r2")
    assert [event.remedy for event in story.published(ReplyFailed)] == ["continued", "apologised"]
    assert story.all(do.PlayClip) == [do.PlayClip(Clip.SORRY)]


def test_a_reply_that_breaks_off_before_its_words_are_known_is_requested_once_more(story: Story) -> None:
    begin(story, "")
    fail(story)
    assert [event.remedy for event in story.published(ReplyFailed)] == ["continued"]
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER] and "once more" in notes(story)[0]
    begin(story, "", reply="r2")
    fail(story, reply="r2")
    assert [event.remedy for event in story.published(ReplyFailed)] == ["continued", "apologised"]


def test_a_filtered_reply_is_not_requested_again(story: Story) -> None:
    begin(story)
    fail(story, "incomplete", "content_filter")
    assert purposes(story) == [Purpose.ANSWER] and story.all(do.PlayClip) == [do.PlayClip(Clip.SORRY)]


def test_a_reply_that_fails_after_a_tool_call_is_completed_by_the_calls_answer(story: Story) -> None:
    begin(story, "Let me check.")
    story.tell(ev.ToolCalled("r1", "c1", "route_to_thinker", "{}"))
    fail(story)
    assert [event.remedy for event in story.published(ReplyFailed)] == ["none"]
    assert purposes(story) == [Purpose.ANSWER] and len(story.all(do.RunThinker)) == 1


def test_a_reply_that_stalls_is_continued(story: Story) -> None:
    begin(story, "It is sunny in")
    story.tell(ev.PlaybackDrained("i-r1", 1000))
    waits = waits_told(story, 12)
    assert [(event.status, event.remedy) for event in story.published(ReplyFailed)] == [("stalled", "continued")]
    assert all(later - earlier - 1.2 < 4 for earlier, later in pairwise([-1.2, *waits]))
    assert purposes(story)[:2] == [Purpose.ANSWER, Purpose.ANSWER]


def test_a_nudge_that_stalls_is_not_continued() -> None:
    story = Story(idle_nudge_s=5)
    story.wait(6)
    assert purposes(story) == [Purpose.NUDGE]
    begin(story, "Are you")
    fail(story)
    assert [event.remedy for event in story.published(ReplyFailed)] == ["none"]
    assert purposes(story) == [Purpose.NUDGE] and not story.all(do.PlayClip)


# --- rate limits --------------------------------------------------------------------------------------


def limited(story: Story, wait_s: float, reply: str = "r1") -> None:
    request = story.all(do.CreateReply)[-1].request
    story.tell(ev.ReplyStarted(reply, request))
    story.tell(ev.ReplyFinished(reply, "failed", "rate_limit_exceeded", retry_after_s=wait_s))


def test_a_rate_limit_is_waited_out_for_the_time_the_provider_names(story: Story) -> None:
    limited(story, 1.2)
    story.wait(1.1)
    assert purposes(story) == [Purpose.ANSWER]
    story.wait(0.2)
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER] and not story.all(do.PlayClip)


def test_during_a_long_wait_the_caller_never_hears_four_seconds_of_silence(story: Story) -> None:
    limited(story, 15)
    assert story.all(do.PlayClip) == [do.PlayClip(Clip.MOMENT)]
    story.tell(ev.PlaybackStarted("clip:moment"), ev.PlaybackDrained("clip:moment", 1200))
    waits = waits_told(story, 16)
    assert len(waits) >= 3 and all(later - earlier - 1.2 < 4 for earlier, later in pairwise([-1.2, *waits]))
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]


def test_a_rate_limit_that_lasts_too_long_ends_with_an_apology(story: Story) -> None:
    limited(story, LONGEST_WAIT_S + 1)
    story.wait(0.3)
    limited(story, LONGEST_WAIT_S + 1, "r2")
    assert do.PlayClip(Clip.SORRY) in story.all(do.PlayClip)


# --- promises -----------------------------------------------------------------------------------------


def test_a_promise_without_a_call_is_followed_up_immediately(story: Story) -> None:
    begin(story, "Let me look that up.")
    story.tell(ev.ReplyFinished("r1", "completed"))
    assert [(event.reason, event.remedy) for event in story.published(ReplyFailed)] == [("promise", "continued")]
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]
    assert len(notes(story)) == 1 and '"Let me look that up."' in notes(story)[0]
    story.call("c1", reply="r2")
    assert [run.call for run in story.all(do.RunThinker)] == ["c1"]


def test_a_promise_made_twice_ends_with_an_apology(story: Story) -> None:
    for reply in ("r1", "r2"):
        begin(story, "One moment, please.", reply=reply)
        story.tell(ev.ReplyFinished(reply, "completed"))
    assert purposes(story) == [Purpose.ANSWER, Purpose.ANSWER]
    assert story.all(do.PlayClip) == [do.PlayClip(Clip.SORRY)]


def test_a_promise_while_a_thinker_works_is_kept_by_the_thinker(story: Story) -> None:
    story.call("c1", "c2")
    story.tell(ev.ThinkerFailed("c1", "no"))
    assert not story.published(ReplyFailed)
    story.tell(ev.ThinkerFinished("c2", "four"))
    assert purposes(story)[-1] is Purpose.RESULT


def test_a_promise_of_the_first_message_is_kept_by_the_second(story: Story) -> None:
    begin(story, "Let me think.")
    story.tell(ev.MessageFinished("r1", "i-r1"), ev.ReplyText("r1", "i-2", "It is four."))
    story.tell(ev.ReplyAudio("r1", "i-2", bytes(500 * MS)), ev.ReplyFinished("r1", "completed"))
    assert not story.published(ReplyFailed) and purposes(story) == [Purpose.ANSWER]


def test_no_follow_up_comes_over_a_caller_who_takes_the_floor(story: Story) -> None:
    begin(story, "Let me look that up.", 3000)
    story.now += 2
    story.tell(ev.SpeechStarted())
    story.tell(ev.ReplyFinished("r1", "completed"))
    story.wait(1)
    story.tell(ev.PlaybackFlushed((ev.Heard("i-r1", 2500),)))
    assert purposes(story) == [Purpose.ANSWER]


# --- silence ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [False, True], ids=["nothing came", "the reply began, without a sound"])
def test_a_mute_provider_makes_the_caller_wait_and_then_hear_an_apology(begun: bool, story: Story) -> None:
    if begun:
        story.tell(ev.ReplyStarted("r1", story.all(do.CreateReply)[-1].request))
    waits = waits_told(story, 14)
    assert [event.remedy for event in story.published(ReplyFailed)] == ["asked_again", "apologised"]
    assert do.PlayClip(Clip.SORRY) in story.said
    assert all(later - earlier - 1.2 < 4 for earlier, later in pairwise([-1.2, *waits]))
    assert len(waits) == 3, "nothing is owed after the apology"


def test_an_answer_that_comes_soon_is_waited_for_in_silence(story: Story) -> None:
    story.wait(3)
    begin(story, "It is four.")
    assert not story.all(do.PlayClip)

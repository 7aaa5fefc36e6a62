"""A provider that is connected and mute: when the machine changes to another, and when it apologises."""

from backend.page_events import ReplyFailed
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Clip, Purpose
from tests.turns.story import Story, purposes, waits_told


def asked(**limits: int) -> Story:
    story = Story(**limits)
    story.ask()
    story.tell(ev.InputCommitted("u1"), ev.UserTranscribed("u1", "is it sunny"))
    return story


def apologies(story: Story) -> int:
    return story.all(do.PlayClip).count(do.PlayClip(Clip.SORRY))


def change(story: Story) -> None:
    """Change the provider as the link would."""
    story.tell(ev.ResponderLost("mute"), ev.ResponderRestored("the other", "m"))


def test_after_two_replies_without_a_sound_the_next_provider_is_used() -> None:
    story = asked(other_providers=1)
    waits_told(story, 6)
    assert not story.all(do.LeaveResponder), "one reply may be late"
    while not story.all(do.LeaveResponder):
        story.wait(0.1)
    assert purposes(story) == [Purpose.ANSWER] * 2, "the mute one is not asked a third time"
    change(story)
    story.wait(0.3)
    assert purposes(story) == [Purpose.ANSWER] * 3
    assert [event.remedy for event in story.published(ReplyFailed)] == ["asked_again"] * 2
    assert not apologies(story)


def test_each_other_provider_is_tried_once_and_then_comes_an_apology() -> None:
    story = asked(other_providers=2)
    for left in (1, 2):
        waits_told(story, 13)
        assert len(story.all(do.LeaveResponder)) == left and not apologies(story)
        change(story)
    waits_told(story, 13)
    assert len(story.all(do.LeaveResponder)) == 2 and apologies(story) == 1


def test_a_sound_between_two_late_replies_counts() -> None:
    story = asked(other_providers=1)
    waits_told(story, 6)
    assert purposes(story) == [Purpose.ANSWER] * 2
    story.reply(1000)
    story.tell(ev.PlaybackDrained("i-r1", 1000))
    story.ask()
    story.tell(ev.InputCommitted("u2"), ev.UserTranscribed("u2", "and tomorrow"))
    waits_told(story, 6)
    assert len(story.published(ReplyFailed)) == 2 and not story.all(do.LeaveResponder)


def test_a_provider_that_stops_within_a_reply_is_left_too() -> None:
    story = asked(other_providers=1)
    request = story.all(do.CreateReply)[-1].request
    story.tell(ev.ReplyStarted("r1", request), ev.ReplyText("r1", "i-r1", "It is sunny in"))
    story.tell(ev.ReplyAudio("r1", "i-r1", bytes(48_000)), ev.PlaybackStarted("i-r1"))
    story.now += 1
    story.tell(ev.PlaybackDrained("i-r1", 1000))
    waits_told(story, 30)
    assert [event.status for event in story.published(ReplyFailed)][:2] == ["stalled", "overdue"]
    assert len(story.all(do.LeaveResponder)) == 1

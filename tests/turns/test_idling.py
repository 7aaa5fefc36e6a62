"""Silence of the caller: a nudge, a goodbye, the end."""

import pytest

from backend.page_events import IdleNudged
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose
from tests.turns.story import Story, purposes


@pytest.mark.document("001", "silence")
def test_idling_counts_from_the_end_of_the_heard_reply() -> None:
    story = Story(idle_nudge_s=15, idle_disconnect_s=60)
    story.ask()
    story.reply(ms=10_000)
    story.now += 10
    story.tell(ev.PlaybackDrained("i-r1", 10_000))
    story.wait(14.9)
    assert not story.published(IdleNudged)
    story.wait(0.2)
    assert purposes(story)[-1] is Purpose.NUDGE


def test_a_nudge_does_not_delay_the_goodbye() -> None:
    story = Story(idle_nudge_s=15, idle_disconnect_s=60)
    story.wait(15)
    story.hear("nudge")
    story.wait(43.1)
    assert purposes(story) == [Purpose.NUDGE, Purpose.GOODBYE]
    story.reply(reply="bye")
    story.tell(ev.PlaybackDrained("i-bye", 2000))
    assert story.all(do.HangUp) == [do.HangUp("idle")]


def test_a_goodbye_that_is_never_heard_still_hangs_up() -> None:
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

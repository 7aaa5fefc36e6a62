"""When notices are spoken: each rule as a short story."""

from __future__ import annotations

import json

import pytest

from backend.page_events import NoticeChanged, ThinkerChanged
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose
from tests.turns.story import Story, purposes

GIST = "By the way, bees dance."
NEWS = ev.NoticeArrived("n1", "The research is done: bees dance.")


def answered(story: Story, reply: str = "r1") -> None:
    """A question, and its answer heard out."""
    story.ask()
    story.hear(reply)


def late(story: Story, call: str = "c1", text: str = "About bees: they dance.") -> None:
    """A Thinker answers when the caller has moved on."""
    story.tell(ev.ThinkerFinished(call, '{"answer": "they dance"}', late=text))


def moved_on(story: Story, question: str = "Research bees.") -> None:
    """A Thinker is asked. Before it answers, the caller asks something else, and hears the answer to that."""
    story.ask()
    story.call("c1", arguments=json.dumps({"domain": "research", "query": question}))
    story.now += 3
    answered(story, "r2")


def delivered(story: Story) -> list[str]:
    return [command.notice for command in story.all(do.NoticeDelivered)]


def states(story: Story) -> list[str]:
    return [event.state for event in story.published(NoticeChanged)]


def broken_into(story: Story, heard_ms: int, reply: str = "n") -> None:
    """A notice is spoken until the caller takes the floor; their words are answered."""
    story.reply(reply=reply, ms=2000, text="By the way, bees dance in the sun.")
    story.now += heard_ms / 1000
    story.tell(ev.SpeechStarted())
    story.wait(0.5)
    story.tell(ev.PlaybackFlushed((ev.Heard(f"i-{reply}", heard_ms),)))
    story.now += 0.5
    story.tell(ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300))
    story.reply(reply=f"after-{reply}")
    story.now += 2
    story.tell(ev.PlaybackDrained(f"i-after-{reply}", 2000))


def test_a_notice_is_spoken_when_the_floor_is_free_and_counts_once_heard(story: Story) -> None:
    answered(story)
    story.wait(5)
    said = story.tell(NEWS)
    note = next(command for command in said if isinstance(command, do.AddNote))
    assert "bees dance" in note.text and purposes(story) == [Purpose.ANSWER, Purpose.NOTICE]
    assert not delivered(story)
    story.hear("n", GIST)
    assert delivered(story) == ["n1"] and states(story) == ["waiting", "speaking", "told"]
    story.wait(10)
    assert purposes(story)[2:] == []


def test_a_notice_waits_for_a_moment_of_quiet(story: Story) -> None:
    answered(story)
    story.tell(NEWS)
    story.wait(0.9)
    assert Purpose.NOTICE not in purposes(story)
    story.wait(0.2)
    assert purposes(story)[-1] is Purpose.NOTICE


def test_no_notice_is_spoken_before_the_caller_has_spoken_or_been_greeted() -> None:
    silent = Story(idle_nudge_s=0, idle_disconnect_s=0)
    silent.tell(NEWS)
    silent.wait(30)
    assert purposes(silent) == []
    greeted = Story(greeting=True)
    greeted.tell(NEWS)
    greeted.hear("g", "Hello!")
    greeted.wait(1)
    assert purposes(greeted) == [Purpose.GREETING, Purpose.NOTICE]


def test_several_notices_are_spoken_together(story: Story) -> None:
    story.tell(NEWS, ev.NoticeArrived("n2", "Call Ada."))
    answered(story)
    story.wait(1)
    assert len(story.all(do.AddNote)) == 2 and "1 and 2" in story.all(do.CreateReply)[-1].hint
    story.hear("n", GIST)
    story.wait(5)
    assert delivered(story) == ["n1", "n2"] and purposes(story).count(Purpose.NOTICE) == 1


def test_a_notice_counts_as_delivered_once_its_main_part_was_heard(story: Story) -> None:
    answered(story)
    story.wait(2)
    story.tell(NEWS)
    broken_into(story, heard_ms=1300)
    story.wait(10)
    assert delivered(story) == ["n1"] and purposes(story).count(Purpose.NOTICE) == 1


def test_a_notice_cut_short_is_repeated_once_and_shorter_then_left_for_the_next_call(story: Story) -> None:
    answered(story)
    story.wait(2)
    story.tell(NEWS)
    broken_into(story, heard_ms=700)
    story.wait(1)
    again = story.all(do.CreateReply)[-1]
    assert again.purpose is Purpose.NOTICE and "one short sentence" in again.hint and '"By the way' in again.hint
    assert len(story.all(do.AddNote)) == 1
    broken_into(story, heard_ms=100, reply="n2")
    story.wait(10)
    assert not delivered(story) and purposes(story).count(Purpose.NOTICE) == 2
    assert [*story.machine.notices.for_next_call] == ["n1"] and states(story)[-1] == "waiting"


def test_a_notice_survives_a_lost_connection(story: Story) -> None:
    answered(story)
    story.wait(2)
    story.tell(NEWS, ev.ResponderLost("closed"))
    story.wait(1)
    story.tell(ev.ResponderRestored())
    story.wait(3)
    assert len(story.all(do.AddNote)) == 2, "the new connection does not know the note"
    story.hear("n2", GIST)
    assert delivered(story) == ["n1"]


def test_a_notice_that_the_responder_skips_is_left_for_the_next_call() -> None:
    story = Story(idle_nudge_s=0)
    answered(story)
    story.wait(2)
    story.tell(NEWS)
    for _ in range(3):
        story.tell(ev.ReplyRefused(story.all(do.CreateReply)[-1].request, "server_error"))
        story.wait(3)
    assert [*story.machine.notices.for_next_call] == ["n1"] and not delivered(story)
    assert purposes(story).count(Purpose.NOTICE) == 3


def test_a_notice_heard_just_before_hanging_up_counts(story: Story) -> None:
    answered(story)
    story.wait(2)
    story.tell(NEWS)
    story.reply(reply="n", text="By the way, bees dance.")
    story.tell(ev.TransportClosed("disconnected"))
    story.tell(ev.PlaybackFlushed((ev.Heard("i-n", 1900),)))
    assert delivered(story) == ["n1"]


def test_words_typed_during_an_outage_are_answered_before_a_notice(story: Story) -> None:
    answered(story)
    story.tell(ev.ResponderLost("closed"), NEWS, ev.TextTyped("hello?"))
    story.wait(12)
    story.tell(ev.ResponderRestored())
    assert purposes(story)[-1] is Purpose.ANSWER


def stages(story: Story) -> list[str]:
    return [event.stage for event in story.published(ThinkerChanged)]


@pytest.mark.document("001", "interruptions and guards")
def test_a_late_answer_is_spoken_once_with_its_question_topic(story: Story) -> None:
    moved_on(story)
    late(story)
    assert "Say nothing about it" in story.all(do.SubmitResult)[-1].output
    story.wait(1)
    assert "About bees: they dance." in story.all(do.AddNote)[-1].text
    assert "begins with what it is about" in story.all(do.CreateReply)[-1].hint
    assert story.tell(ev.LateAnswerWanted("c1", "they dance")) == []  # it is being spoken
    story.hear("n", GIST)
    story.wait(10)
    assert purposes(story).count(Purpose.NOTICE) == 1 and stages(story) == ["stale", "complete"]
    assert not delivered(story) and not states(story)  # it is in no list of the user's notices


@pytest.mark.parametrize("begun", ["not yet", "by itself"])
def test_say_it_now_pressed_twice_speaks_the_answer_once_even_as_it_begins_by_itself(begun: str, story: Story) -> None:
    moved_on(story)
    late(story)
    if begun == "by itself":
        story.wait(1)
    story.tell(ev.LateAnswerWanted("c1", "they dance"), ev.LateAnswerWanted("c1", "they dance"))
    before = len(story.all(do.AddNote))
    story.reply(reply="said")
    story.tell(ev.LateAnswerWanted("c1", "they dance"))
    story.now += 2
    story.tell(ev.PlaybackDrained("i-said", 2000))
    assert story.tell(ev.LateAnswerWanted("c1", "they dance")) == []
    story.wait(10)
    spoken = [purpose for purpose in purposes(story) if purpose in (Purpose.RESULT, Purpose.NOTICE)]
    assert len(spoken) == 1 and before == len(story.all(do.AddNote)) == 1
    assert stages(story) == ["stale", "complete"]


def test_a_late_answer_waits_while_another_thinker_works_and_no_nudge_comes() -> None:
    story = Story(filler_after_s=0, idle_nudge_s=15)
    story.ask()
    story.call("c1", arguments='{"query": "bees"}')
    story.now += 3
    answered(story, "r2")
    story.wait(40)
    assert Purpose.NUDGE not in purposes(story)  # it still works, though for an earlier turn
    late(story)
    story.wait(1)
    story.hear("n", GIST)
    story.wait(16)
    assert purposes(story)[-2:] == [Purpose.NOTICE, Purpose.NUDGE]


@pytest.mark.parametrize("seconds", [0, 5])
def test_a_late_answer_that_is_too_old_is_not_spoken(seconds: float) -> None:
    story = Story(late_answer_max_s=seconds)
    moved_on(story)
    story.tell(ev.SpeechStarted())
    late(story)
    story.wait(5)
    story.tell(ev.SpeechPaused(5000), ev.SpeechStopped(5000, 300))
    story.hear("again")
    story.wait(5)
    assert Purpose.NOTICE not in purposes(story)


@pytest.mark.parametrize(
    ("again", "count"), [("research bees", 0), ("Please do research on the bees", 0), ("Research wasps.", 1)]
)
@pytest.mark.parametrize("first", ["asked again", "answered"])
def test_a_repeated_question_gets_its_own_answer(again: str, count: int, first: str) -> None:
    story = Story(filler_after_s=0)
    moved_on(story, "Research bees.")
    if first == "answered":
        story.tell(ev.SpeechStarted())
        late(story)
        story.now += 1
        story.tell(ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300))
    else:
        story.ask()
    story.call("c2", reply="r3", arguments=json.dumps({"domain": "research", "query": again}))
    if first == "asked again":
        late(story)
    story.tell(ev.ThinkerFinished("c2", '{"answer": "they dance"}'))
    story.hear("again")
    story.wait(5)
    assert purposes(story).count(Purpose.NOTICE) == count


@pytest.mark.parametrize("words", ["Never mind.", "Oh, forget it, what time is it?", "Actually, never mind that"])
def test_after_never_mind_no_late_answer_is_spoken(words: str, story: Story) -> None:
    moved_on(story)
    story.tell(ev.TextTyped(words))
    assert stages(story)[-1] == "cancelled" and do.CancelThinker("c1") in story.said
    story.hear("again")
    late(story)
    story.wait(5)
    assert Purpose.NOTICE not in purposes(story)


@pytest.mark.parametrize("words", ["Cancel that meeting on Monday.", "Don't forget that.", "Do you mind the bees?"])
def test_words_that_only_sound_like_never_mind_drop_nothing(words: str, story: Story) -> None:
    moved_on(story)
    story.tell(ev.TextTyped(words))
    story.hear("again")
    late(story)
    story.wait(5)
    assert purposes(story)[-1] is Purpose.NOTICE


def test_never_mind_also_drops_a_waiting_answer(story: Story) -> None:
    moved_on(story)
    story.tell(ev.SpeechStarted())
    late(story)
    story.now += 1
    story.tell(ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300))
    story.tell(ev.InputCommitted("u"), ev.UserTranscribed("u", "Never mind the bees."))
    story.hear("again")
    story.wait(5)
    assert Purpose.NOTICE not in purposes(story)


def test_a_late_answer_that_is_cut_off_twice_can_still_be_asked_for(story: Story) -> None:
    moved_on(story)
    late(story)
    story.wait(1)
    broken_into(story, heard_ms=400)
    story.wait(2)
    broken_into(story, heard_ms=400, reply="n2")
    story.wait(5)
    assert purposes(story).count(Purpose.NOTICE) == 2 and stages(story) == ["stale"]
    story.tell(ev.LateAnswerWanted("c1", "they dance"))
    assert stages(story)[-1] == "complete"


def test_a_late_answer_cut_off_while_being_asked_for_can_be_asked_for_again(story: Story) -> None:
    moved_on(story)
    late(story)
    story.wait(1)
    assert story.tell(ev.LateAnswerWanted("c1", "they dance")) == []
    broken_into(story, heard_ms=400)
    assert stages(story) == ["stale", "stale"]  # the page's button works again
    story.wait(2)
    broken_into(story, heard_ms=400, reply="n2")
    assert stages(story) == ["stale", "stale"]
    story.tell(ev.LateAnswerWanted("c1", "they dance"))
    assert stages(story)[-1] == "complete"

"""The time to the first sound, and the time to the answer: earlier words do not count as the answer."""

from backend.page_events import AnswerMeasured, TurnMeasured
from backend.turns import events as ev
from tests.turns.story import MS, Story

SOUND = bytes(500 * MS)


def figures(story: Story) -> tuple[list[int], list[int]]:
    """The times to first sound, and to the answer."""
    sounds = [event.first_sound_ms for event in story.published(TurnMeasured)]
    return sounds, [event.answer_ms for event in story.published(AnswerMeasured)]


def preamble(story: Story, *, text: str = "Let me check that.") -> None:
    """A reply that says something, 200 ms after its request, and then calls a tool."""
    story.tell(ev.ReplyStarted("r1", "answer-1"), ev.ReplyText("r1", "i1", text))
    story.now += 0.2
    story.tell(ev.ReplyAudio("r1", "i1", SOUND), ev.PlaybackStarted("i1"))
    story.tell(ev.ToolCalled("r1", "c1", "route_to_thinker", "{}"), ev.ReplyFinished("r1", "completed"))
    story.tell(ev.PlaybackDrained("i1", 500))


def test_an_immediate_answer_is_the_first_sound() -> None:
    for finished_first in (True, False):
        story = Story()
        story.ask()
        story.tell(ev.ReplyStarted("r1", "answer-1"), ev.ReplyText("r1", "i1", "Yes."))
        story.now += 0.2
        story.tell(ev.ReplyAudio("r1", "i1", SOUND))
        events = [ev.ReplyFinished("r1", "completed"), ev.PlaybackStarted("i1")]
        story.tell(*(events if finished_first else reversed(events)))
        assert figures(story) == ([500], [500])


def test_a_preamble_is_a_sound_and_not_the_answer(story: Story) -> None:
    story.ask()
    preamble(story)
    assert figures(story) == ([500], [])
    story.now += 1
    story.tell(ev.ThinkerFinished("c1", "12 degrees"))
    story.now += 0.1
    story.reply(reply="r2")
    assert figures(story) == ([500], [1600])


def test_a_preamble_that_is_played_after_the_end_of_its_reply_is_not_the_answer_either(story: Story) -> None:
    story.ask()
    story.tell(ev.ReplyStarted("r1", "answer-1"), ev.ReplyText("r1", "i1", "Let me check."))
    story.tell(ev.ReplyAudio("r1", "i1", SOUND), ev.ToolCalled("r1", "c1", "route_to_thinker", "{}"))
    story.tell(ev.ReplyFinished("r1", "completed"), ev.PlaybackStarted("i1"))
    assert figures(story) == ([300], [])


def test_a_filler_is_not_the_answer() -> None:
    story = Story(filler_after_s=1.0)
    story.ask()
    story.call("c1")
    story.wait(1.5)
    story.reply(reply="r2", text="Still looking.", ms=500)
    story.tell(ev.PlaybackDrained("i-r2", 500))
    sounds, answers = figures(story)
    assert len(sounds) == 1 and answers == []
    story.now += 1
    story.tell(ev.ThinkerFinished("c1", "12 degrees"))
    story.reply(reply="r3")
    sounds, answers = figures(story)
    assert len(sounds) == 1 and len(answers) == 1 and answers[0] > sounds[0]


def test_a_turn_without_an_answer_has_no_time_to_it_and_the_next_one_has_its_own() -> None:
    story = Story(filler_after_s=0)
    story.ask()
    preamble(story)
    story.wait(3)
    story.ask()
    story.reply(reply="r2")
    assert [(event.turn, event.answer_ms) for event in story.published(AnswerMeasured)] == [(2, 300)]

"""A promise differs from an answer by its words."""

import pytest

from backend.turns.promises import is_promise

PROMISES = [
    "Let me look that up.",
    "Sure, let me check that for you.",
    "One moment, please.",
    "Okay! I'll check the weather in Seattle.",
    "Let me see what I can find.",
    "Just a second while I look into that.",
    "I'm checking that now.",
    "Looking that up now.",
    "Give me a moment to pull that up.",
    "Hold on, I'll find out.",
    "Great question. Let me think about it.",
    "Bear with me while I check the latest news.",
    "I\u2019ll look into the train times for you.",
    "I will check your calendar for tomorrow.",
]
ANSWERS = [
    "",
    "Yes.",
    "Okay.",
    "Goodbye!",
    "Hello Ada.",
    "It is sunny in Seattle today.",
    "Let me know if you need anything else.",
    "Let me check. It is four.",
    "Let me think: the answer is four.",
    "I'll look that up. It's sunny and warm.",
    "Shall I check that for you?",
    "I see. What else can I do?",
    "I'm going to the park.",
    "I'll set a reminder for nine o'clock.",
    "I will remind you at nine.",
    "Hold on to your hat, it's windy.",
    "One moment of silence is a film.",
    "Let me look at it from another side, since so much depends on who is asked, when they are asked, and by whom, as "
    "the last years have shown.",
]


@pytest.mark.parametrize("words", PROMISES)
def test_an_announcement_of_work_alone_is_a_promise(words: str) -> None:
    assert is_promise(words)


@pytest.mark.parametrize("words", ANSWERS)
def test_a_text_that_says_more_than_that_is_no_promise(words: str) -> None:
    assert not is_promise(words)

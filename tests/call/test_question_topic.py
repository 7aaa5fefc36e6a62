"""What a late answer says it is about."""

from __future__ import annotations

import pytest

from backend.call.question_topic import topic_of


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Research electric cars.", "electric cars"),
        ("Can you do some research on bees, please?", "bees"),
        ("What is the weather like in Rome?", "the weather like in Rome"),
        ("how is Apple doing?", "Apple"),
        ("What about tomorrow?", "tomorrow"),
        ("Compare heat pumps and gas heating", "heat pumps and gas heating"),
        ("weather in Rome", "weather in Rome"),
        ("Should I buy gold?", 'your question "Should I buy gold"'),
        ("", "your question"),
        ("Please", "Please"),
        ("find " + "many words " * 20, " ".join(["many", "words"] * 6)),
    ],
)
def test_a_question_is_about_something(question: str, topic: str) -> None:
    assert topic_of(question) == topic

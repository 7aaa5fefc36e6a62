"""Typed conversation with the demonstration: by the rules of the spoken one, and with what was said before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backend.extensions.local.chat.rules import think
from backend.extensions.local.dialogue.remembering import remembered
from backend.extensions.local.dialogue.rules import Thought
from tests.extensions.local.orders import GUIDE

DOMAINS = ["assistant", "knowledge", "stocks", "weather"]
FIELDS = {"domain": {"type": "string", "enum": DOMAINS}, "query": {"type": "string"}}
KNOWN = "\n".join(line for line in GUIDE.splitlines() if line.split(":")[0][2:] in DOMAINS)
ROUTE = {"type": "function", "function": {"name": "route_to_thinker", "parameters": {"properties": FIELDS}}}


def answer(*texts: str, known: str = "") -> Thought:
    """The thought after these texts, the user's first, in turns."""
    said = [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(texts)]
    return think([{"role": "system", "content": known or KNOWN}, *said], [ROUTE])


def routed(thought: Thought) -> Any:
    (call,) = thought.calls
    assert call.name == "route_to_thinker"
    return json.loads(call.arguments)


def test_a_question_goes_to_the_specialist_whose_it_is() -> None:
    question = "What's the weather in Seattle?"
    assert routed(answer(question)) == {"domain": "weather", "query": question}


def test_a_question_that_leans_on_the_one_before_is_made_whole() -> None:
    whole = routed(answer("What's the weather in Seattle?", "Mild.", "And in Paris?"))
    assert whole == {"domain": "weather", "query": "What's the weather in Paris?"}


def test_small_talk_is_answered_at_once() -> None:
    assert answer("Thank you!").text == "You are welcome."


def test_a_yes_is_the_wish_it_agrees_to() -> None:
    wish = "Cancel the meeting on Monday."
    agreed = routed(answer(wish, "Shall I cancel the meeting on Monday? Please say yes or no.", "Yes."))
    assert agreed == {"domain": "assistant", "query": f"Yes, c{wish[1:]}"}


def test_what_a_specialist_said_is_told() -> None:
    call = {"id": "c1", "function": {"name": "route_to_thinker", "arguments": "{}"}}
    result = json.dumps({"sample": True, "answer": "This is sample data: rain.", "domain": "weather"})
    thought = think(
        [
            {"role": "user", "content": "Rain?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": result},
        ],
        [ROUTE],
    )
    assert thought == Thought("This is sample data: rain.")


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is my name?", "Your name is Ana."),
        ("what's my name", "Your name is Ana."),
        ("Do you remember my name?", "Your name is Ana."),
        ("What did I just ask?", "You said: Why is the sky blue?"),
        ("Where do I live?", "You live in Oslo."),
        ("What did we talk about?", "You said: My name is Ana and I live in Oslo. Why is the sky blue?"),
        ("What is the weather in Oslo?", None),
        ("What's your name?", None),
    ],
)
def test_what_was_said_before_is_found_again(question: str, told: str | None) -> None:
    said = [
        ("user", "My name is Ana and I live in Oslo"),
        ("assistant", "Hello."),
        ("user", "Why is the sky blue?"),
        ("assistant", "Scattering."),
    ]
    assert remembered(question, said, "") == told


def test_of_what_was_not_said_the_instructions_may_tell_and_else_nothing_is_made_up() -> None:
    known = '{"preferences": {"name": "Ana", "default_location": "Oslo"}}'
    assert remembered("What is my name?", [], known) == "Your name is Ana."
    assert remembered("Where do I live?", [], known) == "You live in Oslo."
    assert remembered("What is my name?", [], "") == "You have not told me your name yet."
    assert remembered("What did I ask?", [], "") == "You have not said anything before that."

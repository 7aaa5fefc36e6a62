"""Reminders by rules: sentences as people say them, taken apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backend.extensions.local.chat.rules import think
from backend.extensions.local.dialogue.understanding import Question
from tests.extensions.local.orders import understood
from tests.extensions.local.test_reach import TOOLS


@pytest.mark.parametrize(
    ("sentence", "text", "at"),
    [
        ("Remind me in ten seconds to take the bread out.", "take the bread out", "in ten seconds"),
        ("Please remind me to take the bread out in half an hour", "take the bread out", "in half an hour"),
        ("Can you remind me tomorrow at nine to call Ana?", "call Ana", "tomorrow at nine"),
        ("Remind me every day at nine to take my pills.", "take my pills", "every day at nine"),
        ("Remind me at nine every morning to run", "run", "at nine every morning"),
        ("remind me every monday at half past eight to pay", "pay", "every monday at half past eight"),
        ("Remind me at five o'clock about the dentist", "the dentist", "at five o'clock"),
        ("Remind me of the dentist", "", ""),
    ],
)
def test_a_sentence_is_taken_apart(sentence: str, text: str, at: str) -> None:
    asked = said(sentence)
    wanted = {"action": "create", "text": text, "at": at}
    assert asked == (wanted if at else "When?")


def said(sentence: str, *results: dict[str, Any]) -> Any:
    """What the mind says or calls, after these results of its call."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": sentence}]
    for result in results:
        call = {"id": "c1", "type": "function", "function": {"name": "reminders", "arguments": "{}"}}
        messages += [{"role": "assistant", "tool_calls": [call]}]
        messages += [{"role": "tool", "tool_call_id": "c1", "content": json.dumps(result)}]
    thought = think(messages, [TOOLS[name].schema() for name in ("calendar_list_events", "reminders")])
    return json.loads(thought.calls[0].arguments) if thought.calls else thought.text


def test_it_sets_lists_and_calls_off() -> None:
    sentence = "Remind me in ten seconds to take the bread out."
    call = {"action": "create", "text": "take the bread out", "at": "in ten seconds"}
    assert said(sentence) == call
    set_ = {"set": {"text": "take the bread out"}, "spoken": "I will remind you in ten seconds: take the bread out."}
    assert said(sentence, set_) == set_["spoken"]
    assert said("What reminders do I have?") == {"action": "list"}
    assert said("Cancel the reminder about the bread.") == {"action": "cancel", "text": "bread"}
    assert said("Remind me of the dentist.") == "When?"
    assert said("Set a reminder at six o'clock.") == "What is it about?"


def test_reminders_go_to_who_keeps_them_whatever_they_are_of() -> None:
    domains = ["weather", "assistant", "knowledge"]
    for sentence in ("Remind me in an hour to take an umbrella", "What reminders do I have?", "Cancel my reminder"):
        assert understood(sentence, domains) == Question("assistant", sentence)

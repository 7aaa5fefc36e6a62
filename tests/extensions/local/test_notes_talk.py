"""Notes with no key: sentences taken apart, the note found before it is changed, and due ones brought up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backend.agent.context import Note, Situation, system_prompt
from backend.extensions.local.chat.rules import think
from backend.extensions.local.dialogue.rules import Thought
from backend.extensions.local.dialogue.understanding import Question
from backend.middleware.steps.due_notes import TITLE
from tests.extensions.local.orders import understood
from tests.extensions.local.test_reach import DOMAINS, TOOLS

OFFERED = ("notes", "calendar_create_event", "calendar_list_events", "remember_preference")
MONDAY = "Monday, 23 November 2026"
PLUMBER = {"id": "note_1", "text": "call the plumber", "due": "2026-11-22T09:00", "when": f"{MONDAY}, 09:00"}
MILK = {"id": "note_2", "text": "buy milk"}


def asked(sentence: str, *results: dict[str, Any], known: str = "", offered: tuple[str, ...] = OFFERED) -> Thought:
    """What comes next, after the tool gave these results, one after the other."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": known}, {"role": "user", "content": sentence}]
    for number, result in enumerate(results):
        made = {"id": f"c{number}", "type": "function", "function": {"name": "notes", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(result)})
    return think(messages, [TOOLS[name].schema() for name in offered])


@pytest.mark.parametrize(
    ("sentence", "arguments"),
    [
        (
            "Make a note to call the plumber tomorrow at nine.",
            {"action": "create", "text": "call the plumber", "due": "tomorrow at nine"},
        ),
        ("Make a note to buy milk in two hours.", {"action": "create", "text": "buy milk", "due": "in two hours"}),
        ("Note that the key is under the mat.", {"action": "create", "text": "the key is under the mat"}),
        (
            "Please take a note: pay the rent on Friday",
            {"action": "create", "text": "pay the rent", "due": "on Friday"},
        ),
        ("What are my notes?", {"action": "list"}),
        ("Do I have any open notes?", {"action": "list"}),
        ("Snooze it until Monday.", {"action": "snooze", "due": "Monday"}),
        ("Snooze that for an hour.", {"action": "snooze", "due": "in an hour"}),
        ("That's done.", {"action": "resolve"}),
        ("Mark it as done.", {"action": "resolve"}),
        ("The plumber note is done.", {"action": "list", "query": "plumber"}),
        ("Snooze the plumber note until Monday.", {"action": "list", "query": "plumber"}),
    ],
)
def test_a_sentence_goes_to_the_assistant_and_calls_the_tool(sentence: str, arguments: dict[str, str]) -> None:
    if not sentence.startswith("The plumber"):  # which nothing but its name makes a note
        assert understood(sentence, DOMAINS) == Question("assistant", sentence)
    (call,) = asked(sentence).calls
    assert (call.name, json.loads(call.arguments)) == ("notes", arguments)
    TOOLS["notes"].read_arguments(call.arguments)


@pytest.mark.parametrize(
    ("sentence", "arguments"),
    [
        ("The plumber note is done.", {"action": "resolve", "note_id": "note_1"}),
        ("Snooze the plumber note until Monday.", {"action": "snooze", "due": "Monday", "note_id": "note_1"}),
    ],
)
def test_a_named_note_is_found_and_then_changed(sentence: str, arguments: dict[str, str]) -> None:
    (call,) = asked(sentence, {"notes": [PLUMBER]}).calls
    assert json.loads(call.arguments) == arguments
    assert asked(sentence, {"notes": []}).text == "I find nothing like that."
    assert asked(sentence, {"notes": [PLUMBER, PLUMBER | {"id": "note_3"}]}).text.startswith("Which note do you mean?")


def test_snoozing_without_a_time_is_asked_back_about() -> None:
    assert asked("Snooze it.") == Thought("Until when?")


def test_a_failure_is_admitted() -> None:
    failed = {"error": {"type": "failed", "message": "The user has no open notes."}}
    assert asked("That's done.", failed).text == "I am sorry, I could not find that out. The user has no open notes."


def test_due_notes_are_brought_up_after_the_answer_and_only_then() -> None:
    situation = Situation(
        notes=(Note("Who is speaking", {"name": "Ana"}), Note(TITLE, [PLUMBER, MILK | {"text": "<"}]))
    )
    known = system_prompt("Help.", now=0.0, mode="voice", situation=situation)
    words = asked("What is the capital of France?", known=known, offered=()).text
    assert words == "The capital of France is Paris. By the way, you have noted: call the plumber; <."
    assert asked("What are my notes?", known=known).calls  # not before the tool was asked
    assert "By the way" not in asked("What is the capital of France?", offered=()).text
    listed = {"notes": [PLUMBER, MILK | {"text": "<"}], "spoken": "You have noted: call the plumber; <."}
    told = asked("What are my notes?", listed, known=known).text
    assert "By the way" not in told  # they were all told already

"""Issues on GitHub with no key: sentences taken apart, and consent asked in the caller's own words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backend.extensions.local.dialogue.understanding import Question
from tests.extensions.local.orders import understood
from tests.extensions.local.test_reach import DOMAINS, TOOLS, after, asked


@pytest.mark.parametrize(
    ("sentence", "arguments"),
    [
        ("Which issues are open on GitHub?", {"action": "list"}),
        ("List the closed issues.", {"action": "list", "state": "closed"}),
        ("What does issue twelve say?", {"action": "view", "number": 12}),
        ("Show me the comments on issue twenty five.", {"action": "list_comments", "number": 25}),
        ("Comment on issue 2 that it works now.", {"action": "comment", "number": 2, "text": "It works now."}),
        ("Close issue twelve.", {"action": "close", "number": 12}),
        ("Open an issue about the weather widget.", {"action": "create", "title": "Weather widget"}),
    ],
)
def test_a_sentence_is_routed_and_calls_the_tool(sentence: str, arguments: dict[str, Any]) -> None:
    assert understood(sentence, DOMAINS) == Question("engineering", sentence)
    for said in (sentence, f"Yes, {sentence[0].lower()}{sentence[1:]}"):  # a yes is the wish once more
        (call,) = asked(said, "github_issue").calls
        assert json.loads(call.arguments) == arguments
        TOOLS["github_issue"].read_arguments(call.arguments)


def test_an_issue_without_its_number_is_asked_back_about() -> None:
    assert asked("Close that issue.", "github_issue").text == "Which one do you mean?"


def test_where_nobody_looks_after_issues_they_are_a_question_like_any_other() -> None:
    wish = understood("Which issues are open on GitHub?", [domain for domain in DOMAINS if domain != "engineering"])
    assert isinstance(wish, Question)


def test_consent_is_asked_in_the_callers_own_words() -> None:
    result = {"error": {"type": "needs_confirmation", "message": "Not done yet."}}
    assert after("Close issue 1.", "github_issue", result) == "Shall I close issue 1? Please say yes or no."

"""The offline chat writes a caller's notes in the form the server reads."""

from __future__ import annotations

from backend.extensions.local.chat.rules import think
from backend.responders.base import PastMessage
from backend.users.profile import UserProfile
from backend.users.summaries import TASK, draft_from, material


def told(known: UserProfile, *said: str) -> str:
    """The summary it makes of what the caller said."""
    lines = [PastMessage("user", text) for text in said] + [PastMessage("assistant", "It is mild.")]
    messages = [{"role": "system", "content": TASK}, {"role": "user", "content": material(known, lines)}]
    notes = draft_from(think(messages, []).text)
    assert notes is not None and notes.facts == ()
    return notes.summary


def test_the_last_questions_are_noted_and_nothing_is_made_up() -> None:
    questions = ("What's the weather in Seattle?", "How is Apple stock doing?")
    assert told(UserProfile(), *questions) == "Has asked: What's the weather in Seattle; How is Apple stock doing."
    assert told(UserProfile(), *(f"question {n} " + "and more " * 50 for n in range(20))).count(";") == 5
    assert told(UserProfile(summary="Likes tea.")) == "Likes tea."
    assert told(UserProfile()) == ""


def test_another_task_is_not_mistaken_for_this_one() -> None:
    assert "summary" not in think([{"role": "user", "content": "{}\n[]"}], []).text

"""The offline chat writes a caller's notes in the form the server reads."""

from __future__ import annotations

from backend.responders.base import PastMessage
from backend.users.profile import UserProfile
from backend.users.summaries import TASK, draft_from, material
from local_responder.chat.duties import TOPICS_KEPT
from local_responder.chat.rules import think


def told(known: UserProfile, *said: str) -> str:
    """The summary it makes of what the caller said."""
    lines = [PastMessage("user", text) for text in said] + [PastMessage("assistant", "It is mild.")]
    messages = [{"role": "system", "content": TASK}, {"role": "user", "content": material(known, lines)}]
    notes = draft_from(think(messages, []).text)
    assert notes is not None and notes.facts == ()
    return notes.summary


def test_what_was_asked_is_noted_and_merged_into_the_old_notes() -> None:
    first = told(UserProfile(), "What's the weather in Seattle?")
    assert first == "Has asked: What's the weather in Seattle."
    second = told(UserProfile(summary=first), "What's the weather in Seattle?", "How is Apple stock doing?")
    assert second == "Has asked: What's the weather in Seattle; How is Apple stock doing."


def test_the_notes_stay_short() -> None:
    summary = told(UserProfile(), *(f"question {n} " + "and more " * 50 for n in range(20)))
    assert summary.count(";") == TOPICS_KEPT - 1 and len(summary) < 600


def test_nothing_said_leaves_nothing_noted_and_another_task_is_not_mistaken_for_this_one() -> None:
    assert told(UserProfile()) == ""
    assert "summary" not in think([{"role": "user", "content": "{}\n[]"}], []).text

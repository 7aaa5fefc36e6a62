"""The offline chat keeps a caller's notes as they are, in the form the server reads."""

from __future__ import annotations

from backend.responders.base import PastMessage
from backend.users.profile import UserProfile
from backend.users.summaries import TASK, draft_from, material
from local_responder.chat.rules import think


def told(known: UserProfile, *said: str) -> str:
    """The summary it makes of what the caller said."""
    lines = [PastMessage("user", text) for text in said] + [PastMessage("assistant", "It is mild.")]
    messages = [{"role": "system", "content": TASK}, {"role": "user", "content": material(known, lines)}]
    notes = draft_from(think(messages, []).text)
    assert notes is not None and notes.facts == ()
    return notes.summary


def test_what_is_noted_stays_and_nothing_is_made_up() -> None:
    assert told(UserProfile(), "What's the weather in Seattle?") == ""
    assert told(UserProfile(summary="Likes tea."), "How is Apple stock doing?") == "Likes tea."


def test_another_task_is_not_mistaken_for_this_one() -> None:
    assert "summary" not in think([{"role": "user", "content": "{}\n[]"}], []).text

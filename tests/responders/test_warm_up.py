"""Parts of a Responder that are loaded while the server already serves."""

import asyncio

import pytest

from backend.responders import warm_up as module
from backend.responders.warm_up import WarmUp


async def test_it_asks_until_nothing_is_loading_and_a_failed_question_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ASK_EVERY_S", 0)
    answers = [["recognition", "synthesis"], None, ["recognition"], []]
    seen: list[list[str]] = []

    async def ask() -> list[str] | None:
        seen.append(warm_up.loading)
        return answers.pop(0)

    warm_up = WarmUp(ask, ["recognition", "synthesis", "dialogue"])
    await asyncio.gather(warm_up.run(), warm_up.wait())
    assert not answers and warm_up.loading == [] and warm_up.took_s >= 0
    assert seen[2] == seen[1] == ["recognition", "synthesis"] and seen[3] == ["recognition"]

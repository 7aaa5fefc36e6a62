"""What the local Responder loads while the server already serves, and how the server says so."""

from __future__ import annotations

import asyncio
import os
import select
import time

import httpx2
import pytest

from backend.responders import warm_up as module
from backend.responders.warm_up import WarmUp
from tests.support.running_server import RunningServer, running_server


async def test_it_asks_until_nothing_is_loading_and_an_unanswered_question_changes_nothing(
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
    assert not answers and warm_up.loading == [] and "done after" in repr(warm_up)
    assert seen[2] == seen[1] == ["recognition", "synthesis"] and seen[3] == ["recognition"]


@pytest.mark.slow
def test_the_server_serves_while_speech_is_being_loaded_and_the_terminal_says_when_that_is_over() -> None:
    with running_server(OFFLINE_URL="") as server:
        assert "Warm-up    loading speech recognition" in server.printed
        ready = httpx2.get(f"{server.url}/readyz", trust_env=False)
        assert ready.status_code == 200
        printed = _printed_until(server, "done after", within_s=90)
        assert "Warm-up    done after" in printed
        assert "loading" not in httpx2.get(f"{server.url}/readyz", trust_env=False).json()
        assert httpx2.get(f"{server.url}/api/config", trust_env=False).json()["loading"] == []


def _printed_until(server: RunningServer, words: str, within_s: float) -> str:
    assert server.process.stdout
    printed, deadline = "", time.monotonic() + within_s
    while words not in printed:
        ready, _, _ = select.select([server.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(server.process.stdout.fileno(), 4096).decode() if ready else ""
        assert piece, f"not told within {within_s:g} s: {printed!r}"
        printed += piece
    return printed

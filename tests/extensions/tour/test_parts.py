"""The tour's parts on steps, reasoning, reminders and long work: what is printed is what happened."""

from __future__ import annotations

import io
import re
from collections.abc import Awaitable, Callable

import pytest
from rich.console import Console

from backend.extensions.tour import background, reasoning, reminder, steps

FIRST_SOUND_WITHIN_MS = 3_000
"""On a machine with nothing else to do it is a tenth of that."""


async def shown(run: Callable[[Console], Awaitable[int]]) -> str:
    """What a part prints; it must have gone well."""
    console = Console(file=io.StringIO(), width=300)
    status = await run(console)
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    assert status == 0, printed
    return printed


async def test_a_post_step_that_fails_costs_its_own_work_alone() -> None:
    printed = await shown(steps.run)
    assert "That is 408. Yours, the machine." in printed
    assert 'voice_pipeline_steps_total{outcome="failed",step="audit"} 1.0' in printed
    assert "step audit is broken: RuntimeError at plugins/afterwards.py:10" in printed
    assert "cannot file" not in printed


async def test_two_scripted_models_deliver() -> None:
    printed = await shown(reasoning.run)
    assert "planner, executor, executor, planner, executor" in printed
    assert "You get 14 dollars back: the tickets cost 36." in printed
    assert "41" not in printed


@pytest.mark.slow
async def test_a_reminder_asked_for_by_voice_is_spoken_on_time() -> None:
    printed = await shown(reminder.run)
    assert re.search("I will remind you in (ten|10) seconds: take the bread", printed)
    assert "By the way: A reminder: take the bread" in printed
    late = re.search(r"first sound (\d+) ms after it was due", printed)
    assert late and int(late[1]) < FIRST_SOUND_WITHIN_MS, printed


@pytest.mark.slow
@pytest.mark.long
async def test_research_whose_worker_and_server_were_killed_is_spoken_in_a_new_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(background.SETTINGS, "RESEARCH_DELAY_S", "3")
    printed = await shown(background.run)
    assert "I've started on it in the background" in printed
    assert "in run 2" in printed
    assert printed.count("I have an answer to this: Research") == 1

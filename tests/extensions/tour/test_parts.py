"""The tour's parts on steps and reasoning: what is printed is what happened."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable

from rich.console import Console

from backend.extensions.tour import reasoning, steps


async def shown(run: Callable[[Console], Awaitable[int]]) -> str:
    """What a part prints; it must have gone well."""
    console = Console(file=io.StringIO(), width=200)
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

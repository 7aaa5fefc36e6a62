"""What a worker tells its operator."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from backend.errors import ModelUnavailable
from backend.tasks.narration import narrated
from backend.tasks.task import TaskResult
from backend.tasks.worker import TaskRun


def a_run(number: int = 1) -> TaskRun:
    task: Any = SimpleNamespace(kind="research", id="0123456789", run=number, instruction="my secret question")
    return TaskRun(task, cast("Any", None), {})


async def test_the_steps_of_a_task_are_told_without_a_word_of_its_user() -> None:
    async def work(run: TaskRun) -> TaskResult:
        run.progress("reading three sources")
        return TaskResult("Bees dance.", "live")

    lines: list[str] = []
    await narrated(work, lines.append)(a_run())
    assert lines[:2] == ["research 01234567  → started", "research 01234567  … reading three sources"]
    assert lines[2].startswith("research 01234567  ✓ answered (live) after 0.")
    assert "secret" not in " ".join(lines) and "Bees" not in " ".join(lines)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ModelUnavailable("The model is gone."), "✗ failed (The model is gone.)"),
        (ValueError("my secret question"), "✗ failed (ValueError)"),
        (asyncio.CancelledError(), "· stopped"),
    ],
)
async def test_how_it_ended_is_told(error: BaseException, told: str) -> None:
    async def work(_: TaskRun) -> TaskResult:
        raise error

    lines: list[str] = []
    with pytest.raises(type(error)):
        await narrated(work, lines.append)(a_run(2))
    assert lines[0].endswith("started again, attempt 2") and told in lines[1]

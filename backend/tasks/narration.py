"""Tells the operator of a worker what it does, a line for each step, without a word of its users."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from backend.errors import VoiceError
from backend.tasks.task import TaskResult
from backend.tasks.worker import TaskRun, TaskWork

PrintLine = Callable[[str], None]
"""Takes one line."""


def narrated(work: TaskWork, print_line: PrintLine) -> TaskWork:
    """Return that work, which tells when a task begins, how far it is, and how it ends."""

    async def told(run: TaskRun) -> TaskResult:
        name, began = f"{run.task.kind} {run.task.id[:8]}", time.monotonic()
        run.on_progress = lambda detail: print_line(f"{name}  … {detail}")
        print_line(f"{name}  → started{'' if run.task.run <= 1 else f' again, attempt {run.task.run}'}")

        def ended(mark: str, how: str) -> None:
            print_line(f"{name}  {mark} {how} after {time.monotonic() - began:.1f} s")

        try:
            result = await work(run)
        except asyncio.CancelledError:
            ended("·", "stopped")
            raise
        except Exception as error:
            ended("✗", f"failed ({str(error) if isinstance(error, VoiceError) else type(error).__name__})")
            raise
        ended("✓", f"answered ({result.source})")
        return result

    return told

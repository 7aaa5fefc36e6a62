"""What the steps around a turn cost without any model: `python -m benchmarks.steps`, about ten seconds.

Each turn runs every built-in step, before and after it, for a user of whom much is known: 20 facts, 200 memories, five
conversations of 40 messages. Once over a memory in this process, once over a Redis of its own, and once with no steps.
On a busy machine trust the CPU: a turn waits for Redis, and Redis for a core.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import uvloop
from rich.console import Console
from rich.table import Table

from backend.middleware.base import Asked
from backend.middleware.pipeline import NO_STEPS, Pipeline
from backend.middleware.plan import discover
from backend.storage.embedded import open_memory
from backend.storage.memory import Memory
from backend.storage.messages import Message
from backend.testing.memory import FakeMemory
from backend.users.memories import Memories
from backend.users.profile_updates import AddFact, SetPreference, update_profile

TURNS = 300
USER = "ada"
THINGS = ("spare key", "ladder", "tent", "sledge", "paint", "drill", "wine", "lamp", "carpet", "suitcase")
"""What is remembered: a tenth of it bears on the question."""


class FewMemories:
    """Nothing remembered: what a memory in this process is measured with."""

    async def all(self, user_id: str) -> list[Any]:
        """None."""
        return []


async def known(memory: Memory, memories: Memories | None) -> None:
    """A user of whom much is known."""
    await update_profile(memory, USER, SetPreference("name", "Ada"), SetPreference("default_location", "Bergen"))
    await update_profile(memory, USER, *(AddFact(f"likes thing number {number}") for number in range(20)))
    for conversation in range(5):
        said = [
            Message("user", f"Word {number} of conversation {conversation} on trains.", number) for number in range(40)
        ]
        await memory.append_messages(USER, f"c{conversation}", *said)
    for number in range(200 if memories else 0):
        assert memories is not None
        await memories.add(USER, f"The {THINGS[number % len(THINGS)]} number {number} is kept in the cellar.")


async def measured(pipeline: Pipeline) -> tuple[list[float], float]:
    """Milliseconds each turn's steps took, before and after it together; and of this process's CPU, on average."""
    took: list[float] = []
    cpu_began = 0.0
    for number in range(TURNS + 20):
        if number == 20:
            cpu_began = time.process_time()
        began = time.perf_counter()
        prepared = await pipeline.before(Asked(f"Where is spare key {number}, and my bicycle?", USER, "now"))
        await pipeline.after(prepared.turn("In the cellar."))
        took.append((time.perf_counter() - began) * 1000)
    return took[20:], (time.process_time() - cpu_began) * 1000 / TURNS


async def main() -> None:
    """Measure and tell."""
    table = Table("steps", "median ms", "p95 ms", "CPU ms", title=f"Steps around a turn, {TURNS} turns each")

    def tell(name: str, figures: tuple[list[float], float]) -> None:
        took, cpu_ms = figures
        table.add_row(name, f"{median(took):.2f}", f"{quantiles(took, n=20)[-1]:.2f}", f"{cpu_ms:.2f}")

    tell("none", await measured(NO_STEPS))
    memory = FakeMemory()
    await known(memory, None)
    tell("all, memory in this process", await measured(Pipeline(discover(), {Memory: memory, Memories: FewMemories()})))
    with tempfile.TemporaryDirectory() as folder:
        opened = await open_memory(None, Path(folder))
        memories = Memories(opened.redis)
        await known(opened.memory, memories)
        services = {Memory: opened.memory, Memories: memories}
        tell(f"all, {opened.label.partition(' (')[0]}", await measured(Pipeline(discover(), services)))
        await opened.memory.close()
    Console().print(table)


if __name__ == "__main__":
    uvloop.run(main())

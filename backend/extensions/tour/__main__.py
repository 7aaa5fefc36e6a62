"""The command `responder-thinker tour`, which is `python -m backend.extensions.tour`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from backend.errors import NoAnswer, VoiceError
from backend.extensions.tour import background, conversation, reasoning, reminder, steps
from backend.extensions.tour.run import tour as run_thinkers

WITHIN_S = 115.0
"""Seconds that any of it may take."""


class Part(StrEnum):
    """The parts that `tour` can show by themselves."""

    BACKGROUND = "background"
    STEPS = "steps"
    REASONING = "reasoning"
    REMINDER = "reminder"
    CONVERSATION = "conversation"


RUNS: Mapping[Part, Callable[[Console], Awaitable[int]]] = {
    Part.BACKGROUND: background.run,
    Part.STEPS: steps.run,
    Part.REASONING: reasoning.run,
    Part.REMINDER: reminder.run,
    Part.CONVERSATION: conversation.run,
}


def tour(
    voice: Annotated[bool, typer.Option(help="Also ask by voice, in a real call.")] = True,
    thinker: Annotated[list[str] | None, typer.Option(help="Ask only this Thinker; may be given again.")] = None,
    only: Annotated[
        Part | None,
        typer.Option(
            help="Show this instead: long work that survives kill -9, text to voice and back, a failing step, …"
        ),
    ] = None,
) -> None:
    """Take one conversation through every Thinker, by text and by voice, with no key, no network, no microphone."""
    logging.basicConfig(level="WARNING", format="%(levelname)s %(name)s: %(message)s")
    run = RUNS[only] if only else partial(run_thinkers, voice=voice, only=thinker or ())
    raise typer.Exit(uvloop.run(_within_time(run)))


async def _within_time(run: Callable[[Console], Awaitable[int]]) -> int:
    try:
        async with asyncio.timeout(WITHIN_S):
            return await run(Console(highlight=False))
    except TimeoutError:
        raise NoAnswer(f"It was not over within {WITHIN_S:g} seconds.", hint="Is the machine busy?") from None


def main() -> None:
    """Run the command; an error of ours is two lines, not a traceback."""
    try:
        typer.run(tour)
    except VoiceError as error:
        Console(stderr=True, highlight=False).print(f"Error: {error} {error.hint}", markup=False)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()

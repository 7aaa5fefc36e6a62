"""The command `responder-thinker tour`, which is `python -m backend.extensions.tour`."""

from __future__ import annotations

import logging
from enum import StrEnum
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from backend.errors import VoiceError
from backend.extensions.tour.background import run as run_background
from backend.extensions.tour.conversation import tour as run_conversation
from backend.extensions.tour.reasoning import run as run_reasoning
from backend.extensions.tour.reminder import run as run_reminder
from backend.extensions.tour.run import tour as run_thinkers
from backend.extensions.tour.steps import run as run_steps


class Part(StrEnum):
    """What `tour` can show by itself."""

    BACKGROUND = "background"
    STEPS = "steps"
    REASONING = "reasoning"
    REMINDER = "reminder"
    CONVERSATION = "conversation"


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
    if only is Part.BACKGROUND:
        raise typer.Exit(uvloop.run(run_background(Console(highlight=False))))
    if only is Part.STEPS:
        raise typer.Exit(uvloop.run(run_steps(Console(highlight=False))))
    if only is Part.REASONING:
        raise typer.Exit(uvloop.run(run_reasoning(Console(highlight=False))))
    if only is Part.REMINDER:
        raise typer.Exit(uvloop.run(run_reminder(Console(highlight=False))))
    if only is Part.CONVERSATION:
        raise typer.Exit(uvloop.run(run_conversation()))
    raise typer.Exit(uvloop.run(run_thinkers(voice=voice, only=thinker or ())))


def main() -> None:
    """Run the command; an error of ours is two lines, not a traceback."""
    try:
        typer.run(tour)
    except VoiceError as error:
        Console(stderr=True, highlight=False).print(f"Error: {error} {error.hint}", markup=False)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()

"""The command `responder-thinker tour`, which is `python -m backend.extensions.tour`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from backend.errors import NoAnswer, VoiceError
from backend.extensions.tour.run import tour as run_tour

WITHIN_S = 115.0
"""Seconds that all of it may take."""


def tour(
    voice: Annotated[bool, typer.Option(help="Also ask by voice, in a real call.")] = True,
    thinker: Annotated[list[str] | None, typer.Option(help="Ask only this Thinker; may be given again.")] = None,
) -> None:
    """Take one conversation through every Thinker, by text and by voice, with no key, no network, no microphone."""
    logging.basicConfig(level="WARNING", format="%(levelname)s %(name)s: %(message)s")
    raise typer.Exit(uvloop.run(_within_time(voice, thinker or ())))


async def _within_time(voice: bool, only: Sequence[str]) -> int:
    try:
        async with asyncio.timeout(WITHIN_S):
            return await run_tour(Console(highlight=False), voice=voice, only=only)
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

"""The command `responder-thinker tour`, which is `python -m backend.extensions.tour`."""

import logging
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from backend.errors import VoiceError
from backend.extensions.tour.run import tour as run_tour


def tour(
    voice: Annotated[bool, typer.Option(help="Also ask by voice, in a real call.")] = True,
    thinker: Annotated[list[str] | None, typer.Option(help="Ask only this Thinker; may be given again.")] = None,
) -> None:
    """Ask every Thinker in one conversation, by text and by voice, without a key, a network or a microphone."""
    logging.basicConfig(level="WARNING", format="%(levelname)s %(name)s: %(message)s")
    try:
        status = uvloop.run(run_tour(Console(highlight=False), voice=voice, only=thinker or ()))
    except VoiceError as error:
        Console(stderr=True, highlight=False).print(f"Error: {error} {error.hint}", markup=False)
        status = 2
    raise typer.Exit(status)


if __name__ == "__main__":
    typer.run(tour)

"""The tour starts the server, asks every Thinker by text and by voice, and prints the outcomes."""

import time
from collections.abc import Sequence
from typing import Any

import httpx2
from rich.console import Console
from rich.markup import escape

from backend.errors import BadRequest
from backend.extensions.tour.asking import CONVERSATION, Outcome, ask_aloud, ask_by_text
from backend.extensions.tour.questions import steps
from backend.extensions.tour.toured_server import toured_server
from backend.testing.calls import call_to
from responder_thinker.signalling import Signalling

INTRODUCTION = """[bold]A tour of the Thinkers[/], on this machine alone:
  Responder  the local Responder (rules, no model)
  Services   local stand-ins that speak the documented JSON: what they tell is made up

[bold]Typed[/], over the REST API"""


async def tour(console: Console, *, voice: bool = True, only: Sequence[str] = ()) -> int:
    """Run the tour; return the exit code, 0 if the right Thinker answered each question. Raises `VoiceError`."""
    began = time.monotonic()
    async with toured_server() as url, httpx2.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        thinkers: list[dict[str, Any]] = (await Signalling(http).config())["thinkers"]
        if unknown := set(only) - {thinker["domain"] for thinker in thinkers}:
            raise BadRequest(f"There is no Thinker for {', '.join(sorted(unknown))}.")
        console.print(INTRODUCTION, soft_wrap=True)
        outcomes = [_shown(console, await ask_by_text(http, step)) for step in steps(thinkers, only)]
        if voice:
            console.print("\n[bold]Spoken[/], in a call over WebRTC that goes on with the conversation")
            async with call_to(url, browser=http, conversation=CONVERSATION) as call:
                round_ = steps(thinkers, only, by_voice=True)
                outcomes += [_shown(console, await ask_aloud(call, step)) for step in round_]
    answered = sum(not outcome.problem for outcome in outcomes)
    console.print(f"\n{answered} of {len(outcomes)} questions answered, in {time.monotonic() - began:.0f} s")
    return 0 if answered == len(outcomes) else 1


def _shown(console: Console, outcome: Outcome) -> Outcome:
    step = outcome.step
    mark = "[red]✗[/]" if outcome.problem else "[green]✓[/]"
    misheard = f"  [dim](heard: {escape(outcome.heard)})[/]" if outcome.heard != step.question else ""
    console.print(f"{mark} [bold]{escape(step.label)}[/]: {escape(step.question)}{misheard}", soft_wrap=True)
    if outcome.answer:
        console.print(f"    {escape(outcome.answer)}", soft_wrap=True)
    if outcome.problem:
        console.print(f"    [red]{escape(outcome.problem)}[/]", soft_wrap=True)
    console.print(f"    [dim]after {outcome.took_ms} ms[/]")
    return outcome

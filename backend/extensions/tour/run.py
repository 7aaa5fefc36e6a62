"""The tour itself: start the server, ask every Thinker by text and by voice, print the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx2
from rich.console import Console
from rich.markup import escape

from backend.errors import BadRequest
from backend.extensions.tour.asking import Outcome, answer_to_typed, answering_aloud
from backend.extensions.tour.questions import Step, steps
from backend.extensions.tour.toured_server import toured_server
from backend.extensions.tour.voice import spoken
from responder_thinker.signalling import Signalling


async def tour(console: Console, *, voice: bool = True, only: Sequence[str] = ()) -> int:
    """Return the exit code: 0 when every Thinker answered every question. Raises `VoiceError`."""
    began = asyncio.get_running_loop().time()
    outcomes = await _toured(voice, only, console)
    answered = sum(outcome.answered for outcome in outcomes)
    took = asyncio.get_running_loop().time() - began
    mark = "[green]✓[/]" if answered == len(outcomes) else "[red]✗[/]"
    console.print(f"\n{mark} {answered} of {len(outcomes)} questions answered, in {took:.0f} s")
    return 0 if answered == len(outcomes) else 1


async def _toured(voice: bool, only: Sequence[str], console: Console) -> list[Outcome]:
    console.print("[bold]A tour of the Thinkers[/], on this machine alone:")
    console.print("  Responder  the local Responder (rules, no model)")
    console.print(
        "  Services   local stand-ins that speak the documented JSON: what they tell is made up", soft_wrap=True
    )
    async with toured_server() as url, httpx2.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        thinkers: list[dict[str, Any]] = (await Signalling(http).config())["thinkers"]
        if unknown := set(only) - {thinker["domain"] for thinker in thinkers}:
            raise BadRequest(f"There is no Thinker for {', '.join(sorted(unknown))}.")
        console.print("\n[bold]Typed[/], over the REST API")
        outcomes = [_shown(console, await answer_to_typed(http, step)) for step in steps(thinkers, only)]
        if voice:
            console.print("\n[bold]Spoken[/], in a call over WebRTC that goes on with the conversation")
            outcomes += await _aloud(http, steps(thinkers, only, by_voice=True), console)
    return outcomes


async def _aloud(http: httpx2.AsyncClient, round_: list[Step], console: Console) -> list[Outcome]:
    speeches = [await spoken(step.question) for step in round_]
    async with answering_aloud(http) as ask:
        return [_shown(console, await ask(*each)) for each in zip(round_, speeches, strict=True)]


def _shown(console: Console, outcome: Outcome) -> Outcome:
    step = outcome.step
    mark = "[green]✓[/]" if outcome.answered else "[red]✗[/]"
    misheard = f"  [dim](heard: {escape(outcome.heard)})[/]" if outcome.heard != step.question else ""
    console.print(f"{mark} [bold]{escape(step.label)}[/]: {escape(step.question)}{misheard}", soft_wrap=True)
    if outcome.answer:
        console.print(f"    {escape(outcome.answer)}", soft_wrap=True)
    if outcome.problem:
        console.print(f"    [red]{escape(outcome.problem)}[/]", soft_wrap=True)
    console.print(f"    [dim]after {outcome.took_ms} ms[/]")
    return outcome

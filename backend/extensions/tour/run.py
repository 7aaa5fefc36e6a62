"""The tour itself: start the server, ask every Thinker by text and by voice, print the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx2
from rich.console import Console
from rich.markup import escape

from backend.errors import BadRequest
from backend.extensions.tour.questions import Step, steps
from backend.extensions.tour.toured_server import toured_server
from backend.extensions.tour.visit import Outcome, visiting
from backend.extensions.tour.voice import spoken, voice_name
from responder_thinker.signalling import Signalling


async def tour(console: Console, *, voice: bool = True, only: Sequence[str] = ()) -> int:
    """The exit code: 0 when every Thinker answered every question. Raises `VoiceError`."""
    began = asyncio.get_running_loop().time()
    outcomes = await _toured(voice, only, console)
    failed = [outcome for outcome in outcomes if not outcome.answered]
    took = asyncio.get_running_loop().time() - began
    mark = "[green]✓[/]" if not failed else "[red]✗[/]"
    console.print(f"\n{mark} {len(outcomes) - len(failed)} of {len(outcomes)} questions answered, in {took:.0f} s")
    return 1 if failed else 0


async def _toured(voice: bool, only: Sequence[str], console: Console) -> list[Outcome]:
    console.print("[bold]A tour of the Thinkers[/], on this machine alone:")
    console.print("  Responder  the local Responder (rules, no model)")
    console.print(
        "  Services   local stand-ins that speak the documented JSON: what they tell is made up", soft_wrap=True
    )
    async with toured_server() as url, httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        thinkers: list[dict[str, Any]] = (await Signalling(http).config())["thinkers"]
        if unknown := set(only) - {thinker["domain"] for thinker in thinkers}:
            raise BadRequest(f"There is no Thinker for {', '.join(sorted(unknown))}.")
        console.print("\n[bold]Typed[/], over the REST API")
        outcomes = await _round(http, steps(thinkers, only, by_voice=False), console, by_voice=False)
        if voice:
            console.print(f"\n[bold]Spoken[/], over WebRTC, with the voice of {voice_name()}")
            outcomes += await _round(http, steps(thinkers, only, by_voice=True), console, by_voice=True)
    return outcomes


async def _round(http: httpx2.AsyncClient, round_: list[Step], console: Console, *, by_voice: bool) -> list[Outcome]:
    speeches = [await spoken(step.question) if by_voice else None for step in round_]
    outcomes = []
    async with visiting(http) as visit:
        for step, speech in zip(round_, speeches, strict=True):
            outcomes.append(await visit.ask(step, speech))
            _tell(console, outcomes[-1])
    return outcomes


def _tell(console: Console, outcome: Outcome) -> None:
    step = outcome.step
    mark = "[green]✓[/]" if outcome.answered else "[red]✗[/]"
    misheard = f"  [dim](heard: {escape(outcome.heard)})[/]" if outcome.heard != step.question else ""
    console.print(f"{mark} [bold]{escape(step.label)}[/]: {escape(step.question)}{misheard}", soft_wrap=True)
    if outcome.answer:
        console.print(f"    {escape(outcome.answer)}", soft_wrap=True)
    if not outcome.answered:
        console.print(f"    [red]{escape(_problem(outcome))}[/]", soft_wrap=True)
    tools = ", ".join(outcome.tools) or "no tools"
    times = [
        f"{name} after {value} ms"
        for name, value in (
            ("first sound", outcome.sound_ms),
            ("Thinker", outcome.thinker_ms),
            ("answer", outcome.words_ms),
        )
        if value is not None
    ]
    source = f"source {outcome.source or 'unknown'}"
    console.print(f"    [dim]{escape(' · '.join([tools, source, *times]))}[/]", soft_wrap=True)


def _problem(outcome: Outcome) -> str:
    """Why an outcome does not count."""
    if outcome.problem or outcome.domain == outcome.step.domain:
        return outcome.problem or "that is no answer"
    return f"{outcome.domain or 'nobody'} answered instead of {outcome.step.domain}"

"""A post-step that fails, shown: the answer still comes, and the failure is logged and counted."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
from rich.console import Console
from rich.markup import escape

from backend.extensions.tour.toured_server import prepared_folder, started

PLUGIN = """
from backend.middleware.base import Amended, WholeTurn, step

@step("sign", stage="post")
async def sign(turn: WholeTurn) -> Amended:
    return Amended(f"{turn.answer} Yours, the machine.")

@step("audit", stage="post", depends_on=["sign"])
async def audit(turn: WholeTurn) -> None:
    raise RuntimeError(f"cannot file: {turn.asked.text}")
"""
QUESTION = "What is seventeen times twenty four?"


async def run(console: Console) -> int:
    """The exit code: 0 when the answer came, amended, and the failure was reported without any user's words."""
    async with prepared_folder() as (folder, settings):
        plugins = folder / "plugins"
        plugins.mkdir()
        (plugins / "afterwards.py").write_text(PLUGIN)
        with_steps = settings | {"PLUGIN_FOLDERS": str(plugins)}
        async with started(folder, with_steps, "serve", "--port", "0") as server:
            answer, counted = await _asked(server.url)
        logged = _lines_about("audit", folder / "serve.log")
    console.print("[bold]A post-step that fails[/]: sign amends the answer, audit raises")
    console.print(f"  question  {QUESTION}")
    console.print(f"  answer    {escape(answer)}", soft_wrap=True)
    for line in counted:
        console.print(f"  metrics   {escape(line)}", soft_wrap=True)
    for line in logged:
        console.print(f"  log       {escape(line)}", soft_wrap=True)
    well = "Yours, the machine." in answer and logged and not any(QUESTION in line for line in logged)
    console.print("[green]✓[/] answered" if well else "[red]✗[/] that is not what should have happened")
    return 0 if well else 1


async def _asked(url: str) -> tuple[str, list[str]]:
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
        reply = await http.post("/api/singleturn", json={"message": QUESTION})
        metrics = (await http.get("/metrics")).text
    counted = re.findall(r'^voice_pipeline_steps_total\{.*step="(?:sign|audit)".*$', metrics, re.MULTILINE)
    return str(reply.json().get("text") or reply.text), counted


def _lines_about(step: str, log: Path) -> list[str]:
    """The log's lines about a step, without the folder they were written in."""
    lines = [line for line in log.read_text().splitlines() if f"step {step} " in line]
    return [line.replace(f"{log.parent}/", "") for line in lines]

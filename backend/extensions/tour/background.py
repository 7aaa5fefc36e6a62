"""`tour --only background`: research begun in a call survives the death of its worker and server."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

import httpx2
from rich.console import Console
from rich.markup import escape

from backend.errors import NoAnswer
from backend.extensions.tour.questions import Step
from backend.extensions.tour.toured_server import prepared_folder, started
from backend.extensions.tour.visit import visiting

QUESTION = "Research how cities cut their traffic, and take your time."
GREETING = "Hello?"
RESEARCH_S = 6.0
"""Seconds the research takes at least, so that there is time to kill it in."""
TOLD_WITHIN_S = 40.0
"""Seconds a result may take from the new call's beginning to being spoken in it."""
LOOK_EVERY_S = 0.1
SETTINGS = {
    "BACKGROUND__WORKER": "off",
    "BACKGROUND__LEASE_S": "1",
    "RESEARCH_DELAY_S": str(RESEARCH_S),
}


async def run(console: Console) -> int:
    """The exit code: 0 when the result was spoken in the new call. Raises `VoiceError`."""
    async with AsyncExitStack() as stack:
        return await _shown(console, stack)


async def _shown(console: Console, stack: AsyncExitStack) -> int:
    folder, settings = await stack.enter_async_context(prepared_folder())
    settings |= SETTINGS
    serve = ("serve", "--port", "0")
    server = await stack.enter_async_context(started(folder, settings, *serve))
    worker = await stack.enter_async_context(started(folder, settings, "worker"))
    console.print("[bold]Long work that survives[/]: a server, a worker beside it, and the Redis they share")
    async with httpx2.AsyncClient(base_url=server.url, trust_env=False) as http:
        async with visiting(http) as visit:
            outcome = await visit.ask(Step("research", "Research", QUESTION))
            console.print(f"  caller     {QUESTION}\n  Responder  {escape(outcome.answer)}", soft_wrap=True)
        console.print("  the caller hangs up")
        task = await _until(http, lambda task: task["state"] == "running" and bool(task["progress"]))
        console.print(f"  task       {task['id']} {task['state']}: {escape(task['progress'])}", soft_wrap=True)
        cookies = http.cookies
    await worker.kill()
    await server.kill()
    console.print(f"  kill -9    the worker (pid {worker.process.pid}) and the server (pid {server.process.pid})")
    killed = time.monotonic()
    settings["BACKGROUND__WORKER"] = "inline"
    again = await stack.enter_async_context(started(folder, settings, *serve))
    console.print(f"  a new server is up after {time.monotonic() - killed:.1f} s")
    async with httpx2.AsyncClient(base_url=again.url, cookies=cookies, trust_env=False) as http:
        task = await _until(http, lambda task: task["state"] == "done")
        after = time.monotonic() - killed
        console.print(
            f"  task       {task['id']} {task['state']} {after:.1f} s after the kill, in run {task['attempts']}"
        )
        async with visiting(http) as visit:
            await visit.type(GREETING)
            console.print(f"  the caller calls again, and says: {GREETING}")
            told = await visit.told(_key_words(task), TOLD_WITHIN_S)
    if told is None:
        console.print(f"[red]✗[/] the result was not spoken; it reads: {escape(task['result'])}", soft_wrap=True)
        return 1
    console.print(f"  Responder  {escape(told)}\n[green]✓[/] nothing lost, and told once", soft_wrap=True)
    return 0


def _key_words(task: dict[str, Any]) -> str:
    """Return the words of the result that stay in any wording."""
    return "traffic" if "traffic" in task["result"].lower() else str(task["result"])[:20]


async def _until(http: httpx2.AsyncClient, ready: Any) -> dict[str, Any]:
    """The caller's one task, once it has reached a state."""
    while True:
        response = await http.get("/api/tasks")
        found: list[dict[str, Any]] = response.raise_for_status().json()["tasks"]
        if found and ready(found[0]):
            return found[0]
        if found and found[0]["state"] == "failed":
            raise NoAnswer(f"The task failed: {found[0]['error']}")
        await asyncio.sleep(LOOK_EVERY_S)

"""What the agent loop costs beside the model: `python -m benchmarks.thinking`.

The model is scripted and answers at once, so all that is measured is ours: prompt, context, tool checks, events. The
cache is measured over an embedded Redis, the chat client against a server on loopback that streams at once.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2

from backend.agent.session import Agent
from backend.app.thinkers import build_thinkers
from backend.models.base import ToolCall
from backend.models.chat_completions import ChatCompletions
from backend.settings.settings import load_settings
from backend.storage.embedded import open_memory
from backend.testing.model import Scene, ScriptedModel
from backend.testing.services.server import serving
from backend.thinkers.base import Question
from tests.support import chat_api
from tests.support.agents import echo, toolbox

TIMES = 300
WARM_UP = 30


def _scene(messages: list[dict[str, object]], _: object) -> Scene:
    """One round with a tool, then an answer of twenty tokens."""
    if messages[-1]["role"] == "user":
        return [ToolCall("call_1", "echo", '{"text": "hello"}')]
    return ["word "] * 20


async def turn_with_a_tool() -> tuple[list[float], list[float]]:
    """Milliseconds of a whole turn, and from the tool's result to the next word."""
    agent = Agent(ScriptedModel(improvise=_scene), toolbox(echo), "m")
    turns, gaps = [], []
    for _ in range(TIMES):
        session = agent.create_session("c")
        began = time.perf_counter()
        await session.think("What does the echo say?")
        turns.append((time.perf_counter() - began) * 1000)
        gaps.append(session.get_metrics().result_to_token_ms or 0.0)
    return turns[WARM_UP:], gaps[WARM_UP:]


async def cache_hit() -> list[float]:
    """Milliseconds of a question answered from the cache, over a real Redis."""
    with tempfile.TemporaryDirectory() as folder:
        opened = await open_memory(None, Path(folder))
        async with httpx2.AsyncClient() as http:
            settings = load_settings(_env_file=None)
            model = ScriptedModel(["The sky is blue because of scattering."])
            thinkers = build_thinkers(settings, model=model, memory=opened.memory, http=http)
            question = Question("knowledge", "Why is the sky blue?", "s", "u")
            await thinkers.answer(question, lambda _: None)
            times = await _timed(lambda: thinkers.answer(question, lambda _: None))
        await opened.memory.close()
        return times


async def chat_stream() -> list[float]:
    """Milliseconds of a streamed answer of twenty tokens through the chat client, server included."""
    reply = chat_api.stream(chat_api.words(*["word "] * 20), chat_api.ended())
    async with serving(lambda _: reply) as server:
        model = ChatCompletions(base_url=server.url, api_key="k")

        async def ask() -> None:
            async for _ in model.stream([{"role": "user", "content": "x"}], model="m"):
                pass

        times = await _timed(ask)
        await model.close()
        return times


async def _timed(work: Callable[[], Awaitable[object]]) -> list[float]:
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await work()
        times.append((time.perf_counter() - began) * 1000)
    return times[WARM_UP:]


def _report(name: str, times: list[float]) -> None:
    p99 = statistics.quantiles(times, n=100)[98]
    print(f"{name:<46} median {statistics.median(times):6.2f} ms   p99 {p99:6.2f} ms")


async def main() -> None:
    """Measure everything and print it."""
    turns, gaps = await turn_with_a_tool()
    _report("a turn with one tool call, model excluded", turns)
    _report("from the tool's result to the next word", gaps)
    _report("an answer from the cache (embedded Redis)", await cache_hit())
    _report("a streamed answer through the chat client", await chat_stream())


if __name__ == "__main__":
    asyncio.run(main())

"""A plugin that holds the event loop is named in the log and counted; nobody else is."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from backend.middleware.base import Asked
from backend.middleware.pipeline import Pipeline, steps_of
from backend.observability.blocking import BLOCKED
from backend.thinkers.registry import thinker_of
from backend.tools.discovery import folder_modules, package_modules
from backend.tools.registry import OURSELVES, Registry, tools_of

PLUGIN = """
import asyncio, time
from backend.agent.context import Note
from backend.middleware.base import Asked, step
from backend.thinkers.base import Answer, Manifest
from backend.tools.base import Result, tool

MANIFEST = Manifest(domain="moon", label="Moon", description="d", example="e", prompt="p")

async def think(run):
    await asyncio.sleep(0)
    time.sleep(0.12)
    return Answer("Full.", "model")

@tool("sleeps", "Holds everybody up.")
async def sleeps(kind: str) -> Result:
    await asyncio.sleep(0.15)
    if kind == "blocks":
        time.sleep(0.12)
    if kind == "fails":
        time.sleep(0.12)
        raise ValueError("words of somebody")
    return Result({"kind": kind})

@step("slow", stage="pre")
async def slow(asked: Asked) -> Note:
    time.sleep(0.12)
    return Note("t", {})
"""


def counted() -> float:
    return next((s.value for m in BLOCKED.collect() for s in m.samples if s.labels.get("plugin") == "moon.py"), 0.0)


@pytest.fixture
def module(tmp_path: Path) -> Any:
    (tmp_path / "moon.py").write_text(PLUGIN)
    [found] = folder_modules(tmp_path)
    return found


@pytest.mark.parametrize(("kind", "times"), [("waits", 0), ("blocks", 1), ("fails", 1)])
async def test_a_tool_is_named_only_where_it_does_not_let_others_run(
    module: Any, kind: str, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "backend.observability.blocking")
    before = counted()
    result = await Registry(tools_of(module), {}).call_tool("sleeps", {"kind": kind}, OURSELVES)
    assert (result.error is None) is (kind != "fails")
    assert counted() - before == times
    held = [entry.getMessage() for entry in caplog.records if entry.name == "backend.observability.blocking"]
    assert len(held) == times and all(line.startswith("moon.py held the event loop for 1") for line in held)


async def test_steps_and_thinkers_are_named_too(module: Any) -> None:
    before = counted()
    await Pipeline(steps_of(module)).before(Asked("Hello?"))
    answer = await thinker_of(module).think(None)  # type: ignore[arg-type]
    assert (answer.text, counted() - before) == ("Full.", 2)


async def test_a_plugin_can_be_cancelled_while_it_waits(module: Any) -> None:
    work = asyncio.create_task(Registry(tools_of(module), {}).call_tool("sleeps", {"kind": "waits"}, OURSELVES))
    await asyncio.sleep(0.02)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work


def test_what_the_server_brings_is_not_watched() -> None:
    [weather] = [each for each in package_modules("backend.tools") if each.__name__.endswith("get_current_weather")]
    [tool] = tools_of(weather)
    assert tool.function is weather.get_current_weather

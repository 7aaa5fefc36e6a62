"""The test helpers for authors of plugins: the blocks of the how-to run, mistakes are named, and the example serves."""

import inspect
import re
import types
from pathlib import Path
from typing import Any

import httpx2
import pytest

from backend.errors import BadPlugin, ModelUnavailable
from backend.middleware.base import Amended, Asked, StepOptions, WholeTurn, step
from backend.models.base import ChatMessage, Finished, TextDelta, ToolCall
from backend.storage.memory import Memory
from backend.thinkers.base import Manifest
from backend.tools.base import Result, tool
from backend.tools.discovery import folder_modules
from responder_thinker.testing import FakeMemory, ScriptedModel, World, run_step, run_thinker, run_tool, tool_call

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/plugin"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/howto/testing.md").read_text(), re.M | re.S)


def thinker(**values: Any) -> types.ModuleType:
    """A module with a manifest of these values."""
    module = types.ModuleType("a_thinker")
    usual = {"domain": "moon", "label": "Moon", "description": "the moon", "example": "Is it full?", "prompt": "Think."}
    module.MANIFEST = Manifest(**usual | values)  # type: ignore[attr-defined]
    return module


@tool("whose", "Whose memory this is.")
async def whose(memory: Memory, http: httpx2.AsyncClient | None) -> Result:
    return Result({"memory": type(memory).__name__, "http": http is not None})


@tool("private", "For users we know.", requires_auth=True)
async def private() -> Result:
    return Result({})


@step("shout", stage="post", options={"mark": "!"})
async def shout(turn: WholeTurn, options: StepOptions) -> Amended:
    return Amended(turn.answer.upper() + options.values["mark"])


@step("wrong_stage", stage="pre")
async def gives_what_a_post_step_gives(asked: Asked) -> Amended:
    return Amended(asked.text)


@pytest.mark.parametrize("block", BLOCKS)
async def test_the_how_tos_examples_run(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    names: dict[str, Any] = {}
    exec(compile(block, "docs/howto/testing.md", "exec"), names)
    tests = [value for name, value in names.items() if name.startswith("test_") and inspect.iscoroutinefunction(value)]
    assert tests
    for test in tests:
        await test()


def test_the_how_to_shows_a_thinker_a_tool_and_a_step() -> None:
    assert len(BLOCKS) == 3
    assert max(block.count("\n") for block in BLOCKS) <= 12


def test_a_plugin_folder_may_hold_its_tests() -> None:
    assert [module.MANIFEST.domain for module in folder_modules(EXAMPLE)] == ["tides"]


async def test_a_thinker_with_an_unknown_tool_is_refused_with_the_tools_name() -> None:
    with pytest.raises(BadPlugin, match="moon_phase"):
        await run_thinker(thinker(tools=("moon_phase",)), "Is it full?", model=ScriptedModel("Yes."))
    with pytest.raises(BadPlugin, match="MANIFEST"):
        await run_thinker(types.ModuleType("empty"), "Is it full?", model=ScriptedModel("Yes."))


async def test_a_thinker_is_shown_the_memory_of_its_user() -> None:
    memory = FakeMemory()
    await memory.update_user_context("ada", lambda known: {**known, "preferences": {"default_location": "Oslo"}})
    model = ScriptedModel("Yes.")
    world = World(user_id="ada", memory=memory)
    await run_thinker(thinker(preferences=("default_location",)), "Is it full?", model=model, world=world)
    assert "Oslo" in model.system_prompt


async def test_a_thinkers_steps_are_shown() -> None:
    shown: list[str] = []
    await run_thinker(
        thinker(tools=("whose",)),
        "Whose?",
        model=ScriptedModel(tool_call("whose"), "Mine."),
        tools=[whose],
        progress=lambda progress: shown.append(progress.detail),
    )
    assert "calling whose" in shown


async def test_a_tool_gets_the_services_of_the_world() -> None:
    async with httpx2.AsyncClient() as client:
        result = await run_tool(whose, world=World(services={httpx2.AsyncClient: client}))
    assert result.content == '{"memory": "FakeMemory", "http": true}'


async def test_a_tool_for_known_users_refuses_a_stranger() -> None:
    assert (await run_tool(private)).error == "not_allowed"
    assert (await run_tool(private, world=World(user_id="ada"))).error is None


async def test_a_post_step_sees_its_turn_and_its_options() -> None:
    turn = WholeTurn(Asked("How are you?"), "Fine")
    assert await run_step(shout, turn) == Amended("FINE!")
    assert await run_step(shout, turn, options={"mark": "?"}) == Amended("FINE?")


async def test_an_output_that_the_server_would_refuse_is_an_error_here() -> None:
    with pytest.raises(BadPlugin, match="pre-step gives Note"):
        await run_step(gives_what_a_post_step_gives, Asked("Hello"))
    with pytest.raises(BadPlugin, match="not declared with @step"):
        await run_step(whose, Asked("Hello"))
    with pytest.raises(BadPlugin, match="not declared with @tool"):
        await run_tool(shout)


async def test_a_scene_is_words_a_call_an_error_or_a_list_of_them() -> None:
    model = ScriptedModel("Hello.", tool_call("whose", a=1), ["One ", "two."], ModelUnavailable("Down."))
    messages: list[ChatMessage] = [{"role": "system", "content": "Be kind."}]

    async def request() -> list[Any]:
        return [delta async for delta in model.stream(messages, model="m")]

    assert await request() == [TextDelta("Hello."), Finished("stop", 10, 5)]
    call, end = await request()
    assert isinstance(call, ToolCall) and (call.name, call.arguments) == ("whose", '{"a": 1}')
    assert end.reason == "tool_calls"
    assert [delta.text for delta in (await request())[:2]] == ["One ", "two."]
    for error in ("Down.", "no further scene"):
        with pytest.raises(ModelUnavailable, match=error):
            await request()
    assert model.system_prompt == "Be kind." and model.open == 0

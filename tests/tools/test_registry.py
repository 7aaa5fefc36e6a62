"""Which clients see and call which tool, how the registry shows them, and tools that come and go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from backend.agent.session import Agent
from backend.errors import BadPlugin, ToolFailed
from backend.models.base import ToolCall
from backend.settings.settings import Settings
from backend.testing.model import ScriptedModel
from backend.tools.base import CLIENTS, EVERYONE, Client, Result, Tool, tool
from backend.tools.discovery import folder_modules, package_modules
from backend.tools.registry import Registry, discover, tools_of
from tests.support.agents import echo, toolbox
from tests.support.consent import tool_context
from tests.thinkers.world import world


@tool("open", "For everyone.", clients=EVERYONE, guidance="Open well.")
async def open_(x: int = 1) -> Result:
    """Counts."""
    return Result({"x": x})


@tool("spoken", "In calls only.", clients=["voice"], guidance="Speak well.")
async def spoken() -> Result:
    """Nothing."""
    return Result({})


@tool("steady", "Always there.", always=True)
async def steady() -> Result:
    """Nothing."""
    return Result({})


class Other:
    """Another server's tools, set by the test."""

    def __init__(self, *tools: Any) -> None:
        self.now: dict[str, Tool] = {each.__tool__.name: each.__tool__ for each in tools}

    def owns(self, name: str) -> bool:
        return name.startswith("far__")

    def tools(self) -> Mapping[str, Tool]:
        return self.now


def far(name: str) -> Any:
    """A tool of the other server."""

    async def function(**values: Any) -> Result:
        return Result({"far": values})

    function.__tool__ = replace(cast(Any, steady).__tool__, name=name, function=function, source="far", always=False)  # type: ignore[attr-defined]
    return function


def box(*sources: Other) -> Registry:
    return toolbox(open_, spoken, steady, echo, sources=sources)


SEEN: dict[Client, list[str]] = {
    "voice": ["open", "spoken", "steady", "echo"],
    "chat": ["open", "steady", "echo"],
    "internal": ["open", "steady", "echo"],
    "copilot": ["open"],
    "external": ["open"],
}


def test_an_unknown_kind_of_client_is_refused() -> None:
    with pytest.raises(BadPlugin, match="butler"):
        tool("bad", "Bad.", clients=["butler"])(open_)  # type: ignore[list-item]


@pytest.mark.document("002", "tools and their registry")
@pytest.mark.parametrize("client", CLIENTS)
async def test_each_client_sees_and_calls_its_own_tools_and_no_other(client: Client) -> None:
    registry = box()
    shown = [each["function"]["name"] for each in registry.get_openai_tools(client)]
    assert shown == [each["name"] for each in registry.get_mcp_tools(client)] == SEEN[client]
    named = registry.get_openai_tools_by_names(["spoken", "no_such", "open", "open"], client)
    assert {each["function"]["name"] for each in named} == {"spoken", "open"} & set(shown)
    guidance = [each.guidance for each in registry.offered(client) if each.guidance]
    assert guidance == ["Open well.", *(["Speak well."] if "spoken" in shown else [])]
    assert registry.get_mcp_tools(client)[0]["inputSchema"]["properties"] == {"x": {"default": 1, "type": "integer"}}
    for name in ("open", "spoken", "steady"):
        result = await registry.call_tool(name, {}, tool_context("ada", client=client))
        assert result.error == (None if name in shown else "unknown_tool")


async def test_a_hidden_tool_looks_like_a_missing_one() -> None:
    registry = box()
    hidden = await registry.call_tool("spoken", {}, tool_context("ada", client="external"))
    missing = await registry.call_tool("no_such", {}, tool_context("ada", client="external"))
    assert hidden.content.replace("spoken", "…") == missing.content.replace("no_such", "…")
    assert "steady" not in hidden.content


@pytest.mark.document("002", "tools and their registry")
def test_the_always_tools_and_the_routed_tools_are_disjoint() -> None:
    registry = box()
    assert [each.name for each in registry.get_always_tools("chat")] == ["steady"]
    assert registry.get_always_tools("external") == []
    assert registry.get_routed_tools_catalog("chat") == {"open": "For everyone.", "echo": "Says it again."}
    assert set(registry.get_routed_tools_catalog()) == {"open", "spoken", "echo"}


async def test_another_servers_tools_come_and_go() -> None:
    other = Other()
    registry = box(other)
    assert (await registry.call_tool("far__find", {})).error == "unknown_tool"
    other.now = {"far__find": far("far__find").__tool__}
    assert "far__find" in registry.get_routed_tools_catalog()
    assert json.loads((await registry.call_tool("far__find", {})).content) == {"far": {}}


async def test_our_own_tool_takes_precedence_over_another_servers() -> None:
    thief = replace(cast(Any, echo).__tool__, name="open", source="far")
    other = Other()
    other.now = {"open": thief}
    assert json.loads((await box(other).call_tool("open", {})).content) == {"x": 1}


async def test_a_narrowed_box_takes_another_servers_tool_when_it_comes() -> None:
    other = Other()
    narrow = box(other).only(["open", "far__find"])
    assert list(narrow.names) == ["open"]
    other.now = {each: far(each).__tool__ for each in ("far__find", "far__else")}
    assert list(narrow.names) == ["open", "far__find"]
    assert list(narrow.only(["far__else", "open"]).names) == ["open"]


async def test_outsiders_get_only_the_harmless_tools_of_the_core() -> None:
    async with world() as here:
        registry = here.thinkers.registry.dependencies.toolbox
        core = {tool.name for module in package_modules("backend.tools") for tool in tools_of(module)}
        assert core & {each.name for each in registry.offered("external")} == {
            "calculate",
            "get_current_weather",
        }
        assert {each.name for each in registry.offered("external")} < {
            each.name for each in registry.offered("copilot")
        }
        assert {each.name for each in registry.offered("copilot")} < {
            each.name for each in registry.offered("internal")
        }
        assert isinstance(here.thinkers.registry.dependencies.settings, Settings)


PLACE = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}


async def height(arguments: dict[str, Any]) -> dict[str, Any]:
    if arguments["place"] == "nowhere":
        raise ToolFailed("There is no such place.")
    return {"place": arguments["place"], "meters": 42}


@pytest.mark.document("000", "sessions and tools")
async def test_a_tool_registered_by_its_schema_is_offered_checked_and_executed() -> None:
    registry = Registry()
    registry.register("get_height", "How high a place lies.", PLACE, height)
    [schema] = registry.get_tools_schema()
    assert schema["function"] == {"name": "get_height", "description": "How high a place lies.", "parameters": PLACE}
    assert await registry.execute("get_height", {"place": "Oslo"}, "ada") == {"place": "Oslo", "meters": 42}
    with pytest.raises(ToolFailed, match="place missing"):
        await registry.execute("get_height", {}, "ada")
    with pytest.raises(ToolFailed, match="no such place"):
        await registry.execute("get_height", {"place": "nowhere"}, "ada")
    with pytest.raises(ToolFailed, match="no tool"):
        await registry.execute("get_depth", {}, "ada")


@pytest.mark.parametrize(
    ("name", "schema", "problem"),
    [("echo", PLACE, "Two tools"), ("odd", {"type": "array"}, "object"), ("odd", PLACE | {"required": 7}, "no JSON")],
)
def test_an_invalid_registration_is_refused(name: str, schema: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadPlugin, match=problem):
        toolbox(echo).register(name, "", schema, height)


@pytest.mark.document("000", "sessions and tools")
async def test_an_agents_model_calls_a_registered_tool() -> None:
    call = ToolCall("t1", "get_height", '{"place": "Oslo"}')
    box = Registry()
    box.register("get_height", "How high a place lies.", PLACE, height)
    agent = Agent(ScriptedModel([call], ["Forty-two meters."]), box, "m")
    response = await agent.create_session("c").think("How high is Oslo?")
    assert (response.text, response.tool_calls_made) == ("Forty-two meters.", ("get_height",))


@pytest.mark.document("002", "built-in tools")
def test_a_conversation_always_has_certain_tools_and_keeps_the_calls_of_some() -> None:
    """As the Brain document says, with additions: `remember_preference`, and tools with calls that act."""
    tools = {tool.name: tool for module in package_modules("backend.tools") for tool in tools_of(module)}
    always = {name for name, tool in tools.items() if tool.always}
    assert always == {"memory", "manage_prompt", "get_personality", "remember_preference"}
    assert {"memory", "manage_prompt"} <= {name for name, tool in tools.items() if tool.persistent}


async def test_a_name_of_two_tools_is_refused_with_both_files(tmp_path: Path) -> None:
    (tmp_path / "pinboard.py").write_text(PINBOARD)
    with pytest.raises(BadPlugin, match=r"Two tools are called stickynotes: in .*notes\.py and in .*pinboard\.py"):
        discover({}, folder_modules(tmp_path))


PINBOARD = """
from backend.tools.base import Result, tool
@tool("stickynotes", "Pins.")
async def pinboard() -> Result:
    return Result({})
"""

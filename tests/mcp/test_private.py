"""What a user has had remembered, over MCP: theirs for a program that acts for them, and for no other program."""

from __future__ import annotations

from pathlib import Path

from fakeredis import FakeAsyncRedis

from backend.models.embedding import Embedder
from backend.storage.memory import Memory
from backend.testing.memory import FakeMemory
from backend.tools.manage_prompt import manage_prompt
from backend.tools.memory import memory
from backend.tools.registry import Registry
from backend.users.memories import Memories
from tests.mcp.world import ADA, COPILOT, STRANGERS, client, content_of, token, world
from tests.support.agents import toolbox


def registry(memories: Memories) -> Registry:
    services = {Memories: memories, Embedder: None, Memory: FakeMemory()}
    return toolbox(memory, manage_prompt, services=services)


async def test_only_a_program_that_acts_for_a_user_reaches_what_is_theirs(tmp_path: Path) -> None:
    memories = Memories(FakeAsyncRedis())
    await memories.add(ADA, "My sister's name is Anna.")
    await memories.add("bo", "A secret of Bo's.")
    async with world(tmp_path, registry(memories)) as here:
        async with client(f"{here.url}/mcp/copilot/", COPILOT) as ada:
            assert {tool.name for tool in (await ada.list_tools()).tools} == {"memory", "manage_prompt"}
            listed = content_of(await ada.call_tool("memory", {"action": "list"}))
            assert [one["text"] for one in listed["memories"]] == ["My sister's name is Anna."]
            refused = await ada.call_tool("memory", {"action": "search"})
            assert refused.is_error and "needs query" in content_of(refused)["error"]["message"]
        async with client(f"{here.url}/mcp/copilot/", token("mcp_copilot", sub="eve")) as eve:
            assert content_of(await eve.call_tool("memory", {"action": "list"}))["memories"] == []
        async with client(f"{here.url}/mcp/external/", STRANGERS) as stranger:
            assert (await stranger.list_tools()).tools == []
            result = await stranger.call_tool("memory", {"action": "list"})
            assert result.is_error and content_of(result)["error"]["type"] == "unknown_tool"

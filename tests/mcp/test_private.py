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
from tests.mcp.world import ADAS, COPILOT, STRANGERS, client, content_of, world
from tests.support.agents import toolbox

OWNED = f"ada:external-{'t' * 24}"


def registry(memories: Memories) -> Registry:
    services = {Memories: memories, Embedder: None, Memory: FakeMemory()}
    return toolbox(memory, manage_prompt, services=services)


async def test_only_a_program_that_acts_for_a_user_reaches_what_is_theirs(tmp_path: Path) -> None:
    memories = Memories(FakeAsyncRedis())
    await memories.add("ada", "My sister's name is Anna.")
    await memories.add("bo", "A secret of Bo's.")
    async with world(tmp_path, registry(memories), external_tokens=f"{STRANGERS}, {OWNED}") as here:
        async with client(f"{here.url}/mcp/copilot/", ADAS) as ada:
            assert {tool.name for tool in (await ada.list_tools()).tools} == {"memory", "manage_prompt"}
            listed = content_of(await ada.call_tool("memory", {"action": "list"}))
            assert [one["text"] for one in listed["memories"]] == ["My sister's name is Anna."]
            refused = await ada.call_tool("memory", {"action": "search"})
            assert refused.is_error and "needs query" in content_of(refused)["error"]["message"]
        strangers = (
            ("copilot", COPILOT, "not_allowed"),
            ("external", STRANGERS, "unknown_tool"),
            ("external", OWNED.removeprefix("ada:"), "unknown_tool"),
        )
        for door, token, kind in strangers:
            async with client(f"{here.url}/mcp/{door}/", token) as stranger:
                assert (await stranger.list_tools()).tools == []
                result = await stranger.call_tool("memory", {"action": "list"})
                assert result.is_error and content_of(result)["error"]["type"] == kind

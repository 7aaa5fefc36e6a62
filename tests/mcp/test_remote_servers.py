"""Tools of remote servers, which are real processes over pipes and sockets: joined, bounded, lost and found again."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psutil
import pytest

from backend.mcp.remote_servers import RemoteServers, wait_s
from backend.settings.mcp import McpServerEntry
from backend.tools.registry import Registry
from backend.tools.runner import ToolResult
from tests.support.agents import echo, toolbox
from tests.support.consent import tool_context
from tests.support.ports import free_port
from tests.support.processes import alive, gone
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

PEER = [sys.executable, "-m", "tests.mcp.peer"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120
THERE_S = 15.0
"""Seconds that a peer may take to start: Python, the SDK, the handshake."""


def program(**options: Any) -> McpServerEntry:
    return McpServerEntry(command=PEER[0], args=[*PEER[1:], "stdio"], cwd=ROOT, **options)  # type: ignore[arg-type]


@asynccontextmanager
async def serving(port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the peer over HTTP, and kill it at the end."""
    process = await asyncio.create_subprocess_exec(
        *PEER, "http", str(port), cwd=ROOT, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def joined(**entries: McpServerEntry) -> AsyncIterator[tuple[RemoteServers, Registry]]:
    servers = RemoteServers(entries, wait=lambda failures: 0.1)
    try:
        yield servers, toolbox(echo, sources=(servers,))
    finally:
        await servers.close()


async def there(registry: Registry, name: str = "peer__add") -> None:
    await until(lambda: registry.get_tool(name) is not None, THERE_S)


async def call(registry: Registry, name: str, turn: str = "1", **arguments: Any) -> tuple[ToolResult, Any]:
    result = await registry.call_tool(name, arguments, tool_context("ada", "c", turn, "chat"))
    return result, json.loads(result.content)


@asynccontextmanager
async def peer(way: str, **options: Any) -> AsyncIterator[tuple[RemoteServers, Registry]]:
    """Join the peer over `stdio` or `http`, and wait for its tools."""
    if way == "stdio":
        async with joined(peer=program(**options)) as (servers, registry):
            await there(registry)
            yield servers, registry
        return
    port = free_port()
    entry = McpServerEntry(url=f"http://127.0.0.1:{port}/mcp", **options)
    async with serving(port), joined(peer=entry) as (servers, registry):
        await there(registry)
        yield servers, registry


@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_all_rules_of_local_tools_hold_for_remote_ones(way: str) -> None:
    async with peer(way, deadline_s=3.0) as (servers, registry):
        assert servers.states() == {"peer": "ok"}
        assert "peer__Shout-It" in registry.names
        assert (await call(registry, "peer__add", a=2, b=3))[1] == {"sum": 5}
        assert (await call(registry, "peer__Shout-It", text="hi"))[1]["result"] == "HI"

        for arguments in ({"a": "two", "b": 3}, {"a": 2}, {"a": 2, "b": 3.5}):
            assert (await call(registry, "peer__add", **arguments))[0].error == "invalid_arguments"

        failed, content = await call(registry, "peer__fail")
        assert failed.error == "failed" and not failed.retryable
        assert "cupboard" in content["error"]["message"]

        slow, quick = await asyncio.gather(
            call(registry, "peer__slow", seconds=30), call(registry, "peer__add", a=1, b=1)
        )
        assert slow[0].error == "timeout" and quick[1] == {"sum": 2}, "the slow call delayed the quick one"

        result, content = await call(registry, "peer__big", characters=50_000)
        assert len(result.content) <= 6_000 and content["truncated"]
        assert not result.cacheable

        assert (await call(registry, "peer__wipe", what="it"))[0].error == "needs_confirmation"
        destructive = {tool.name for tool in registry.offered() if tool.confirm}
        assert destructive == {"peer__wipe", "peer__unsaid"}, (
            "a tool that is not declared harmless counts as destructive"
        )
        writing = {tool.name for tool in registry.offered() if tool.writes}
        assert writing == destructive | {"peer__file"}

        shown = {each["name"]: each["source"] for each in registry.described("chat")}
        assert (shown["echo"], shown["peer__add"]) == ("local", "peer")
        assert registry.get_mcp_tools("external") == [], "a stranger was offered a remote tool"
        hidden = await registry.call_tool("peer__add", {"a": 1, "b": 1}, tool_context("", client="external"))
        assert hidden.error == "unknown_tool"


async def test_a_program_that_dies_loses_its_tools_and_is_started_again() -> None:
    async with peer("stdio") as (servers, registry):
        pid = (await call(registry, "peer__whoami"))[1]["pid"]
        result, content = await call(registry, "peer__die")
        assert result.error == "failed" and "has stopped" in content["error"]["message"]
        await until(lambda: registry.get_tool("peer__add") is None, 20)
        assert servers.states()["peer"] != "ok"
        await there(registry)
        assert (await call(registry, "peer__whoami"))[1]["pid"] != pid


async def test_a_server_on_a_socket_is_joined_again_after_it_died() -> None:
    port = free_port()
    async with joined(peer=McpServerEntry(url=f"http://127.0.0.1:{port}/mcp")) as (servers, registry):
        await until(lambda: "attempt" in servers.states()["peer"], 20)
        async with serving(port):
            await there(registry)
        result, _ = await call(registry, "peer__add", a=1, b=1)
        assert result.error == "failed"
        await until(lambda: registry.get_tool("peer__add") is None, 20)
        async with serving(port):
            await there(registry)
            assert (await call(registry, "peer__add", a=1, b=1))[1] == {"sum": 2}


async def test_an_unreachable_server_delays_nothing() -> None:
    began = time.perf_counter()
    entries = {
        "nowhere": McpServerEntry(url="http://127.0.0.1:9/mcp"),
        "missing": McpServerEntry(command="/no/such/program"),
        "mute": McpServerEntry(command=sys.executable, args=["-c", "import time; time.sleep(60)"]),
    }
    async with joined(**entries) as (servers, registry):
        assert (await call(registry, "echo", text="hi"))[1] == {"text": "hi"}
        assert time.perf_counter() - began < 10
        await until(lambda: "not found" in servers.states()["missing"], 20)
        assert servers.states()["mute"] == "connecting"
        assert registry.names == ("echo",)
    assert time.perf_counter() - began < 30


@pytest.mark.parametrize(
    "chatter",
    [
        "print('{garbage', flush=True)",
        "print('[]' * 9999, flush=True)",
        "import sys; sys.stdout.buffer.write(b'\\xff\\n')",
        "pass",
    ],
)
async def test_a_program_that_prints_garbage_offers_no_tools(chatter: str) -> None:
    entry = McpServerEntry(command=sys.executable, args=["-c", f"{chatter}\nimport sys; sys.exit(1)"])
    async with joined(garbage=entry) as (servers, registry):
        await until(lambda: "attempt" in servers.states()["garbage"], 30)
        assert registry.names == ("echo",)


async def test_a_program_ends_with_the_server_and_does_not_inherit_its_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    async with peer("stdio", env={"FOR_PEER": "1"}) as (_, registry):
        names = (await call(registry, "peer__environment"))[1]["names"]
        assert "FOR_PEER" in names and "OPENAI_API_KEY" not in names
        process = psutil.Process((await call(registry, "peer__whoami"))[1]["pid"])
        assert alive([process])
    await gone([process], 10)


async def test_only_the_configured_tools_are_taken() -> None:
    async with peer("stdio", tools=["add", "Shout-It"], confirm=["Shout-It"]) as (_, registry):
        assert set(registry.names) == {"echo", "peer__add", "peer__Shout-It"}
        assert (await call(registry, "peer__Shout-It", text="hi"))[0].error == "needs_confirmation"


def test_the_wait_between_attempts_grows_to_a_minute() -> None:
    assert [wait_s(failures, lambda: 0.0) for failures in (1, 2, 3, 4, 7, 99)] == [1, 2, 4, 8, 60, 60]
    assert wait_s(1, lambda: 1.0) == 1.25

"""A tool call from the Responder to its result passes exactly the files that the architecture page lists."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from backend.agent.session import Agent
from backend.models.base import ToolCall
from backend.settings.settings import load_settings
from backend.storage.embedded import join_memory
from backend.storage.memory import Memory
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.thinkers.base import Manifest
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.thinkers.registry import Thinker, ThinkerRegistry
from backend.thinkers.run import ThinkerDependencies, ThinkerRun
from backend.turns import events as ev
from backend.turns.commands import SubmitResult
from tests.call.world import placed_call, settle
from tests.support.agents import echo, toolbox
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.ways import ARCHITECTURE, Passed, documented, files_passed

WAY = "route_to_thinker"
FILES_MOST, HOPS_MOST = 30, 130
"""All files and the hops between them, those beside the way included."""
UNCACHED = Manifest("atlas", "Atlas", "places", "Where is Oslo?", "Answer.", tools=("echo",), cache_ttl_s=0)
CACHED = replace(UNCACHED, cache_ttl_s=60, history_turns=2, preferences=("name",))
ARGUMENTS = '{"domain": "atlas", "query": "Where is Oslo?"}'


@pytest.fixture
def redis() -> Iterator[RedisProcess]:
    with running_redis() as process:
        yield process


def mentioned(beginning: str) -> set[str]:
    """The files in the page's paragraph with that beginning."""
    paragraph = re.search(rf"^{re.escape(beginning)}.*?\n\n", ARCHITECTURE.read_text(), re.M | re.S)
    assert paragraph, f"docs/architecture.md has no paragraph that begins with {beginning!r}"
    return set(re.findall(r"`([\w/]+\.py)`", paragraph[0]))


async def passed_by(manifest: Manifest, memory: Memory, user: str) -> Passed:
    """The files that a tool call passes, without those of the scripted model and Responder."""
    model = ScriptedModel([ToolCall("t1", "echo", '{"text": "Oslo"}')], ["Oslo is in Norway."])
    tools = toolbox(echo)
    dependencies = ThinkerDependencies(Agent(model, tools, "m"), tools, memory, load_settings(_env_file=None))
    thinkers = ThinkerDispatcher(ThinkerRegistry([Thinker(manifest, ThinkerRun.answer)], dependencies))
    async with placed_call(thinkers=thinkers, user=user) as call:
        call.live.type_text("Where is Oslo?")
        await settle()
        call.responder.say(ev.ReplyStarted("r1", call.responder.requests[-1].request))
        await settle()
        with files_passed() as passed:
            call.responder.say(ev.ToolCalled("r1", "c1", "route_to_thinker", ARGUMENTS))
            async with asyncio.timeout(20):
                while not call.done(SubmitResult):  # noqa: ASYNC110 - the scripted Responder tells nobody
                    await asyncio.sleep(0.001)
        assert "Oslo is in Norway." in call.done(SubmitResult)[0].output
    return passed


async def test_a_tool_call_passes_the_files_that_the_page_lists() -> None:
    way = documented(WAY)
    passed = await passed_by(UNCACHED, FakeMemory(), "")
    passed.report("a tool call")
    assert len(passed) <= FILES_MOST and passed.hops <= HOPS_MOST
    assert passed - mentioned("Beside the way") == set(way)
    assert len(way) <= 15
    assert len({file.split("/")[0] for file in way}) <= 6


async def test_a_known_users_tool_call_also_passes_memory(redis: RedisProcess, tmp_path: Path) -> None:
    opened = await join_memory(redis.url, tmp_path)
    try:
        passed = await passed_by(CACHED, opened.memory, "ada")
    finally:
        await opened.memory.close()
    beside, way = mentioned("Beside the way"), set(documented(WAY))
    assert passed - beside - way == mentioned("A known user's question")
    assert beside <= passed, "every file listed as beside the way exists"
    assert not beside & way

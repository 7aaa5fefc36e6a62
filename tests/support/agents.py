"""Building blocks for tests of the agent, the tools and the Thinkers."""

import asyncio
from collections.abc import Sequence
from typing import Any

from backend.agent.events import AgentEvent
from backend.agent.session import Agent
from backend.models.base import ChatModel, ToolCall
from backend.tools.base import Result, Tool, tool
from backend.tools.registry import Registry
from backend.tools.runner import ToolSource
from tests.support.consent import confirmations


def toolbox(*functions: Any, services: dict[Any, Any] | None = None, sources: tuple[ToolSource, ...] = ()) -> Registry:
    """A box with these `@tool` functions."""
    tools: list[Tool] = [function.__tool__ for function in functions]
    return Registry(tools, services or {}, confirmations(), sources=sources)


def agent(model: ChatModel, *functions: Any, **options: Any) -> Agent:
    """An agent with these `@tool` functions."""
    return Agent(model, toolbox(*functions), "test-model", **options)


def call(name: str, arguments: str = "{}", id_: str = "c1") -> ToolCall:
    """A tool call as a model makes it."""
    return ToolCall(id_, name, arguments)


@tool("echo", "Says it again.")
async def echo(text: str) -> Result:
    """Returns `text`."""
    return Result({"text": text})


@tool("fail", "Does not work.")
async def fail() -> Result:
    """Fails as a plugin might, with a text that must stay private."""
    raise RuntimeError("the user's secret")


class Slow:
    """A slow tool, which records whether it was stopped."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0
        self.stopped = 0

        @tool("slow", "Takes long.")
        async def slow(seconds: float = 30.0) -> Result:
            self.running += 1
            self.most = max(self.most, self.running)
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                self.stopped += 1
                raise
            finally:
                self.running -= 1
            return Result({"slept": seconds})

        self.tool = slow


def kinds(events: Sequence[AgentEvent]) -> list[str]:
    """The names of the events, in order."""
    return [type(event).__name__ for event in events]

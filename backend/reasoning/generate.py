"""Tool calls for models that have none: one request by tags, and the calls in a text made.

The agent's loop needs neither, since `models.tagged` serves it. These are for code that drives such a model itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from backend.agent.context import CALLS_LIMIT
from backend.models.base import ChatModel, TextDelta, ToolCall
from backend.models.tagged import FORM, MALFORMED, TaggedChatModel, call_of, failed_with_tools
from backend.models.tags import TagReader, Words
from backend.runtime.json_objects import Json
from backend.tools.base import Principal
from backend.tools.runner import Toolbox, ToolResult


@dataclass(frozen=True, slots=True, repr=False)
class Generated:
    """A model's words, without calls, thoughts and invented results, and its calls."""

    text: str
    calls: tuple[ToolCall, ...]


async def generate(
    model: ChatModel, model_name: str, sys_prompt: str, messages: Sequence[Json], tools: Toolbox
) -> Generated:
    """Ask once, with `tools` described in words. Raises `ModelUnavailable`."""
    asked = [{"role": "system", "content": sys_prompt}, *messages]
    stream = TaggedChatModel(model).stream(asked, model=model_name, tools=tools.schemas())
    async with aclosing(stream) as deltas:
        said = [delta async for delta in deltas]
    text = "".join(delta.text for delta in said if isinstance(delta, TextDelta))
    return Generated(text.strip(), tuple(delta for delta in said if isinstance(delta, ToolCall)))


async def call_function(tools: Toolbox, text: str, principal: Principal | None = None) -> list[ToolResult]:
    """Make the calls in `text` side by side, and return their results in order.

    A call that is unknown, malformed or fails comes back as a failed result that lists the tools.
    """
    reader = TagReader(tools.names)
    calls = [call_of(piece) for piece in (*reader.feed(text), *reader.finish()) if not isinstance(piece, Words)]
    whom = principal or Principal("")
    return list(await asyncio.gather(*(_made(tools, call, whom) for call in calls[:CALLS_LIMIT])))


async def _made(tools: Toolbox, call: ToolCall, principal: Principal) -> ToolResult:
    result = await tools.run(call.name, call.arguments, principal)
    if result.error is None:
        return result
    malformed = call.name == MALFORMED
    content = failed_with_tools(result.content, tools.names, message=FORM if malformed else "")
    return replace(result, content=content, error=MALFORMED if malformed else result.error)

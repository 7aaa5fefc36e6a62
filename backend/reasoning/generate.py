"""Two functions give tool calls to models without them: one requests with tags, one makes the calls in a text.

They are for code that drives such a model itself. The agent's loop uses `models.tagged` instead.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

from backend.agent.context import CALLS_LIMIT
from backend.agent.turn import ModelReply
from backend.models.base import ChatMessage, ChatModel, Finished, TextDelta, ToolCall
from backend.models.tagged import FORM, TaggedChatModel, failed_with_tools
from backend.models.tags import MALFORMED, TagReader
from backend.tools.base import ToolContext
from backend.tools.runner import Toolbox, ToolResult


async def generate(
    model: ChatModel, model_name: str, sys_prompt: str, messages: Sequence[ChatMessage], tools: Toolbox
) -> ModelReply:
    """Ask once, with `tools` described in words. Raises `ModelUnavailable`.

    The reply's text has no calls, thoughts, or results that the model invented.
    """
    asked: list[ChatMessage] = [{"role": "system", "content": sys_prompt}, *messages]
    stream = TaggedChatModel(model).stream(asked, model=model_name, tools=tools.schemas())
    async with aclosing(stream) as deltas:
        said = [delta async for delta in deltas]
    text = "".join(delta.text for delta in said if isinstance(delta, TextDelta)).strip()
    reason = next(delta.reason for delta in said if isinstance(delta, Finished))
    return ModelReply(text, tuple(delta for delta in said if isinstance(delta, ToolCall)), reason)


async def call_function(tools: Toolbox, text: str, context: ToolContext | None = None) -> list[ToolResult] | None:
    """Make the calls in `text` in parallel, and return their results in order; None when there is no call.

    A call that is unknown, malformed or fails gives a failed result that lists the tools.
    """
    reader = TagReader()
    calls = [piece for piece in (*reader.feed(text), *reader.finish()) if isinstance(piece, ToolCall)]
    if not calls:
        return None
    made_for = context or ToolContext("")
    return list(await asyncio.gather(*(_made(tools, call, made_for) for call in calls[:CALLS_LIMIT])))


async def _made(tools: Toolbox, call: ToolCall, context: ToolContext) -> ToolResult:
    result = await tools.run(call.name, call.arguments, context)
    if result.error is None:
        return result
    malformed = call.name == MALFORMED
    content = failed_with_tools(result.content, tools.names, message=FORM if malformed else "")
    return replace(result, content=content, error=MALFORMED if malformed else result.error)

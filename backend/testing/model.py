"""A scripted text model, for tests: each call to `stream` plays the next scene.

A scene is a list of deltas, pauses in seconds (floats) and exceptions to raise; text is written as a plain string.
`Finished` is added where a scene has none and does not raise.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from backend.errors import ModelUnavailable
from backend.models.base import Delta, Finished, TextDelta, ToolCall

Line = str | float | Delta | BaseException
Scene = Sequence[Line]


class FakeChatModel:
    """Plays `scenes` one after the other, or asks `improvise` for each; keeps every request it was sent."""

    def __init__(
        self, *scenes: Scene, improvise: Callable[[list[dict[str, Any]], list[dict[str, Any]]], Scene] | None = None
    ) -> None:
        self._scenes = list(scenes)
        self._improvise = improvise
        self.requests: list[dict[str, Any]] = []
        self.open = 0
        """Streams begun and not yet closed."""

    def __repr__(self) -> str:
        return f"FakeChatModel({len(self._scenes)} scenes left, {self.open} open)"

    async def stream(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        model: str,
        tools: Sequence[dict[str, Any]] = (),
    ) -> AsyncGenerator[Delta, None]:
        """See `ChatModel.stream`. Out of scenes it raises `ModelUnavailable`."""
        self.requests.append({"messages": [dict(m) for m in messages], "model": model, "tools": list(tools)})
        scene = self._next(list(messages), list(tools))
        self.open += 1
        try:
            finished = False
            called = False
            for line in scene:
                match line:
                    case BaseException():
                        raise line
                    case float():
                        await asyncio.sleep(line)
                    case str():
                        yield TextDelta(line)
                    case _:
                        finished = isinstance(line, Finished)
                        called = called or isinstance(line, ToolCall)
                        yield line
            if not finished:
                yield Finished("tool_calls" if called else "stop", tokens_in=10, tokens_out=5)
        finally:
            self.open -= 1

    def _next(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Scene:
        if self._improvise is not None:
            return self._improvise(messages, tools)
        if not self._scenes:
            raise ModelUnavailable("The script has no further scene.")
        return self._scenes.pop(0)

"""A scripted text model: each call to `stream` plays the next scene of its script."""

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from backend.errors import ModelUnavailable
from backend.models.base import ChatMessage, Delta, Finished, TextDelta, ToolCall
from backend.models.options import USUAL, ModelOptions
from backend.runtime.json_objects import Json

Line = str | float | Delta | BaseException
"""A text of the answer, a pause in seconds, a delta as the model would send it, or an error to raise."""
Scene = Line | Sequence[Line]
"""The answer to one request: a line, or several in turn."""
Improvise = Callable[[list[Json], list[Json]], Scene]
"""The messages and the tools of a request → its scene."""

_ids = itertools.count(1)


def tool_call(tool: str, /, **arguments: Any) -> ToolCall:
    """Return a tool call as a model makes it, e.g. `tool_call("high_tide", place="Brest")`."""
    return ToolCall(f"call-{next(_ids)}", tool, json.dumps(arguments))


class ScriptedModel:
    """A `ChatModel` that plays `scenes` one after the other, or asks `improvise` for each.

    `ScriptedModel(tool_call("high_tide", place="Brest"), "High tide is at six.")` calls a tool at the first request
    and answers at the second. `Finished` is added where a scene has none and raises nothing.
    """

    def __init__(self, *scenes: Scene, improvise: Improvise | None = None) -> None:
        self._scenes = list(scenes)
        self._improvise = improvise
        self.requests: list[Json] = []
        """The requests so far, each with its messages, model and tools, and with its options if there are any."""
        self.open = 0
        """The number of streams that have begun and are not closed yet."""

    @property
    def system_prompt(self) -> str:
        """Return the system prompt of the latest request."""
        return str(self.requests[-1]["messages"][0]["content"])

    async def stream(
        self, messages: Sequence[ChatMessage], *, model: str, tools: Sequence[Json] = (), options: ModelOptions = USUAL
    ) -> AsyncGenerator[Delta, None]:
        """Yield the next scene's deltas. Raises `ModelUnavailable` when no scene is left."""
        asked: Json = {"messages": [dict(m) for m in messages], "model": model, "tools": list(tools)}
        self.requests.append(asked | ({} if options == USUAL else {"options": options}))
        if self._improvise is not None:
            scene = self._improvise([dict(message) for message in messages], list(tools))
        elif self._scenes:
            scene = self._scenes.pop(0)
        else:
            raise ModelUnavailable("The script has no further scene.")
        self.open += 1
        try:
            finished = called = False
            for line in scene if isinstance(scene, Sequence) and not isinstance(scene, str) else (scene,):
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

"""The local Responder, without a model, answers for a scripted peer that has no script.

A server treats the peer as a provider with a model, so the schema of its routing tool describes no domain. The peer
adds the descriptions of the core's Thinkers.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from msgspec import structs
from starlette.responses import Response

from backend.extensions.local.app import answered
from backend.extensions.local.dialogue.base import Part
from backend.extensions.local.dialogue.calls import Thought
from backend.extensions.local.dialogue.without_model import PlainDialogue
from backend.extensions.local.engines import Engines, open_engines
from backend.extensions.local.voice_session import VoiceSession
from backend.realtime.serving.effects import Order
from backend.responders.serving.completions import complete
from backend.responders.serving.service import MODEL
from backend.runtime.json_objects import Json
from backend.testing.offline.unscripted import Unscripted
from backend.thinkers.registry import ROUTE_TOOL, described
from backend.tools.discovery import package_modules


@asynccontextmanager
async def open_unscripted(*, at_once: bool) -> AsyncIterator[Unscripted]:
    """Open the engines: `at_once`, or each when it is first used."""
    async with open_engines(at_once=at_once) as engines:
        knowing = engines if engines.model else replace(engines, dialogue=Knowing())
        yield Answering(knowing)


class Answering(Unscripted):
    """Answers with the engines."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    def new_handler(self) -> VoiceSession:
        return VoiceSession(self._engines)

    async def load(self) -> None:
        await self._engines.loaded()

    async def complete(self, body: bytes) -> Response:
        return await complete(body, MODEL, _answered)


class Knowing(PlainDialogue):
    """The dialogue without a model, which knows the Thinkers."""

    async def answer(self, order: Order) -> AsyncGenerator[Part, None]:
        """Follow `Dialogue`."""
        async for part in super().answer(structs.replace(order, tools=tuple(with_domains(order.tools)))):
            yield part


def with_domains(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools with each domain of the routing tool described; chat completions nest them in `function`."""
    return [
        dict(tool) | {"function": _described(tool["function"])} if "function" in tool else _described(tool)
        for tool in tools
    ]


def _answered(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], tool_choice: Any) -> Thought:
    return answered(messages, with_domains(tools), tool_choice)


def _described(tool: Mapping[str, Any]) -> Json:
    if tool.get("name") != ROUTE_TOOL:
        return dict(tool)
    properties = tool["parameters"]["properties"]
    named = properties["domain"].get("enum") or []
    domain = {"oneOf": [_domains()[each] for each in named if each in _domains()]} | properties["domain"]
    return dict(tool) | {"parameters": tool["parameters"] | {"properties": properties | {"domain": domain}}}


@cache
def _domains() -> dict[str, Json]:
    modules = package_modules("backend.thinkers")
    return {each.MANIFEST.domain: described(each.MANIFEST) for each in modules if hasattr(each, "MANIFEST")}

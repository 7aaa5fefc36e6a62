"""The local Responder, without a model, answers chat completions for a scripted peer with no script for them.

A server treats the peer as a provider with a model, so the schema of its routing tool describes no domain. The peer
adds the descriptions of the core's Thinkers.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from starlette.responses import Response

from backend.extensions.local.app import answered
from backend.extensions.local.dialogue.calls import Thought
from backend.responders.serving.completions import complete as completed
from backend.responders.serving.service import MODEL
from backend.runtime.json_objects import Json
from backend.thinkers.registry import ROUTE_TOOL, described
from backend.tools.discovery import package_modules


async def complete(body: bytes) -> Response:
    """Answer one chat completion."""
    return await completed(body, MODEL, _answered)


def _answered(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], tool_choice: Any) -> Thought:
    described_tools = [dict(tool) | {"function": _described(tool["function"])} for tool in tools if "function" in tool]
    return answered(messages, described_tools, tool_choice)


def _described(tool: Mapping[str, Any]) -> Json:
    """Return a tool with each domain described, if it is the routing tool."""
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

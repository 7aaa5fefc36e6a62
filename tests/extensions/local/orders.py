"""Plain helpers for tests of the dialogue: orders as the Realtime protocol makes them, and their results."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from backend.extensions.local.dialogue.base import Part
from backend.extensions.local.dialogue.calls import Thought
from backend.extensions.local.dialogue.routing import Specialist
from backend.extensions.local.dialogue.small_talk import Talk
from backend.extensions.local.dialogue.understanding import Referral, understand
from backend.extensions.local.dialogue.without_model import complete
from backend.realtime.items import Item
from backend.realtime.serving.effects import Order
from backend.thinkers.base import Manifest
from backend.thinkers.registry import described
from tests.support.declared import all_manifests, all_tools

MANIFESTS = tuple(each for each in all_manifests() if each.domain != "engineering")
"""The tools of the core and of the installed extensions, without the one that needs GitHub settings."""
TOOLS = all_tools()
GENERAL = "knowledge"
NOW = datetime(2026, 3, 2, 9, 30)


def route(*manifests: Manifest) -> dict[str, Any]:
    """The routing tool as the server describes it to a Responder without a model."""
    domain = {
        "type": "string",
        "enum": [each.domain for each in manifests],
        "oneOf": [described(each) for each in manifests],
        "default": GENERAL,
    }
    properties = {"domain": domain, "query": {"type": "string"}}
    parameters = {"type": "object", "properties": properties, "required": ["domain", "query"]}
    return {"type": "function", "name": "route_to_thinker", "description": "Ask.", "parameters": parameters}


def route_of(*domains: str) -> dict[str, Any]:
    """The routing tool for the Thinkers of these domains."""
    return route(*(each for each in MANIFESTS if each.domain in domains))


ROUTE = route(*MANIFESTS)
SPECIALISTS = {
    each.domain: Specialist(each.domain, each.description, (each.example, *each.examples, *each.phrases))
    for each in MANIFESTS
}
SILENCE: dict[str, Any] = {"type": "function", "name": "wait_for_user", "parameters": {"type": "object"}}


def understood(
    words: str, domains: Sequence[str] = tuple(SPECIALISTS), last: Referral | None = None
) -> Talk | Referral:
    """The Thinkers that words ask for if these may be asked; an unknown one has only its name."""
    specialists = [SPECIALISTS.get(domain, Specialist(domain)) for domain in domains]
    return understand(words, specialists, last, general=GENERAL if GENERAL in domains else "")


def asked(text: str, *tools: str | dict[str, Any]) -> Thought:
    """The reply to a question with these tools on offer: ours by their names, or schemas."""
    offered = [TOOLS[tool].schema() if isinstance(tool, str) else tool for tool in tools]
    return complete([{"role": "user", "content": text}], offered, NOW)


def called(thought: Thought) -> list[tuple[str, dict[str, Any]]]:
    """The names and arguments of the calls."""
    return [(each.name, json.loads(each.arguments)) for each in thought.calls]


def after(text: str, *results: tuple[str, Any], tools: Sequence[str] = ()) -> Thought:
    """The next reply, after the tools of these names gave these results, one after the other."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": text}]
    for number, (name, result) in enumerate(results):
        made = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        content = result if isinstance(result, str) else json.dumps(result)
        messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": content})
    return complete(messages, [TOOLS[name].schema() for name in tools], NOW)


def user(words: str, *, spoken: bool = False) -> Item:
    return Item("u", "message", role="user", kind="input_audio" if spoken else "input_text", words=words)


def assistant(words: str) -> Item:
    return Item("a", "message", role="assistant", kind="output_audio", words=words)


def note(words: str) -> Item:
    return Item("n", "message", role="system", kind="input_text", words=words)


def routed(domain: str, query: str, call_id: str = "c1") -> Item:
    arguments = f'{{"domain": "{domain}", "query": "{query}"}}'
    return Item("f", "function_call", call_id=call_id, name="route_to_thinker", arguments=arguments)


def output(text: str, call_id: str = "c1") -> Item:
    return Item("o", "function_call_output", call_id=call_id, output=text)


def order(
    *items: Item | str,
    instructions: str = "You are a voice.",
    tools: Sequence[dict[str, Any]] = (ROUTE,),
    tool_choice: str = "auto",
    purpose: str = "answer",
) -> Order:
    """A client's order; a string stands for the caller's words."""
    given = tuple(user(item) if isinstance(item, str) else item for item in items)
    metadata = {"purpose": purpose}
    return Order("r1", given, instructions, tuple(tools), tool_choice, "audio", None, metadata)


async def answered(parts: AsyncIterator[Part]) -> tuple[list[str], list[tuple[str, str]]]:
    """The sentences and the calls of an answer."""
    said: list[str] = []
    calls: list[tuple[str, str]] = []
    async for part in parts:
        if isinstance(part, str):
            said.append(part)
        else:
            calls.append((part.name, part.arguments))
    return said, calls

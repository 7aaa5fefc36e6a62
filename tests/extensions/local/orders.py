"""Plain helpers for tests of the dialogue: orders as the Realtime protocol makes them, and what comes of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from backend.extensions.local.dialogue.base import Part, Sentence
from backend.extensions.local.dialogue.routing import Specialist
from backend.extensions.local.dialogue.small_talk import Talk
from backend.extensions.local.dialogue.understanding import Question, understand
from backend.extensions.local.realtime.items import Item
from backend.extensions.local.realtime.response import Order
from backend.thinkers.registry import guide
from tests.support.declared import all_manifests

MANIFESTS = tuple(each for each in all_manifests() if not each.needs_set_up)
SPECIALISTS = {
    each.domain: Specialist(each.domain, each.description, (each.example, *each.examples, *each.phrases))
    for each in MANIFESTS
}
GUIDE = guide(MANIFESTS, with_phrases=True)
ROUTE: dict[str, Any] = {
    "type": "function",
    "name": "route_to_thinker",
    "description": "Ask a specialist.",
    "parameters": {
        "type": "object",
        "properties": {
            "domain": {"type": "string", "enum": [each.domain for each in MANIFESTS]},
            "query": {"type": "string"},
        },
        "required": ["domain", "query"],
    },
}
SILENCE: dict[str, Any] = {"type": "function", "name": "wait_for_user", "parameters": {"type": "object"}}


def understood(
    words: str, domains: Sequence[str] = tuple(SPECIALISTS), last: Question | None = None
) -> Talk | Question:
    """What words want where these Thinkers may be asked; an unknown one has nothing but its name."""
    return understand(words, [SPECIALISTS.get(domain, Specialist(domain)) for domain in domains], last)


def user(words: str, *, spoken: bool = False) -> Item:
    return Item("u", "message", role="user", kind="input_audio" if spoken else "input_text", words=words)


def assistant(words: str) -> Item:
    return Item("a", "message", role="assistant", kind="output_audio", words=words)


def note(words: str) -> Item:
    return Item("n", "message", role="system", kind="input_text", words=words)


def called(domain: str, query: str, call_id: str = "c1") -> Item:
    arguments = f'{{"domain": "{domain}", "query": "{query}"}}'
    return Item("f", "function_call", call_id=call_id, name="route_to_thinker", arguments=arguments)


def output(text: str, call_id: str = "c1") -> Item:
    return Item("o", "function_call_output", call_id=call_id, output=text)


def order(
    *items: Item | str,
    instructions: str = f"You are a voice.\n\n{GUIDE}",
    tools: Sequence[dict[str, Any]] = (ROUTE,),
    tool_choice: str = "auto",
    purpose: str = "answer",
) -> Order:
    """What a client asks for; a string stands for the caller's words."""
    told = tuple(user(item) if isinstance(item, str) else item for item in items)
    metadata = {"purpose": purpose}
    return Order("r1", None, told, instructions, tuple(tools), tool_choice, "audio", None, metadata)


async def answered(parts: AsyncIterator[Part]) -> tuple[list[str], list[tuple[str, str]]]:
    """The sentences and the calls of an answer."""
    said: list[str] = []
    calls: list[tuple[str, str]] = []
    async for part in parts:
        if isinstance(part, Sentence):
            said.append(part.text)
        else:
            calls.append((part.name, part.arguments))
    return said, calls

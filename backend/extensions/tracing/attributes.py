"""Spans as attributes: OpenTelemetry's conventions for generative AI, and `voice.*` for the rest.

See https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/. A request to a model is `chat <model>`, a tool
call `execute_tool <tool>`, and a Thinker's work `invoke_agent <domain>`. Pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
from opentelemetry.util.types import AttributeValue

from backend.observability.tracing import Fact, Kind, Outcome, Words
from backend.runtime.json_objects import Json

TEXT_LIMIT = 8_000
"""Characters of one text that are kept where words are traced at all."""
CONVERSATION_LIMIT = 4 * TEXT_LIMIT
"""Characters of the messages shown to a model that are kept, the latest first."""

KIND = "voice.kind"
OUTCOME = "voice.outcome"
TOKENS = "voice.tokens"
"""Tokens used by a span and everything within it."""
USER = "enduser.pseudo.id"
"""The hash of the user id; it names no user."""
CONVERSATION = "gen_ai.conversation.id"
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"

OPERATIONS: dict[Kind, str] = {"model": "chat", "tool": "execute_tool", "thinker": "invoke_agent"}
_NAME: dict[Kind, str] = {"model": "gen_ai.request.model", "tool": "gen_ai.tool.name", "thinker": "gen_ai.agent.name"}
_MODEL_FACTS = {
    "model": "gen_ai.response.model",
    "tokens_in": "gen_ai.usage.input_tokens",
    "tokens_out": "gen_ai.usage.output_tokens",
}
_FIXED: dict[Kind, dict[str, str]] = {
    "model": {"gen_ai.provider.name": "openai"},  # the API that is spoken, not the company that serves it
    "tool": {"gen_ai.tool.type": "function"},
}


class SpanWords:
    """The words that went into a span, or came out: their number and, if `content` is traced, the words themselves."""

    __slots__ = ("_content", "_kept", "chars", "messages")

    def __init__(self, content: bool) -> None:
        self._content = content
        self._kept: list[Mapping[str, Any] | str] = []
        self.chars: int | None = None
        self.messages: int | None = None

    def add(self, words: Words) -> None:
        """Add a text, or the messages of a conversation."""
        if isinstance(words, str):
            self.chars = (self.chars or 0) + len(words)
            kept: Sequence[Mapping[str, Any] | str] = [words[:TEXT_LIMIT]]
        else:
            self.chars = (self.chars or 0) + sum(len(message.get("content") or "") for message in words)
            self.messages = (self.messages or 0) + len(words)
            kept = words
        if self._content:
            self._kept.extend(kept)

    @property
    def text(self) -> str:
        """All texts; empty where words are not traced."""
        return "\n".join(each for each in self._kept if isinstance(each, str))[:TEXT_LIMIT]

    def as_messages(self, role: str, **more: str) -> str:
        """Return the words as the conventions' JSON of messages, the latest that fit; texts are said by `role`.

        `more` is added to the texts' message. Empty where words are not traced.
        """
        messages = [each for each in self._kept if not isinstance(each, str)]
        shown: list[Json] = []
        room = CONVERSATION_LIMIT
        for message in reversed(messages):
            if room <= 0:
                break
            content = str(message.get("content") or "")[: min(room, TEXT_LIMIT)]
            room -= len(content) + 1
            shown.insert(0, {"role": message["role"], "parts": _parts(message, content)})
        if text := self.text:
            shown.append({"role": role, "parts": [{"type": "text", "content": text}], **more})
        return msgspec.json.encode(shown).decode() if shown else ""


def span_name(kind: Kind, name: str) -> str:
    """Return the name the conventions want."""
    return f"{OPERATIONS[kind]} {name}" if kind in OPERATIONS else name


def opening(kind: Kind, session_id: str, user: str) -> dict[str, AttributeValue]:
    """Return the attributes known at the beginning of a span. `user` is the hash of the user id, or empty."""
    attributes: dict[str, AttributeValue] = {KIND: kind, "session.id": session_id, CONVERSATION: session_id}
    if kind in OPERATIONS:
        attributes["gen_ai.operation.name"] = OPERATIONS[kind]
    if user:
        attributes[USER] = user
    attributes.update(_FIXED.get(kind, {}))
    return attributes


def closing(
    kind: Kind,
    name: str,
    outcome: Outcome,
    tokens: int,
    facts: Mapping[str, Fact],
    asked: SpanWords,
    said: SpanWords,
) -> dict[str, AttributeValue]:
    """Return the attributes known at the end of a span."""
    attributes: dict[str, AttributeValue] = {OUTCOME: outcome, TOKENS: tokens}
    if kind in _NAME:
        attributes[_NAME[kind]] = name
    for fact, value in facts.items():
        if value is not None:
            key, told = _fact(kind, fact, value)
            attributes[key] = told
    if outcome == "failed":
        attributes.setdefault("error.type", "failed")
    attributes.update(_words(kind, facts, asked, said))
    return attributes


def _fact(kind: Kind, fact: str, value: str | int | float | bool) -> tuple[str, AttributeValue]:
    """Return a fact's attribute."""
    if fact == "error":
        return "error.type", value
    if kind == "model":
        if fact == "reason":
            return "gen_ai.response.finish_reasons", [str(value)]
        if fact == "first_token_ms":
            return "gen_ai.response.time_to_first_chunk", float(value) / 1000
        if fact in _MODEL_FACTS:
            return _MODEL_FACTS[fact], value
    return f"voice.{fact}", value


def _words(kind: Kind, facts: Mapping[str, Fact], asked: SpanWords, said: SpanWords) -> dict[str, AttributeValue]:
    """Return lengths and, if they were kept, the words."""
    told: dict[str, AttributeValue | None] = {
        "voice.input.chars": asked.chars,
        "voice.input.messages": asked.messages,
        "voice.output.chars": said.chars,
    }
    if kind == "tool":
        told |= {"gen_ai.tool.call.arguments": asked.text or None, "gen_ai.tool.call.result": said.text or None}
    else:
        reason = {"finish_reason": str(facts.get("reason") or "stop")} if kind == "model" else {}
        told |= {INPUT: asked.as_messages("user") or None, OUTPUT: said.as_messages("assistant", **reason) or None}
    return {name: value for name, value in told.items() if value is not None}


def _parts(message: Mapping[str, Any], content: str) -> list[Json]:
    """Return a chat message's content and tool calls as the conventions' parts."""
    if message["role"] == "tool":
        return [{"type": "tool_call_response", "id": message.get("tool_call_id"), "response": content}]
    parts: list[Json] = [{"type": "text", "content": content}] if content else []
    for call in cast("Sequence[Json]", message.get("tool_calls") or ()):
        function = call["function"]
        parts.append(
            {"type": "tool_call", "id": call["id"], "name": function["name"], "arguments": function["arguments"]}
        )
    return parts

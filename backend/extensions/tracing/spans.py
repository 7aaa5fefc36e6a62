"""The tracer that makes OpenTelemetry spans; `destinations.py` decides where they go.

The attributes of spans follow the conventions for generative AI; all others are named `voice.*`. See
https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/. A request to a model is `chat <model>`, a tool call
`execute_tool <tool>`, and a Thinker's work `invoke_agent <domain>`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import msgspec
from opentelemetry import trace as trace_api
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider, set_span_in_context
from opentelemetry.util.types import AttributeValue

from backend.observability.security_log import hashed
from backend.observability.tracing import Fact, Kind, Outcome, Span, Tracer, Words
from backend.runtime.json_objects import Json

NAME = "responder-thinker"
TEXT_LIMIT = 8_000
"""The most characters of one text in a span, if words are traced."""

KIND = "voice.kind"
USER = "enduser.pseudo.id"
"""The attribute with the hash of the user id, which names no user."""
CONVERSATION = "gen_ai.conversation.id"
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"

OPERATIONS: dict[Kind, str] = {"model": "chat", "tool": "execute_tool", "thinker": "invoke_agent"}
_NAME: dict[Kind, str] = {"model": "gen_ai.request.model", "tool": "gen_ai.tool.name", "thinker": "gen_ai.agent.name"}
_FIXED: dict[Kind, dict[str, str]] = {
    "model": {"gen_ai.provider.name": "openai"},  # the name of the API, not of the company that serves it
    "tool": {"gen_ai.tool.type": "function"},
}
_FACTS: dict[Kind, dict[str, str]] = {
    "model": {
        "model": "gen_ai.response.model",
        "tokens_in": "gen_ai.usage.input_tokens",
        "tokens_out": "gen_ai.usage.output_tokens",
        "reason": "gen_ai.response.finish_reasons",
        "first_token_ms": "gen_ai.response.time_to_first_chunk",
    }
}
Side = Literal["input", "output"]
Attributes = Mapping[str, AttributeValue]
Further = Callable[[Attributes], Attributes]
"""Returns further attributes of a span that ends with the given ones."""


class OtelTracer(Tracer):
    """Opens spans of `provider`. It traces the lengths of texts and, if `content` is true, the texts."""

    def __init__(self, provider: TracerProvider, *, content: bool = False, further: Further | None = None) -> None:
        self._tracer = provider.get_tracer(NAME)
        self._content = content
        self._further = further

    def __repr__(self) -> str:
        return f"OtelTracer({'with' if self._content else 'without'} words)"

    def session(self, session_id: str, kind: Kind = "session", name: str = "session", *, user: str = "") -> OtelSpan:
        return OtelSpan(kind, name, _Trace(self._tracer, session_id, self._content, hashed(user), self._further))


class _Trace(NamedTuple):
    """The fields that all spans of one trace share."""

    tracer: trace_api.Tracer
    session_id: str
    content: bool
    user: str
    """The hash of the user id; empty when the trace has no user."""
    further: Further | None


class OtelSpan(Span):
    """A span that collects its attributes, and becomes an OpenTelemetry span when it ends."""

    __slots__ = (
        *("_attributes", "_began", "_kind", "_lengths", "_name", "_over"),
        *("_skew", "_span", "_tokens", "_trace", "_under", "_words"),
    )

    def __init__(self, kind: Kind, name: str, trace: _Trace, under: OtelSpan | None = None, ago_ms: float = 0) -> None:
        self._kind = kind
        self._name = name
        self._trace = trace
        self._under = under
        # The wall clock is read once per trace: if it is set back during a call, spans must still end after they begin.
        self._skew: int = under._skew if under else time.time_ns() - time.perf_counter_ns()
        self._began = self.now() - round(ago_ms * 1_000_000)
        self._attributes = _opening(kind, trace)
        self._lengths: Counter[str] = Counter()
        self._words: dict[Side, list[Json]] = {"input": [], "output": []}
        self._tokens = 0
        self._over = False
        self._span: trace_api.Span = trace.tracer.start_span(
            _span_name(kind, name),
            set_span_in_context(under._span, Context()) if under else Context(),
            SpanKind.CLIENT if kind == "model" else SpanKind.INTERNAL,
            start_time=self._began,
        )

    def __repr__(self) -> str:
        return f"OtelSpan({self._kind} {self._name}, {'over' if self._over else 'open'})"

    def open(self, kind: Kind, name: str, *, ago_ms: float = 0) -> OtelSpan:
        return OtelSpan(kind, name, self._trace, self, ago_ms)

    def rename(self, name: str) -> None:
        self._name = name

    def note(self, **facts: Fact) -> None:
        for fact, value in facts.items():
            if value is not None:
                key = "error.type" if fact == "error" else _FACTS.get(self._kind, {}).get(fact, f"voice.{fact}")
                self._attributes[key] = value

    def asked(self, words: Words) -> None:
        self._take("input", words)

    def said(self, words: Words) -> None:
        self._take("output", words)

    def _take(self, side: Side, words: Words) -> None:
        """Add the length of a text and, if words are traced, the text."""
        role = "user" if side == "input" else "assistant"
        messages = [{"role": role, "content": words}] if isinstance(words, str) else words
        self._lengths[f"voice.{side}.chars"] += sum(len(message.get("content") or "") for message in messages)
        if messages is words:
            self._lengths[f"voice.{side}.messages"] += len(words)
        if self._trace.content:
            self._words[side] += [{"role": message["role"], "parts": _parts(message)} for message in messages]

    def spent(self, tokens: int) -> None:
        span: OtelSpan | None = self
        while span is not None:
            span._tokens += tokens
            span = span._under

    def now(self) -> int:
        return time.perf_counter_ns() + self._skew

    def end(self, outcome: Outcome = "complete", *, at: int | None = None) -> None:
        if self._over:
            return
        self._over = True
        span = self._span
        span.update_name(_span_name(self._kind, self._name))
        span.set_attributes(self._closing(outcome))
        if outcome == "failed":
            span.set_status(Status(StatusCode.ERROR))
        span.end(max(at or self.now(), self._began))

    def _closing(self, outcome: Outcome) -> dict[str, AttributeValue]:
        """Return all attributes of the ended span."""
        attributes = self._attributes | self._lengths | {"voice.outcome": outcome, "voice.tokens": self._tokens}
        if outcome == "failed":
            attributes.setdefault("error.type", "failed")
        if self._kind in _NAME:
            attributes[_NAME[self._kind]] = self._name
        if self._kind == "model":
            _as_conventions(attributes)
            for message in self._words["output"]:
                message["finish_reason"] = attributes.get("gen_ai.response.finish_reasons", ["stop"])[0]
        for side, shown in self._words.items():
            if shown and self._kind == "tool":
                name = ARGUMENTS if side == "input" else RESULT
                attributes[name] = "\n".join(part["content"] for message in shown for part in message["parts"])
            elif shown:
                attributes[INPUT if side == "input" else OUTPUT] = msgspec.json.encode(shown).decode()
        return attributes | dict(self._trace.further(attributes) if self._trace.further else {})


def _span_name(kind: Kind, name: str) -> str:
    return f"{OPERATIONS[kind]} {name}" if kind in OPERATIONS else name


def _opening(kind: Kind, trace: _Trace) -> dict[str, Any]:
    """Return the attributes known at the beginning of a span."""
    attributes = {KIND: kind, "session.id": trace.session_id, CONVERSATION: trace.session_id, **_FIXED.get(kind, {})}
    if kind in OPERATIONS:
        attributes["gen_ai.operation.name"] = OPERATIONS[kind]
    if trace.user:
        attributes[USER] = trace.user
    return attributes


def _as_conventions(attributes: dict[str, Any]) -> None:
    """Change two attributes of a model's answer to the form of the conventions."""
    reasons, first = "gen_ai.response.finish_reasons", "gen_ai.response.time_to_first_chunk"
    if reasons in attributes:
        attributes[reasons] = [str(attributes[reasons])]
    if first in attributes:
        attributes[first] = float(attributes[first]) / 1000


def _parts(message: Mapping[str, Any]) -> list[Json]:
    """Return a chat message's content and tool calls as parts in the form of the conventions."""
    content = str(message.get("content") or "")[:TEXT_LIMIT]
    if message["role"] == "tool":
        return [{"type": "tool_call_response", "id": message.get("tool_call_id"), "response": content}]
    parts: list[Json] = [{"type": "text", "content": content}] if content else []
    for call in cast("Sequence[Json]", message.get("tool_calls") or ()):
        function = call["function"]
        parts.append(
            {"type": "tool_call", "id": call["id"], "name": function["name"], "arguments": function["arguments"]}
        )
    return parts

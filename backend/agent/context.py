"""What was said between a user and the agent, kept within 20 messages and 8,000 tokens.

Trimming works on *units*: a message by itself, or an assistant's tool calls together with all their results, since
a model refuses one without the other. The oldest units go first. The latest user message and the newest unit
always stay; where those alone are over budget, their texts are shortened. Tokens are estimated on the safe side,
since the tokenizer is the endpoint's secret.

A unit of tool calls lasts for its turn. After that the answer stands for it: only the calls of persistent tools are
left of it, those that wait for the user's yes, and words said beside calls.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from backend.models.base import ToolCall

MESSAGE_LIMIT = 20
TOKEN_LIMIT = 8_000
OVERHEAD_TOKENS = 6
"""What a message costs beside its texts."""
CALLS_LIMIT = 8
"""Tool calls of one round, so that a round always fits the message limit."""
SHORTENED = " … (shortened)"

Role = Literal["user", "assistant", "tool"]
SourceMode = Literal["voice", "chat"]


@dataclass(frozen=True, slots=True)
class ContextMessage:
    """One message. `timestamp` is Unix time in seconds."""

    role: Role
    content: str
    timestamp: float
    source_mode: SourceMode = "voice"
    message_id: str = field(default_factory=lambda: f"msg_{secrets.token_hex(8)}")
    tool_call_id: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    citations: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """An estimate that is seldom too low."""
        texts = [self.content, self.tool_call_id or ""]
        texts += [text for call in self.tool_calls for text in (call.id, call.name, call.arguments)]
        return OVERHEAD_TOKENS * (1 + len(self.tool_calls)) + sum(map(estimate_tokens, texts))

    def as_api(self) -> dict[str, Any]:
        """The message in the chat completions API's form."""
        if self.role == "tool":
            return {"role": "tool", "tool_call_id": self.tool_call_id, "content": self.content}
        message: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.tool_calls
            ]
        return message


def estimate_tokens(text: str) -> int:
    """Tokens of `text`: three ASCII characters or one other make a token. Real ones are mostly fewer."""
    ascii_ = len(text.encode("ascii", "ignore"))
    return -(-ascii_ // 3) + (len(text) - ascii_)


class ConversationContext:
    """The messages of one conversation, oldest first, always valid to send."""

    def __init__(
        self,
        messages: Sequence[ContextMessage] = (),
        *,
        message_limit: int = MESSAGE_LIMIT,
        token_limit: int = TOKEN_LIMIT,
    ) -> None:
        self._message_limit = message_limit
        self._token_limit = token_limit
        self._messages: list[ContextMessage] = []
        for unit in _units(messages):
            self.add(*unit)

    def __repr__(self) -> str:
        return f"ConversationContext({len(self._messages)} messages, about {self.tokens} tokens)"

    @property
    def messages(self) -> tuple[ContextMessage, ...]:
        """What there is, oldest first."""
        return tuple(self._messages)

    @property
    def tokens(self) -> int:
        """About how many tokens that is."""
        return sum(message.tokens for message in self._messages)

    def add(self, *unit: ContextMessage) -> None:
        """Add one unit: a user's or an assistant's message, or tool calls with all their results; then trim."""
        if not _is_unit(unit):
            raise ValueError("a unit is one message, or tool calls with exactly their results")
        self._messages += unit
        self._trim()

    def drop_calls(self, passing: Mapping[str, Collection[str]]) -> None:
        """Take calls out, with their results: message id → the ids of its calls."""
        self._messages = without_calls(self._messages, passing)

    def reword_last(self, content: str) -> ContextMessage:
        """Let the newest message say `content` instead."""
        message = self._messages[-1] = replace(self._messages[-1], content=content)
        self._trim()
        return message

    def as_api(self) -> list[dict[str, Any]]:
        """The messages in the chat completions API's form."""
        return [message.as_api() for message in self._messages]

    def _trim(self) -> None:
        units = _units(self._messages)
        questions = [index for index, unit in enumerate(units) if unit[0].role == "user"]
        kept = {len(units) - 1, *questions[-1:]}
        count = sum(len(units[index]) for index in kept)
        tokens = sum(_tokens(units[index]) for index in kept)
        for index in reversed(range(len(units))):
            if index in kept:
                continue
            count += len(units[index])
            tokens += _tokens(units[index])
            if count > self._message_limit or tokens > self._token_limit:
                break  # and everything older goes with it: a conversation with holes misleads
            kept.add(index)
        self._messages = [message for index in sorted(kept) for message in units[index]]
        if self.tokens > self._token_limit:
            self._messages = _shortened(self._messages, self._token_limit)


def without_calls(messages: Sequence[ContextMessage], passing: Mapping[str, Collection[str]]) -> list[ContextMessage]:
    """`messages` without these calls (message id → ids of its calls); what was said beside them stays."""
    left: list[ContextMessage] = []
    for unit in _units(messages):
        asked, *results = unit
        dropped = passing.get(asked.message_id, ())
        calls = tuple(call for call in asked.tool_calls if call.id not in dropped)
        if calls or not asked.tool_calls or asked.content.strip():
            left.append(replace(asked, tool_calls=calls))
        left += [result for result in results if result.tool_call_id not in dropped]
    return left


def _units(messages: Sequence[ContextMessage]) -> list[list[ContextMessage]]:
    """`messages` cut into units; orphaned results and unanswered calls fall out."""
    units: list[list[ContextMessage]] = []
    for message in messages:
        if message.role == "tool" and units and units[-1][0].tool_calls:
            units[-1].append(message)
        elif message.role != "tool":
            units.append([message])
    return [unit for unit in units if _is_unit(unit)]


def _is_unit(unit: Sequence[ContextMessage]) -> bool:
    if not unit or unit[0].role == "tool":
        return False
    wanted = [call.id for call in unit[0].tool_calls]
    return wanted == [message.tool_call_id for message in unit[1:]] and len(set(wanted)) == len(wanted)


def _tokens(unit: Sequence[ContextMessage]) -> int:
    return sum(message.tokens for message in unit)


def _shortened(messages: list[ContextMessage], limit: int) -> list[ContextMessage]:
    """The same messages, the longest texts cut until `limit` tokens hold."""
    room = limit
    while True:
        cut = [_cut(message, room) for message in messages]
        if sum(message.tokens for message in cut) <= limit or room == 0:
            return cut
        room //= 2


def _cut(message: ContextMessage, room: int) -> ContextMessage:
    """`message` with each text within `room` tokens. Arguments that are too long are left out, not broken."""
    if message.tokens <= room:
        return message
    content = message.content
    if estimate_tokens(content) > room:
        content = content[:room] + SHORTENED if room else SHORTENED
        while estimate_tokens(content) > max(room, estimate_tokens(SHORTENED)):
            content = content[: len(content) // 2]
    calls = tuple(
        replace(call, arguments="{}") if estimate_tokens(call.arguments) > room else call for call in message.tool_calls
    )
    return replace(message, content=content, tool_calls=calls)

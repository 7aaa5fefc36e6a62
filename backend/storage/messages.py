"""The messages of a conversation, in their stored form."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import msgspec

from backend.citations import Citation
from backend.storage.record_format import FORMAT, Format


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A tool call of an assistant's message; `arguments` is the model's JSON."""

    id: str
    name: str
    arguments: str
    by_client: bool = False
    """Whether the client carried it out, so that its result is text of others."""


new_message_id = partial(secrets.token_hex, 8)
"""Returns a random id of 64 bits, for a message without one."""


class Message(msgspec.Struct, frozen=True, rename={"timestamp": "at"}):
    """A message of a conversation, or a tool's result, which follows the message that called it."""

    role: Literal["user", "assistant", "tool"]
    content: str
    timestamp: float
    """Unix time in seconds; stored as `at`."""
    source_mode: Literal["voice", "chat"] = "voice"
    message_id: str = msgspec.field(default_factory=new_message_id)
    tool_call_id: str | None = None
    """The id of the call to which a tool's result belongs."""
    tool_calls: tuple[StoredCall, ...] = ()
    citations: tuple[Citation, ...] = ()
    """The sources of the answer."""
    format: Format = FORMAT

    @property
    def said(self) -> bool:
        """Return whether the message has words of the user or the assistant, and is not a tool call or its result."""
        return self.role != "tool" and bool(self.content.strip())


@dataclass(frozen=True, slots=True)
class ClientRound:
    """The calls that ended a turn, with the results of the client that carried them out."""

    calls: tuple[StoredCall, ...] = field(repr=False)
    results: tuple[str, ...] = field(repr=False)
    """The results of the calls, in their order."""
    text: str = field(default="", repr=False)
    """The model's words beside its calls."""

    def unit(self, now: float, mode: Literal["voice", "chat"]) -> tuple[Message, ...]:
        """Return the message that made the calls, and the results; `now` is Unix time in seconds."""
        answers = zip(self.calls, self.results, strict=True)
        return (
            Message("assistant", self.text, now, mode, tool_calls=self.calls),
            *(Message("tool", result, now, mode, tool_call_id=call.id) for call, result in answers),
        )


def without_retried(messages: Sequence[Message]) -> list[Message]:
    """Return `messages` without the reply to a question that was sent again later with the same id."""
    last = {message.message_id: index for index, message in enumerate(messages) if message.role == "user"}
    remaining: list[Message] = []
    dropping = False
    for index, message in enumerate(messages):
        if message.role == "user":
            dropping = last[message.message_id] != index
        if not dropping:
            remaining.append(message)
    return remaining


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """A conversation in its owner's list."""

    id: str
    messages: int
    updated_at: float
    """Unix time of its last message, in whole seconds."""

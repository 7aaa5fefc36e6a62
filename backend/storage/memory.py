"""The memory that outlives a call: conversations, users' contexts, session summaries and caches.

Expiry and limits are defined here once. `redis_memory` stores it all in Redis (an operator's server, an embedded one,
or one in this process), `backend.testing.memory` in a dict. Every method may raise `MemoryUnavailable`, after a second
at most: callers go on without. Nothing here is ever awaited on the audio path; see `outbox`.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from backend.runtime.faults import call_listener

HISTORY_TTL_S = 3600
"""Seconds a conversation is kept after its last message."""
HISTORY_LIMIT = 200
"""Messages kept of one conversation; older ones are dropped."""
SUMMARY_TTL_S = 86_400
"""Seconds the summary of an ended session is kept."""
CACHE_TTL_S = 120
"""Seconds a cached value is kept, unless told otherwise."""


ContextListener = Callable[[dict[str, Any]], None]
"""Gets a user's context as it is now; returns at once."""
Unwatch = Callable[[], None]
"""Removes a listener. May be called twice."""


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A tool call of an assistant's message; `arguments` is the model's JSON."""

    id: str
    name: str
    arguments: str


def new_message_id() -> str:
    """Return a random id of 64 bits, for a message that came without one."""
    return f"msg_{secrets.token_hex(8)}"


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation, or a tool's result, which follows the message that called it."""

    role: Literal["user", "assistant", "tool"]
    content: str
    at: float
    """Unix time in seconds."""
    source_mode: Literal["voice", "chat"] = "voice"
    message_id: str = field(default_factory=new_message_id)
    tool_call_id: str | None = None
    """The call a tool's result answers."""
    tool_calls: tuple[StoredCall, ...] = ()
    citations: tuple[str, ...] = ()

    @property
    def said(self) -> bool:
        """Whether the message has words of the user or the assistant, and is not a tool call or its result."""
        return self.role != "tool" and bool(self.content.strip())


def without_retried(messages: Sequence[Message]) -> list[Message]:
    """Return `messages` without what followed a question that was later sent again under the same id."""
    last = {message.message_id: index for index, message in enumerate(messages) if message.role == "user"}
    kept: list[Message] = []
    dropping = False
    for index, message in enumerate(messages):
        if message.role == "user":
            dropping = last[message.message_id] != index
        if not dropping:
            kept.append(message)
    return kept


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """A conversation as its owner's list shows it."""

    id: str
    messages: int
    updated_at: float
    """Unix time of its last message, in whole seconds."""


class Memory(Protocol):
    """The memory of all users. Ids of users and sessions are opaque; texts are never logged."""

    async def append_messages(self, user_id: str, conversation_id: str, *messages: Message) -> None:
        """Append messages to `user:{id}:conversation:{id}` together; the conversation expires later again.

        When this failed it may be repeated: messages that were appended all the same are not appended twice.
        """
        ...

    async def amend_messages(
        self, user_id: str, conversation_id: str, message_ids: Sequence[str], content: str
    ) -> None:
        """Replace the content of the last of these messages and delete the others; missing ones are ignored."""
        ...

    async def recent_messages(self, user_id: str, conversation_id: str, limit: int = 20) -> list[Message]:
        """Return the newest `limit` messages, oldest first; none of a conversation that is not the user's."""
        ...

    async def conversations(self, user_id: str) -> list[ConversationInfo]:
        """Return the user's conversations, the latest first."""
        ...

    async def latest_messages(
        self, user_id: str, *, conversations: int, messages: int, besides: str = ""
    ) -> list[list[Message]]:
        """Return the newest `messages` of the user's latest `conversations`, the latest first, each oldest first.

        The conversation `besides` is left out and does not count.
        """
        ...

    async def forget_conversation(self, user_id: str, conversation_id: str) -> None:
        """Delete a conversation; do nothing when the user has no such one."""
        ...

    async def put_summary(self, session_id: str, summary: dict[str, Any]) -> None:
        """Store the summary of an ended session at `session:{id}:summary`."""
        ...

    async def get_summary(self, session_id: str) -> dict[str, Any] | None:
        """Return the summary of a session, or None."""
        ...

    async def forget_session(self, session_id: str) -> None:
        """Delete everything under `session:{id}:`."""
        ...

    async def own_session(self, session_id: str, user_id: str) -> None:
        """Note whose session this is, so that it is exported and deleted with the user's data."""
        ...

    async def cache_get(self, scope: str, key: str) -> str | None:
        """Return a cached value of `scope` (`shared`, or a user's id: entries of that user alone), or None."""
        ...

    async def cache_put(self, scope: str, key: str, value: str, ttl_s: int = CACHE_TTL_S) -> None:
        """Cache `value` for `ttl_s` seconds."""
        ...

    async def user_context(self, user_id: str) -> dict[str, Any]:
        """Return the JSON object at `user:{id}:context`, empty when nothing is known; see `backend.users.profile`."""
        ...

    async def update_user_context(
        self, user_id: str, change: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        """Apply `change` to the context atomically and return the result; `change` may run more than once."""
        ...

    def watch_user(self, user_id: str, listener: ContextListener) -> Unwatch:
        """Call `listener` with every change of the user's context, its deletion included."""
        ...

    async def everything_of(self, user_id: str) -> dict[str, Any]:
        """Return everything stored for a user, by key, with JSON decoded."""
        ...

    async def forget_user(self, user_id: str) -> None:
        """Delete everything stored for a user: context, conversations, cache, sessions and fingerprints."""
        ...

    async def link_fingerprint(self, fingerprint: str, user_id: str) -> None:
        """Store that the browser `fingerprint` was last seen as `user_id`: a hint, never a proof."""
        ...

    async def user_of_fingerprint(self, fingerprint: str) -> str | None:
        """Return the user that browser was last seen as, or None."""
        ...

    async def ping(self) -> bool:
        """Return whether memory answers; never raises."""
        ...

    async def close(self) -> None:
        """Close the connections, and end an embedded server."""
        ...


class ContextListeners:
    """The listeners of this process to users' contexts. They are called after a write, from its task."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[ContextListener]] = {}

    def __repr__(self) -> str:
        return f"ContextListeners({sum(map(len, self._listeners.values()))})"

    @property
    def users(self) -> frozenset[str]:
        """The users somebody listens to."""
        return frozenset(self._listeners)

    def add(self, user_id: str, listener: ContextListener) -> Unwatch:
        """Call `listener` with every change from now on, until the returned function is called."""
        self._listeners.setdefault(user_id, []).append(listener)

        def remove() -> None:
            listeners = self._listeners.get(user_id, [])
            if listener in listeners:
                listeners.remove(listener)
            if not listeners:
                self._listeners.pop(user_id, None)

        return remove

    def call(self, user_id: str, context: dict[str, Any]) -> None:
        """Call the user's listeners with the context as it is now; one that raises is counted and logged."""
        for listener in tuple(self._listeners.get(user_id, ())):
            call_listener("user context", listener, context)


MemoryJob = Callable[[Memory], Awaitable[Any]]
"""A job of the outbox: `lambda memory: memory.append_messages(...)`."""

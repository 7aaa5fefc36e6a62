"""What outlives a call, and how it is asked for.

Keys, TTLs and limits are said here once; `redis` keeps them in Redis (a server of the operator's, an
embedded one, or in-process), `fake` in a dict for tests. Every method may raise `MemoryUnavailable`, after a
second at most: callers go on without. Nothing here is ever awaited on the audio path; see `outbox`.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from backend.runtime.faults import call_listener

HISTORY_TTL_S = 3600
"""A conversation is forgotten an hour after its last word."""
HISTORY_LIMIT = 200
"""Messages kept of one conversation; older ones fall off."""
SUMMARY_TTL_S = 86_400
"""How long the record of an ended session is kept."""
CACHE_TTL_S = 120
"""Default life of a cached Thinker result."""


ContextListener = Callable[[dict[str, Any]], None]
"""Told what is now known of a user; returns at once."""
Unwatch = Callable[[], None]
"""Ends a listener's watch. May be called twice."""


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A tool call of an assistant's message; `arguments` is the model's JSON."""

    id: str
    name: str
    arguments: str


def new_message_id() -> str:
    """A random id of 64 bits, for a message that came without one."""
    return f"msg_{secrets.token_hex(8)}"


@dataclass(frozen=True, slots=True)
class Message:
    """One thing said in a conversation, or a tool's result, which follows the message that called it."""

    role: Literal["user", "assistant", "tool"]
    content: str
    at: float
    """Unix time in seconds."""
    source_mode: Literal["voice", "chat"] = "voice"
    message_id: str = field(default_factory=new_message_id)
    tool_call_id: str | None = None
    """Of a tool's result: the call it answers."""
    tool_calls: tuple[StoredCall, ...] = ()
    citations: tuple[str, ...] = ()

    @property
    def said(self) -> bool:
        """Whether it is words of the user or the assistant, and not a tool call or its result."""
        return self.role != "tool" and bool(self.content.strip())


def without_retried(messages: Sequence[Message]) -> list[Message]:
    """`messages` without what came of a question that was later sent again, under the same id."""
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
class ConversationNote:
    """A conversation, as its owner's list shows it."""

    id: str
    messages: int
    updated_at: float
    """Unix time of its last word, in whole seconds."""


class Memory(Protocol):
    """Scoped, expiring, deletable. User ids and session ids are opaque; texts are never logged."""

    async def append_messages(self, user_id: str, conversation_id: str, *messages: Message) -> None:
        """Add to `user:{id}:conversation:{id}`, together (a list, newest last, bounded, TTL renewed).

        When this failed, it may be repeated: what was taken all the same is not added again.
        """
        ...

    async def amend_messages(
        self, user_id: str, conversation_id: str, message_ids: Sequence[str], content: str
    ) -> None:
        """Have the last of these messages say `content`, and the others be gone; those that are not there stay so."""
        ...

    async def recent_messages(self, user_id: str, conversation_id: str, limit: int = 20) -> list[Message]:
        """The newest `limit` messages, oldest first; none of a conversation that is not the user's."""
        ...

    async def conversations(self, user_id: str) -> list[ConversationNote]:
        """The user's own, the latest first."""
        ...

    async def latest_messages(
        self, user_id: str, *, conversations: int, messages: int, besides: str = ""
    ) -> list[list[Message]]:
        """The newest `messages` of the user's latest `conversations`, each oldest first; the latest one comes first.

        The conversation `besides` is left out, and does not count.
        """
        ...

    async def forget_conversation(self, user_id: str, conversation_id: str) -> None:
        """Delete it; does nothing when the user has no such conversation."""
        ...

    async def put_summary(self, session_id: str, summary: dict[str, Any]) -> None:
        """Keep the record of an ended session at `session:{id}:summary`."""
        ...

    async def get_summary(self, session_id: str) -> dict[str, Any] | None:
        """That record, or None."""
        ...

    async def forget_session(self, session_id: str) -> None:
        """Delete everything under `session:{id}:`."""
        ...

    async def own_session(self, session_id: str, user_id: str) -> None:
        """Note whose session that is, so that it is shown with the user's data and forgotten with the user."""
        ...

    async def cache_get(self, scope: str, key: str) -> str | None:
        """A cached value of `scope` (`shared`, or a user's id: one user's entries are never another's)."""
        ...

    async def cache_put(self, scope: str, key: str, value: str, ttl_s: int = CACHE_TTL_S) -> None:
        """Keep `value` for `ttl_s` seconds."""
        ...

    async def user_context(self, user_id: str) -> dict[str, Any]:
        """`user:{id}:context`; empty when nothing is known. Kept for good, or for so long after its last change."""
        ...

    async def update_user_context(
        self, user_id: str, change: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        """Read, change, write, atomically: `change` may run again when somebody else wrote in between."""
        ...

    def watch_user(self, user_id: str, listener: ContextListener) -> Unwatch:
        """Tell `listener` of every change this process makes to the user's context, forgetting included."""
        ...

    async def everything_of(self, user_id: str) -> dict[str, Any]:
        """All that is kept of a user, by key: values as they are, JSON decoded, lists as lists."""
        ...

    async def forget_user(self, user_id: str) -> None:
        """Delete everything under `user:{id}:`, the user's cache scope, sessions and fingerprints."""
        ...

    async def link_fingerprint(self, fingerprint: str, user_id: str) -> None:
        """Note that browser `fingerprint` was last seen as `user_id` (a hint, never a proof)."""
        ...

    async def user_of_fingerprint(self, fingerprint: str) -> str | None:
        """Whom that browser was last seen as."""
        ...

    async def ping(self) -> bool:
        """Whether memory answers; never raises."""
        ...

    async def close(self) -> None:
        """Give connections back, and end an embedded server."""
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
"""A piece of work for the outbox: `lambda memory: memory.append_messages(...)`."""

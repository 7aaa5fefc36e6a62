"""Memory in a dict: for tests, with a clock to be passed and an outage to be switched on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from backend.errors import MemoryUnavailable
from backend.storage import keys
from backend.storage.memory import (
    CACHE_TTL_S,
    HISTORY_LIMIT,
    HISTORY_TTL_S,
    SUMMARY_TTL_S,
    ContextListener,
    ContextListeners,
    ConversationInfo,
    Message,
    Unwatch,
)


@dataclass(slots=True)
class _Kept:
    value: Any
    until: float | None


class FakeMemory:
    """`Memory` without a server. While `down`, every method raises `MemoryUnavailable`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, user_ttl_s: int | None = None) -> None:
        self.down = False
        self._user_ttl_s = user_ttl_s
        self._listeners = ContextListeners()
        self.closed = False
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._owned: dict[str, set[str]] = {}

    def __repr__(self) -> str:
        return f"FakeMemory({len(self._kept)} keys{', down' if self.down else ''})"

    async def append_messages(self, user_id: str, conversation_id: str, *messages: Message) -> None:
        key = keys.conversation(user_id, conversation_id)
        whole = [*(self._get(key) or []), *messages]
        self._put(key, whole[-HISTORY_LIMIT:], HISTORY_TTL_S)
        self._owned.setdefault(user_id, set()).add(key)

    async def amend_messages(
        self, user_id: str, conversation_id: str, message_ids: Sequence[str], content: str
    ) -> None:
        key = keys.conversation(user_id, conversation_id)
        if kept := self._get(key):
            self._kept[key].value = keys.amended(kept, message_ids, content)

    async def recent_messages(self, user_id: str, conversation_id: str, limit: int = 20) -> list[Message]:
        messages: list[Message] = self._get(keys.conversation(user_id, conversation_id)) or []
        return messages[-limit:] if limit > 0 else []

    async def conversations(self, user_id: str) -> list[ConversationInfo]:
        self._answer()
        notes = []
        for key in self._owned.get(user_id, ()):
            name = keys.conversation_of(user_id, key)
            if name is not None and (messages := self._get(key)):
                notes.append(ConversationInfo(name, len(messages), (self._kept[key].until or 0) - HISTORY_TTL_S))
        return sorted(notes, key=lambda note: -note.updated_at)

    async def latest_messages(
        self, user_id: str, *, conversations: int, messages: int, besides: str = ""
    ) -> list[list[Message]]:
        names = [note.id for note in await self.conversations(user_id) if note.id != besides]
        found = [await self.recent_messages(user_id, name, messages) for name in names[: max(0, conversations)]]
        return [one for one in found if one]

    async def forget_conversation(self, user_id: str, conversation_id: str) -> None:
        self._drop(keys.conversation(user_id, conversation_id))

    async def put_summary(self, session_id: str, summary: dict[str, Any]) -> None:
        self._put(keys.summary(session_id), keys.encode(summary), SUMMARY_TTL_S)

    async def get_summary(self, session_id: str) -> dict[str, Any] | None:
        return self._object(keys.summary(session_id))

    async def forget_session(self, session_id: str) -> None:
        self._drop(*keys.of_session(session_id))

    async def own_session(self, session_id: str, user_id: str) -> None:
        self._answer()
        self._owned.setdefault(user_id, set()).update(keys.of_session(session_id))

    async def cache_get(self, scope: str, key: str) -> str | None:
        value: str | None = self._get(keys.cached(scope, key))
        return value

    async def cache_put(self, scope: str, key: str, value: str, ttl_s: int = CACHE_TTL_S) -> None:
        self._put(keys.cached(scope, key), value, ttl_s)
        if scope != keys.SHARED:
            self._owned.setdefault(scope, set()).add(keys.cached(scope, key))

    async def user_context(self, user_id: str) -> dict[str, Any]:
        return self._object(keys.context(user_id)) or {}

    async def update_user_context(
        self, user_id: str, change: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        changed = change(await self.user_context(user_id))
        self._put(keys.context(user_id), keys.encode(changed), self._user_ttl_s)
        self._listeners.call(user_id, changed)
        return changed

    def watch_user(self, user_id: str, listener: ContextListener) -> Unwatch:
        return self._listeners.add(user_id, listener)

    async def everything_of(self, user_id: str) -> dict[str, Any]:
        names = (keys.context(user_id), *sorted(self._owned.get(user_id, ())))
        return {name: _readable(value) for name in names if (value := self._get(name))}

    async def forget_user(self, user_id: str) -> None:
        self._drop(keys.context(user_id), *self._owned.pop(user_id, ()))
        self._listeners.call(user_id, {})

    async def link_fingerprint(self, fingerprint: str, user_id: str) -> None:
        self._put(keys.fingerprint(fingerprint), user_id, keys.FINGERPRINT_TTL_S)
        self._owned.setdefault(user_id, set()).add(keys.fingerprint(fingerprint))

    async def user_of_fingerprint(self, fingerprint: str) -> str | None:
        value: str | None = self._get(keys.fingerprint(fingerprint))
        return value

    async def ping(self) -> bool:
        return not self.down

    async def close(self) -> None:
        self.closed = True

    def _object(self, key: str) -> dict[str, Any] | None:
        raw = self._get(key)
        return None if raw is None else keys.decode_object(raw)

    def _get(self, key: str) -> Any:
        self._answer()
        kept = self._kept.get(key)
        if kept is None or (kept.until is not None and kept.until <= self._clock()):
            self._kept.pop(key, None)
            return None
        return kept.value

    def _put(self, key: str, value: Any, ttl_s: int | None) -> None:
        self._answer()
        self._kept[key] = _Kept(value, None if ttl_s is None else self._clock() + ttl_s)

    def _drop(self, *names: str) -> None:
        self._answer()
        for name in names:
            self._kept.pop(name, None)

    def _answer(self) -> None:
        if self.down:
            raise MemoryUnavailable("Memory is down, as the test asked.")


def _readable(value: Any) -> Any:
    """As Redis would show it: everything there is bytes, or a list of them."""
    if isinstance(value, list):
        return [keys.readable(keys.encode(item)) for item in value]
    return keys.readable(value.encode() if isinstance(value, str) else value)

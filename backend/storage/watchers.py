"""Who in this process wants to know when what is known of a user changes: live calls of that user."""

from __future__ import annotations

import logging
from typing import Any

from backend.storage.memory import ContextListener, Unwatch

log = logging.getLogger(__name__)


class Watchers:
    """Listeners by user. They are told after the write, from its task, and are expected to return at once."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[ContextListener]] = {}

    def __repr__(self) -> str:
        return f"Watchers({sum(map(len, self._listeners.values()))} listeners)"

    @property
    def users(self) -> frozenset[str]:
        """Those somebody listens for."""
        return frozenset(self._listeners)

    def add(self, user_id: str, listener: ContextListener) -> Unwatch:
        """Tell `listener` of every change from now on, until the returned function is called."""
        self._listeners.setdefault(user_id, []).append(listener)

        def remove() -> None:
            listeners = self._listeners.get(user_id, [])
            if listener in listeners:
                listeners.remove(listener)
            if not listeners:
                self._listeners.pop(user_id, None)

        return remove

    def tell(self, user_id: str, context: dict[str, Any]) -> None:
        """The user's context is now this. A listener's fault is its own, and is logged without anybody's words."""
        for listener in tuple(self._listeners.get(user_id, ())):
            try:
                listener(context)
            except Exception as error:  # noqa: BLE001 - the write is done, and other listeners wait
                log.error("a listener to a user's context failed: %s", type(error).__name__)

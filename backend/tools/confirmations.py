"""Whether the user has agreed to what a tool is about to do.

The first call of a tool that needs consent is not made: it is noted, and the model is told to ask. The same call
with the same arguments, made in a *later* turn of the same user in the same conversation, is the user's yes; a
model cannot answer its own question within the turn in which it asked.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from backend.tools.base import Principal

SOONEST_S = 2.0
"""Seconds a person needs at least to hear the question and agree: two calls of one reply are no consent."""
ASKED_FOR_S = 300.0
"""Seconds a question stays open."""
ASKED_LIMIT = 1_000
"""Open questions kept at most; the oldest is forgotten, and would be asked again."""

Key = tuple[str, str, str, str]


class Confirmations:
    """Open questions, bounded and short-lived."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked: OrderedDict[Key, tuple[str, float]] = OrderedDict()

    def __repr__(self) -> str:
        return f"Confirmations({len(self._asked)} open)"

    def given(self, principal: Principal, tool: str, values: dict[str, Any]) -> bool:
        """Whether this very call was asked about in an earlier turn; notes the question if not."""
        arguments = json.dumps(values, sort_keys=True, default=str)
        key = (principal.user_id, principal.conversation_id, tool, arguments)
        now = self._clock()
        turn, asked_at = self._asked.get(key, ("", -ASKED_FOR_S))
        if SOONEST_S <= now - asked_at < ASKED_FOR_S and turn != principal.turn:
            del self._asked[key]
            return True
        self._asked[key] = (principal.turn, now)
        self._asked.move_to_end(key)
        if len(self._asked) > ASKED_LIMIT:
            self._asked.popitem(last=False)
        return False

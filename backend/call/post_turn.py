"""A call's turns, one by one, told to the post-steps once each is over. Nothing here is ever waited for.

    words of the caller's ──▶ what they heard, Thinkers that worked ──▶ over

A turn is over when the caller takes the next one, when it has been quiet for a while with no Thinker at work, or when
the call ends. What a post-step makes of the answer cannot be spoken any more: it takes its place in what is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from backend.conversation.page_events import ThinkerChanged
from backend.middleware.base import Asked, WholeTurn
from backend.middleware.pipeline import Pipeline
from backend.storage.memory import Memory
from backend.storage.outbox import Enqueue
from backend.users.modes import Mode

QUIET_S = 5.0
"""Seconds after the last word in which a turn may go on."""
WORKING = frozenset({"routed", "working"})


@dataclass
class _Turn:
    """One turn so far."""

    asked: str = ""
    heard: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    """The ids under which what was heard is kept."""
    thinkers: dict[str, str] = field(default_factory=dict)
    """Tool call → domain."""
    working: set[str] = field(default_factory=set)


class TurnsOver:
    """One call's part. Call `close` when the call is over."""

    def __init__(
        self,
        pipeline: Pipeline,
        user_id: str,
        conversation_id: str,
        *,
        mode: Callable[[], Mode],
        keep: Enqueue,
        quiet_s: float = QUIET_S,
    ) -> None:
        self._pipeline = pipeline
        self._user_id = user_id
        self._conversation_id = conversation_id
        self._mode = mode
        self._keep = keep
        self._quiet_s = quiet_s
        self._turn = _Turn()
        self._timer: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        turn = self._turn
        return f"TurnsOver({len(turn.heard)} heard, {len(turn.working)} Thinkers at work)"

    def heard(self, role: str, text: str, message_id: str) -> None:
        """Something was really said and heard, and is kept under this id."""
        if role == "user":
            if self._turn.heard:
                self._over()
            self._turn.asked = f"{self._turn.asked} {text}".strip()
        elif self._turn.asked:  # a greeting, a nudge or a notice answers nobody
            self._turn.heard.append(text)
            self._turn.messages.append(message_id)
        self._wait()

    def thinker_changed(self, event: ThinkerChanged) -> None:
        """Note which Thinkers work for the turn; it is not over before they are."""
        turn = self._turn
        if event.stage in WORKING and event.work and turn.asked:
            turn.thinkers[event.call_id] = event.work.domain
            turn.working.add(event.call_id)
        else:
            turn.working.discard(event.call_id)
        self._wait()

    def close(self, reason: str) -> None:
        """The call is over. A session that was deleted is not told of. Returns at once."""
        if reason == "deleted":
            self._turn = _Turn()
        self._over()

    def _wait(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._turn.heard and not self._turn.working:
            self._timer = asyncio.get_running_loop().call_later(self._quiet_s, self._over)

    def _over(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        turn, self._turn = self._turn, _Turn()
        if not turn.asked or not turn.heard:
            return
        mode = self._mode()
        asked = Asked(turn.asked, self._user_id, self._conversation_id, source_mode="voice", mode=mode.name)
        whole = WholeTurn(
            asked,
            " ".join(turn.heard),
            message_id=turn.messages[-1],
            thinkers=tuple(dict.fromkeys(turn.thinkers.values())),
        )

        async def amend(amended: WholeTurn) -> None:
            self._amend(tuple(turn.messages), amended.answer)

        self._pipeline.later(whole, names=mode.steps, on_amended=amend)

    def _amend(self, messages: tuple[str, ...], text: str) -> None:
        async def amend(memory: Memory) -> None:
            await memory.amend_messages(self._user_id, self._conversation_id, messages, text)

        self._keep(amend)

"""The hook that gives each turn of a call to the middleware's post-steps once the turn is over; nothing is waited for.

    words of the caller ──▶ words they heard, Thinkers that worked ──▶ over

A turn is over when the caller takes the next one, when it has been quiet for a while with no Thinker at work, or when
the call ends. A post-step that changes the answer is too late for the caller: only later steps see the change.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from backend.middleware.base import Asked, WholeTurn
from backend.middleware.pipeline import Pipeline
from backend.page_events import Role, ThinkerChanged
from backend.runtime.timer import Alarm
from backend.users.modes import Mode

QUIET_S = 5.0
"""Seconds of quiet after which a turn is over."""


@dataclass
class _CompletedTurn:
    asked: str = ""
    heard: list[str] = field(default_factory=list)
    message_id: str = ""
    """The id of the message with the words that were heard last."""
    thinkers: dict[str, str] = field(default_factory=dict)
    """The domain of each tool call."""
    working: set[str] = field(default_factory=set)


class PostTurnHook:
    """Follows the turns of one call and runs the post-steps of each; call `close` when the call is over."""

    def __init__(
        self,
        pipeline: Pipeline,
        user_id: str,
        conversation_id: str,
        *,
        mode: Callable[[], Mode],
        quiet_s: float = QUIET_S,
    ) -> None:
        self._pipeline = pipeline
        self._user_id = user_id
        self._conversation_id = conversation_id
        self._mode = mode
        self._quiet_s = quiet_s
        self._turn = _CompletedTurn()
        self._alarm = Alarm(self._end_turn)

    def on_message(self, role: Role, text: str, message_id: str) -> None:
        """Note a message that was really said or heard, with its id."""
        if role == "user":
            if self._turn.heard:
                self._end_turn()
            self._turn.asked = f"{self._turn.asked} {text}".strip()
        elif self._turn.asked:  # a greeting, a nudge or a notice is no answer
            self._turn.heard.append(text)
            self._turn.message_id = message_id
        self._restart_timer()

    def on_thinker(self, event: ThinkerChanged) -> None:
        """Note which Thinkers work for the turn, which is not over before they have finished."""
        turn = self._turn
        if event.stage == "routed" and event.work and turn.asked:
            turn.thinkers[event.call_id] = event.work.domain  # it works for words of the caller, not for a notice
            turn.working.add(event.call_id)
        else:
            turn.working.discard(event.call_id)
        self._restart_timer()

    def close(self, reason: str) -> None:
        """End the last turn without waiting; if the session was deleted, drop the turn."""
        if reason == "deleted":
            self._turn = _CompletedTurn()
        self._end_turn()

    def _restart_timer(self) -> None:
        if not self._turn.heard:
            return  # it is not set
        self._alarm.stop()
        if not self._turn.working:
            self._alarm.set(asyncio.get_running_loop().time() + self._quiet_s)

    def _end_turn(self) -> None:
        self._alarm.stop()
        turn, self._turn = self._turn, _CompletedTurn()
        if not turn.asked or not turn.heard:
            return
        mode = self._mode()
        whole = WholeTurn(
            Asked(turn.asked, self._user_id, self._conversation_id, source_mode="voice", mode=mode.name),
            " ".join(turn.heard),
            message_id=turn.message_id,
            thinkers=tuple(dict.fromkeys(turn.thinkers.values())),
        )
        self._pipeline.later(whole, names=mode.steps)

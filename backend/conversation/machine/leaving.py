"""The end of a call: one last thing is said, and then we hang up, whether it was heard or not."""

from __future__ import annotations

from backend.conversation.commands import Clip, Purpose
from backend.conversation.machine.moves import close, play_clip, stop_reply
from backend.conversation.machine.state import IDLE, Deadlines, Floor, State


def on_hang_up_requested(s: State, reason: str, now: float) -> None:
    """Somebody wants the call to end: at once when its owner has it deleted, else with a word."""
    if reason == "deleted":
        close(s, reason)
    elif s.leaving is None or s.leaving == IDLE:
        leave(s, reason, Clip.GOODBYE, now)


def leave(s: State, reason: str, clip: Clip, now: float) -> None:
    """Say one last thing of our own, then hang up."""
    stop_reply(s, now)
    s.leaving = reason
    s.leave_by = now + s.limits.goodbye_within_s / 2
    s.give_floor(Floor.LISTENING)
    play_clip(s, clip)


def leave_idle(s: State, now: float) -> None:
    """Nobody has said anything for long: have the Responder say goodbye, and hang up unless that wakes them."""
    s.leaving = IDLE
    s.leave_by = now + s.limits.goodbye_within_s
    s.want(Purpose.GOODBYE)


def deadlines(s: State) -> Deadlines:
    """How long the goodbye may take."""
    if s.leaving:
        yield s.leave_by, _leave_now


def _leave_now(s: State, now: float) -> None:
    close(s, s.leaving or IDLE)

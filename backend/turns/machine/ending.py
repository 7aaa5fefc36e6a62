"""A call ends with a last sentence of ours: at once, or at a limit after what is being said has been heard."""

from __future__ import annotations

from backend.turns.commands import Clip
from backend.turns.machine.moves import close, play_clip, stop_reply
from backend.turns.machine.state import IDLE, Deadlines, Floor, State

LIMITS = {"max_minutes": Clip.LIMIT, "call_budget": Clip.LIMIT, "budget": Clip.BUDGET}
"""Reasons for a call's end that are limits, with the sentence that tells its caller."""


def on_hang_up_requested(s: State, reason: str, now: float) -> None:
    """End the call: at once when its owner deletes it, or has left its page to sign in, otherwise with a sentence.

    At a limit, a reply that is on its way or being spoken is heard to its end first.
    """
    if reason in ("deleted", "signed_in"):
        close(s, reason)
    elif s.leaving is not None and s.leaving != IDLE and s.last_word is None:
        return
    elif reason not in LIMITS:
        leave(s, reason, Clip.GOODBYE, now)
    elif s.last_word is None:
        s.wanted.clear()
        s.leaving, s.last_word = reason, LIMITS[reason]
        s.leave_by = now + s.limits.last_reply_within_s
        if not _is_answering(s):
            leave(s, reason, LIMITS[reason], now)


def leave(s: State, reason: str, clip: Clip, now: float) -> None:
    """Play one last recording, then hang up."""
    stop_reply(s, now)
    s.leaving, s.last_word = reason, None
    s.leave_by = now + s.limits.goodbye_within_s / 2
    s.pass_floor(Floor.LISTENING)
    play_clip(s, clip)


def deadlines(s: State) -> Deadlines:
    """Yield when the last sentence is due, or the goodbye has taken long enough."""
    if s.leaving and s.last_word:
        yield s.leave_by if _is_answering(s) else 0.0, _say_last_word
    elif s.leaving:
        yield s.leave_by, lambda s, _: close(s, s.leaving or IDLE)


def _say_last_word(s: State, now: float) -> None:
    leave(s, s.leaving or IDLE, s.last_word or Clip.GOODBYE, now)


def _is_answering(s: State) -> bool:
    """Return whether a reply is on its way, is kept back for a caller who may go on, or sounds."""
    if s.floor is Floor.USER:
        return False
    on_its_way = s.reply is not None and s.reply.wanted
    return s.playing or on_its_way or bool(s.open and s.open.deferred)

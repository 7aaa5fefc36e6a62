"""The rules for a call's end: a last sentence is played immediately, or at a limit after the present reply."""

from backend.turns import events as ev
from backend.turns.commands import Clip
from backend.turns.limits import GOODBYE_WITHIN_S
from backend.turns.machine.actions import close, play_clip, stop_reply
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.state import IDLE, Deadlines, State

LIMITS = {"max_minutes": Clip.LIMIT, "budget": Clip.BUDGET}
"""The limits for which a call ends, each with the sentence that the caller hears."""


def on_transport_closed(s: State, event: ev.TransportClosed, now: float) -> None:
    """End the call: the caller is gone."""
    close(s, event.reason)


def on_hang_up_requested(s: State, event: ev.HangUpRequested, now: float) -> None:
    """End the call: immediately when its owner deletes it, or has left its page to sign in, otherwise with a sentence.

    At a limit, a reply that is on its way or being spoken is heard to its end first.
    """
    reason = event.reason
    if reason in ("deleted", "signed_in"):
        close(s, reason)
    elif s.farewell.reason is not None and s.farewell.reason != IDLE and s.farewell.last_word is None:
        return  # the goodbye plays already
    elif reason not in LIMITS:
        leave(s, reason, Clip.GOODBYE, now)
    elif s.farewell.last_word is None:
        s.replies.wanted.clear()
        s.farewell.reason, s.farewell.last_word = reason, LIMITS[reason]
        s.farewell.by = now + s.limits.last_reply_within_s
        if not _is_answering(s):
            leave(s, reason, LIMITS[reason], now)


def leave(s: State, reason: str, clip: Clip, now: float) -> None:
    """Play one last recording, then hang up."""
    stop_reply(s, now)
    s.farewell.reason, s.farewell.last_word = reason, None
    s.farewell.by = now + GOODBYE_WITHIN_S / 2
    s.pass_floor(Floor.LISTENING)
    play_clip(s, clip)


def deadlines(s: State) -> Deadlines:
    """Yield when the last sentence is due, or the goodbye has taken long enough."""
    if s.farewell.last_word:
        yield s.farewell.by if _is_answering(s) else 0.0, _say_last_word
    else:
        yield s.farewell.by, lambda s, _: close(s, s.farewell.reason or IDLE)


def _say_last_word(s: State, now: float) -> None:
    leave(s, s.farewell.reason or IDLE, s.farewell.last_word or Clip.GOODBYE, now)


def _is_answering(s: State) -> bool:
    """Return whether a reply is on its way, is prepared for a caller who may go on, or sounds."""
    if s.floor.holder is Floor.USER:
        return False  # what plays is cut already, and what was prepared will be discarded
    on_its_way = s.replies.in_flight is not None and s.replies.in_flight.wanted
    return s.floor.playing or on_its_way or bool(s.pending.open and s.pending.open.prepared.deferred)

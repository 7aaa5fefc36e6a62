"""When what is told unasked may be told: on a free and quiet floor on which nobody owes the caller anything."""

from __future__ import annotations

from backend.conversation import commands as do
from backend.conversation.commands import Purpose
from backend.conversation.machine.state import Floor, Reply, State


def due_at(s: State) -> float | None:
    """When what waits may be told; None while something else goes first, or nothing waits."""
    if not s.notices.waiting or not s.opened or s.floor is not Floor.LISTENING:
        return None
    busy = s.reply or s.playing or s.wanted or s.leaving or s.calls.running(s.turn)
    if busy or s.owed_since is not None or s.lost_at is not None:
        return None
    quiet_since = max(s.last_sound_at, s.last_voice_at)
    return max(quiet_since + s.limits.notice_after_s, s.notices_not_before)


def tell_notices(s: State, now: float) -> None:
    """Tell what waits, if it may be told now."""
    due = due_at(s)
    if due is None or now < due:
        return
    s.requests += 1
    s.reply = Reply(f"{Purpose.NOTICE}-{s.requests}", Purpose.NOTICE, 1, now)
    notes, hint = s.notices.begin(s.reply.request)
    s.out += [*notes, do.CreateReply(Purpose.NOTICE, s.reply.request, hint)]
    s.clock.drop()  # what it sounds like is no part of a turn


def settle_notices(s: State, now: float) -> None:
    """A telling is over once its reply is, and all of it was heard or thrown away."""
    telling, reply = s.notices.telling, s.reply
    if telling is None or s.items.sounding(Purpose.NOTICE):
        return
    if reply and reply.request == telling.request and reply.wanted:
        return
    if telling.heard_ms == 0:
        s.notices_not_before = now + s.limits.notice_retry_s
    s.out += s.notices.settle()

"""What more than one part of the machine does: cut a reply short, go on with it, say a word of our own, hang up."""

from __future__ import annotations

from backend.conversation import commands as do
from backend.conversation import page_events as page
from backend.conversation.commands import Clip, Purpose
from backend.conversation.machine.state import IDLE, Deadlines, Floor, Phase, State
from backend.conversation.spoken import SpokenItem


def stop_reply(s: State, now: float) -> None:
    """End what is being said, and all that was going to be said."""
    s.wanted.clear()
    cancel_reply(s, now)
    s.playing = False
    s.out.append(do.FlushPlayback())


def cancel_reply(s: State, now: float) -> None:
    """Have the provider stop; what it still sends is dropped."""
    reply = s.reply
    if reply and reply.wanted:
        s.out.append(do.CancelReply(reply.id))
        reply.phase = Phase.CANCELLING
        reply.since = now


def release_hold(s: State) -> None:
    """It was a cough: go on exactly where we were."""
    s.out.append(do.ResumePlayback())
    s.give_floor(Floor.ASSISTANT if s.playing else Floor.LISTENING)


def finish_items(s: State) -> list[SpokenItem]:
    """No more will come of the items begun; returns those that were open."""
    finished = s.items.finish_all()
    for spoken in finished:
        s.publish(page.ReplyWorded(spoken.item, spoken.text.strip()))
    return finished


def apologise(s: State, why: str) -> None:
    """The caller gets no answer, and hears so."""
    s.publish(page.ErrorShown(f"The reply failed ({why}).", "Ask again; the call goes on."))
    play_clip(s, Clip.SORRY)


def play_clip(s: State, clip: Clip) -> None:
    """Recorded words of our own, unless the caller has the word."""
    if s.floor not in (Floor.LISTENING, Floor.ASSISTANT):
        return
    s.playing = True
    s.give_floor(Floor.ASSISTANT)
    s.out.append(do.PlayClip(clip))
    s.publish(page.TranscriptCompleted("assistant", f"clip-{clip}-{s.turn}", do.CLIP_WORDS[clip]))


def close(s: State, reason: str) -> None:
    """Hang up: nothing is wanted any more."""
    s.give_floor(Floor.CLOSED)
    s.wanted.clear()
    s.asked_for.clear()
    if s.reply and s.reply.wanted:
        s.out.append(do.CancelReply(s.reply.id))
    s.reply = None
    s.out.extend(do.CancelThinker(call.call) for call in s.calls.running())
    s.out.append(do.FlushPlayback())
    s.out.append(do.HangUp(reason))


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

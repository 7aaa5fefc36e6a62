"""Replies, also those that speak notices: asked for on a free floor, played while they stream, retried on failure."""

from __future__ import annotations

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns import page_events as page
from backend.turns.commands import Purpose
from backend.turns.machine.failures import Failure, broke_off, broke_promise, came_to_nothing, follow_up
from backend.turns.machine.late_answers import note_told
from backend.turns.machine.moves import cancel_reply, finish_items
from backend.turns.machine.open_turn import defer, may_prepare, report_discarded
from backend.turns.machine.playback import heard_out
from backend.turns.machine.state import Deadlines, Floor, Phase, Reply, State, ToolCallState
from backend.turns.machine.thinkers import hand_in_asked_for

ALLOWED = {
    Floor.LISTENING: tuple(Purpose),
    Floor.ASSISTANT: (Purpose.ANSWER, Purpose.RESULT),
    Floor.PAUSING: (Purpose.ANSWER,),
}
"""The purposes that may be asked for by floor, most urgent first. Speech of ours may queue behind speech of ours, and
an answer is prepared while the caller may still go on."""
ACTIVE_REPLY = "conversation_already_has_active_response"
"""The provider's code for a second reply at once."""
MAX_REFUSALS = 20
"""Refusals in a row after which a reply has come to nothing."""


def next_wanted(s: State) -> Purpose | None:
    """Return the most urgent purpose that may be asked for now, pauses between retries aside."""
    if not s.wanted or s.reply is not None or s.lost_at is not None:
        return None
    allowed = ALLOWED.get(s.floor, ())
    if s.floor is Floor.PAUSING and not may_prepare(s):
        return None
    if s.leaving:
        allowed = (Purpose.GOODBYE,) if s.floor is Floor.LISTENING else ()
    return next((purpose for purpose in allowed if purpose in s.wanted), None)


def ask_next(s: State, now: float) -> None:
    """Ask for the most urgent reply that is wanted, if one may be asked for; otherwise notices may have their turn."""
    if s.asked_for and s.leaving is None:
        s.wanted.setdefault(Purpose.RESULT, 1)
    purpose = next_wanted(s)
    if purpose is None:
        begin_notices(s, now)
        return
    if now < s.not_before:
        return
    attempt = s.wanted.pop(purpose)
    for lesser in (Purpose.FILLER, Purpose.NUDGE):
        s.wanted.pop(lesser, None)
    if purpose in (Purpose.ANSWER, Purpose.RESULT):
        s.wanted.pop(Purpose.RESULT, None)
        s.calls.move_answered(ToolCallState.SETTLED)
    if purpose is Purpose.ANSWER:
        s.calls.supersede(s.turn)
    if purpose is Purpose.RESULT:
        hand_in_asked_for(s)
    s.requests += 1
    s.reply = Reply(f"{purpose}-{s.requests}", purpose, attempt, now)
    if purpose in (Purpose.ANSWER, Purpose.RESULT):
        s.reply.interruptible, s.uninterruptible = not s.uninterruptible, False
    hint = ""
    if purpose in (Purpose.ANSWER, Purpose.RESULT):
        hint, s.reply_hint = s.reply_hint, ""
    s.commands.append(do.CreateReply(purpose, s.reply.request, hint))
    s.clock.reach("commit_ms", now)


def on_started(s: State, event: ev.ReplyStarted, now: float) -> None:
    """Accept the reply that the provider has begun, unless it is not the one we asked for."""
    if event.unasked and _may_speak_unasked(s):
        s.requests += 1
        s.wanted.pop(Purpose.ANSWER, None)
        s.reply = Reply(f"unasked-{s.requests}", Purpose.ANSWER, 1, now)
    reply = s.reply
    if reply is None or reply.id is not None or event.request not in (None, reply.request):
        s.commands.append(do.CancelReply(event.reply))
        return
    reply.id = event.reply
    if reply.phase is Phase.CANCELLING:
        s.commands.append(do.CancelReply(event.reply))
        return
    reply.phase = Phase.STREAMING
    s.refusals = 0
    s.clock.reach("reply_started_ms", now)


def _may_speak_unasked(s: State) -> bool:
    """Return whether a model that begins to speak by itself is let: nobody has the floor, and nothing was asked for."""
    free = s.floor in (Floor.LISTENING, Floor.ASSISTANT) and s.utterance is None
    return free and s.reply is None and s.leaving is None and s.lost_at is None


def on_audio(s: State, event: ev.ReplyAudio, now: float) -> None:
    """Play sound of the reply in flight; drop that of any other, and keep back that of one that is prepared."""
    if s.floor is Floor.PAUSING and defer(s, event, now):
        return
    reply = s.streaming(event.reply)
    if reply is None or not event.pcm:
        return
    if not reply.sounded:
        reply.sounded, reply.first_item = True, event.item
        s.waits_said = s.unanswered = 0
        s.parked = None
        s.reading_out = not reply.interruptible
        s.commands += s.notices.sounded(reply.request)
        s.clock.reach("first_audio_ms", now)
        s.clock.reach("patience_ms", now)
    reply.since = now
    s.items.get(event.item, reply.purpose).audio_bytes += len(event.pcm)
    s.playing = True
    if s.floor is Floor.LISTENING:
        s.pass_floor(Floor.ASSISTANT)
    s.commands.append(do.Play(event.item, event.pcm))


def on_text(s: State, event: ev.ReplyText, now: float) -> None:
    """Show words of the reply in flight; drop those of any other."""
    if defer(s, event, now):
        return
    reply = s.streaming(event.reply)
    if reply is None:
        return
    s.clock.token(now)
    reply.messages[event.item] = reply.messages.get(event.item, "") + event.delta
    s.items.get(event.item, reply.purpose).add_text(event.delta, event.word_starts_ms)
    s.publish(page.TranscriptDelta("assistant", event.item, event.delta))


def on_message_finished(s: State, event: ev.MessageFinished, now: float) -> None:
    """Note that all of a message was sent, so that it counts as whole though its reply goes on."""
    if not defer(s, event, now) and s.streaming(event.reply):
        finish_items(s, event.item)


def on_finished(s: State, event: ev.ReplyFinished, now: float) -> None:
    """Note that the provider has sent all of a reply; one that came to nothing is retried."""
    if defer(s, event, now):
        return
    reply = s.reply
    if reply is None or reply.id != event.reply:
        return
    s.reply = None
    if reply.phase is Phase.CANCELLING:
        if reply.discarded:
            report_discarded(s, event)
        return
    finish_items(s)
    if event.status == "completed":
        s.notices.completed(reply.request)
    failure = Failure(event.status, event.detail or event.status, event.retry_after_s)
    if not reply.sounded and not reply.called:
        came_to_nothing(s, reply, failure, now)
        return
    s.waits = s.unanswered = 0
    if event.status in ("failed", "incomplete"):
        broke_off(s, reply, failure, now)
    elif event.status == "completed" and broke_promise(s, reply):
        follow_up(s, reply, now)
    elif reply.purpose in (Purpose.ANSWER, Purpose.RESULT) and not reply.called:
        s.report(s.clock.answered_by(reply.first_item))
    if not s.playing:
        heard_out(s, now)


def on_refused(s: State, event: ev.ReplyRefused, now: float) -> None:
    """Retry a reply that the provider refused to begin, a limited number of times."""
    reply = s.reply
    if reply is None or reply.request != event.request or reply.id is not None:
        return
    s.reply = None
    if reply.phase is Phase.CANCELLING:
        return
    s.refusals += 1
    if s.refusals > MAX_REFUSALS or event.code != ACTIVE_REPLY:
        came_to_nothing(s, reply, Failure("refused", event.code, event.retry_after_s), now)
        return
    s.commands.append(do.CancelReply(None))
    s.not_before = now + s.limits.retry_after_s
    want_again(s, reply)


def want_again(s: State, reply: Reply) -> None:
    """Want a reply once more; notices come back by themselves."""
    if reply.purpose is not Purpose.NOTICE:
        s.want(reply.purpose, reply.attempt)


def deadlines(s: State) -> Deadlines:
    """Yield when the provider has taken too long over the reply in flight."""
    reply, limits = s.reply, s.limits
    if reply is None:
        return
    if reply.phase is Phase.CANCELLING:
        yield reply.since + limits.cancel_within_s, _stop_waiting
    elif not reply.sounded and not reply.called:
        yield reply.since + limits.first_audio_within_s, _overdue
    elif not s.playing:
        yield reply.since + limits.stall_after_s, _stalled


def _stop_waiting(s: State, now: float) -> None:
    s.reply = None


def _overdue(s: State, now: float) -> None:
    reply = s.reply
    if reply:
        s.unanswered += 1
        cancel_reply(s, now)
        s.reply = None
        came_to_nothing(s, reply, Failure("overdue", "the Responder did not answer in time"), now)


def _stalled(s: State, now: float) -> None:
    reply = s.reply
    s.unanswered += 1
    cancel_reply(s, now)
    finish_items(s)
    if reply:
        broke_off(s, reply, Failure("stalled", "the Responder stopped in mid-reply"), now)
    heard_out(s, now)


def notices_due_at(s: State) -> float | None:
    """Return when notices may be spoken; None while something else comes first, or none wait."""
    if not s.notices.waiting or not s.opened or s.floor is not Floor.LISTENING or s.utterance:
        return None
    busy = s.reply or s.playing or s.wanted or s.leaving or s.calls.running(s.turn)
    if busy or s.owed_since is not None or s.lost_at is not None:
        return None
    quiet_since = max(s.last_sound_at, s.last_voice_at)
    return max(quiet_since + s.limits.notice_after_s, s.notices_not_before)


def begin_notices(s: State, now: float) -> None:
    """Ask for a reply that speaks the notices that wait, if it may be asked for now."""
    s.notices.drop_expired(now)
    due = notices_due_at(s)
    if due is None or now < due:
        return
    s.requests += 1
    s.reply = Reply(f"{Purpose.NOTICE}-{s.requests}", Purpose.NOTICE, 1, now)
    notes, hint = s.notices.begin(s.reply.request)
    s.reply.interruptible = s.notices.interruptible
    s.commands += [*notes, do.CreateReply(Purpose.NOTICE, s.reply.request, hint)]
    s.clock.drop()  # what it sounds like is no part of a turn


def settle_notices(s: State, now: float) -> None:
    """Settle the notices of a reply once it is over, and all of it was heard or thrown away."""
    spoken, reply = s.notices.reply, s.reply
    if spoken is None or s.items.sounding(Purpose.NOTICE):
        return
    if reply and reply.request == spoken.request and reply.wanted:
        return
    if spoken.heard_ms == 0:
        s.notices_not_before = now + s.limits.notice_retry_s
    s.commands += s.notices.settle()
    note_told(s)

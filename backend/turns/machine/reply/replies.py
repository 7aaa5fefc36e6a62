"""The rules for replies: asked for on a free floor, played while they stream, retried on failure."""

from backend import page_events as page
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose
from backend.turns.limits import CANCEL_WITHIN_S, FIRST_AUDIO_WITHIN_S, NOTICE_RETRY_S, RETRY_AFTER_S, STALL_AFTER_S
from backend.turns.machine.actions import cancel_reply, finish_items
from backend.turns.machine.floor.playback import heard_out
from backend.turns.machine.floor.state import Floor, Playback
from backend.turns.machine.late_answers import note_spoken_answers
from backend.turns.machine.pending_turn.waiting import defer, may_prepare, report_discarded
from backend.turns.machine.reply.failures import Failure, broke_off, broke_promise, came_to_nothing, follow_up
from backend.turns.machine.reply.state import WANTED, Phase, ReplyInFlight
from backend.turns.machine.state import Deadlines, State
from backend.turns.machine.thinkers import hand_in_asked_for
from backend.turns.machine.tool_calls import ToolCallState

ALLOWED = {
    Floor.LISTENING: tuple(Purpose),
    Floor.ASSISTANT: (Purpose.ANSWER, Purpose.RESULT),
    Floor.PAUSING: (Purpose.ANSWER,),
}
"""The purposes that may be asked for, by floor, the most urgent first. A reply may queue behind another, and an answer
is prepared while the caller may still go on."""
ACTIVE_REPLY = "conversation_already_has_active_response"
"""The provider's code for a second reply at the same time."""
MAX_REFUSALS = 20
"""The most refusals in a row; after one more a reply has come to nothing."""


def next_wanted(s: State) -> Purpose | None:
    """Return the most urgent purpose that may be asked for now, apart from pauses between retries."""
    if not s.replies.wanted or s.replies.in_flight is not None or s.line.lost_at is not None:
        return None  # one reply at a time, over a connection
    allowed = ALLOWED.get(s.floor.holder, ())
    if s.floor.holder is Floor.PAUSING and not may_prepare(s):
        return None
    if s.farewell.reason:
        allowed = (Purpose.GOODBYE,) if s.floor.holder is Floor.LISTENING else ()
    return next((purpose for purpose in allowed if purpose in s.replies.wanted), None)


def ask_next(s: State, now: float) -> None:
    """Ask for the most urgent reply that is wanted, if one may be asked for; otherwise for one that speaks notices."""
    if s.calls.asked_for and s.farewell.reason is None:
        s.replies.wanted.setdefault(Purpose.RESULT, 1)
    purpose = next_wanted(s)
    if purpose is None:
        begin_notices(s, now)
        return
    if now < s.replies.not_before:
        return
    attempt = s.replies.wanted.pop(purpose)
    for lesser in (Purpose.FILLER, Purpose.NUDGE):
        s.replies.wanted.pop(lesser, None)
    if purpose in (Purpose.ANSWER, Purpose.RESULT):
        s.replies.wanted.pop(Purpose.RESULT, None)
        s.calls.move_answered(ToolCallState.SETTLED)
    if purpose is Purpose.ANSWER:
        s.calls.supersede(s.floor.turn)
    if purpose is Purpose.RESULT:
        hand_in_asked_for(s)
    s.replies.requests += 1
    s.replies.in_flight = ReplyInFlight(f"{purpose}-{s.replies.requests}", purpose, attempt, now)
    if purpose in (Purpose.ANSWER, Purpose.RESULT):
        s.replies.in_flight.interruptible, s.replies.read_out_next = not s.replies.read_out_next, False
    hint = ""
    if purpose in (Purpose.ANSWER, Purpose.RESULT):
        hint, s.replies.hint = s.replies.hint, ""
    s.commands.append(do.CreateReply(purpose, s.replies.in_flight.request, hint))
    s.clock.reach("commit_ms", now)


def on_started_unasked(s: State, event: ev.ReplyStarted, now: float) -> None:
    """Accept a reply that the model begins by itself, if the floor is free and no reply was asked for."""
    if not event.unasked or not _may_speak_unasked(s):
        on_started_too_many(s, event, now)
        return
    s.replies.requests += 1
    s.replies.wanted.pop(Purpose.ANSWER, None)
    s.replies.in_flight = ReplyInFlight(f"unasked-{s.replies.requests}", Purpose.ANSWER, 1, now)
    on_started(s, event, now)


def on_started(s: State, event: ev.ReplyStarted, now: float) -> None:
    """Accept the reply that the provider has begun, unless it is not the one we asked for."""
    reply = s.replies.in_flight
    if reply is None or event.request not in (None, reply.request):
        on_started_too_many(s, event, now)
        return
    reply.id = event.reply
    reply.phase = Phase.STREAMING
    s.replies.refusals = 0
    s.clock.reach("reply_started_ms", now)


def on_started_late(s: State, event: ev.ReplyStarted, now: float) -> None:
    """Cancel a reply that is no longer wanted, now that its id is known."""
    reply = s.replies.in_flight
    if reply and reply.id is None and event.request in (None, reply.request):
        reply.id = event.reply  # from now on its end is recognised
    on_started_too_many(s, event, now)


def on_started_too_many(s: State, event: ev.ReplyStarted, now: float) -> None:
    """Cancel a reply that we have not asked for."""
    s.commands.append(do.CancelReply(event.reply))


def _may_speak_unasked(s: State) -> bool:
    """Return whether a model may begin to speak by itself: the floor is free, and no reply was asked for."""
    free = s.floor.may_speak and s.floor.voice is None
    return free and s.replies.in_flight is None and s.farewell.reason is None and s.line.lost_at is None


def on_audio(s: State, event: ev.ReplyAudio, now: float) -> None:
    """Play the audio of the reply in flight, keep that of a prepared reply, and drop any other."""
    floor, replies = s.floor, s.replies
    if floor.holder is Floor.PAUSING and defer(s, event, now):
        return
    reply = replies.in_flight  # the checks of `streaming`, which would cost too much 50 times a second and call
    if reply is None or reply.phase is not Phase.STREAMING or reply.id != event.reply or not event.pcm:
        return
    if reply.first_item is None:
        _on_first_audio(s, reply, event, now)
    reply.since = now
    replies.items.get(event.item, reply.purpose).audio_bytes += len(event.pcm)
    if floor.playback is Playback.SILENT:
        floor.playback = Playback.PLAYING
    if floor.holder is Floor.LISTENING:
        s.pass_floor(Floor.ASSISTANT)
    s.commands.append(do.Play(event.item, event.pcm))


def _on_first_audio(s: State, reply: ReplyInFlight, event: ev.ReplyAudio, now: float) -> None:
    reply.first_item = event.item
    s.silence.waits_said = s.replies.unanswered = 0
    s.barge_in.suspended = None
    s.floor.playback = Playback.PLAYING if reply.interruptible else Playback.READING_OUT
    s.commands += s.notices.sounded(reply.request)
    s.clock.reach("first_audio_ms", now)
    s.clock.reach("end_of_turn_ms", now)


def on_text(s: State, event: ev.ReplyText, now: float) -> None:
    """Show words of the reply in flight; drop those of any other reply."""
    reply = s.replies.streaming(event.reply)
    if reply is None:
        return
    s.clock.token(now)
    reply.messages[event.item] = reply.messages.get(event.item, "") + event.delta
    s.replies.items.get(event.item, reply.purpose).text += event.delta
    s.publish(page.TranscriptDelta("assistant", event.item, event.delta))


def on_message_finished(s: State, event: ev.MessageFinished, now: float) -> None:
    """Note that all of a message was sent: the message is whole although its reply goes on."""
    if s.replies.streaming(event.reply):
        finish_items(s, event.item)


def on_finished(s: State, event: ev.ReplyFinished, now: float) -> None:
    """Note that the provider has sent all of a reply; one that came to nothing is retried."""
    reply = s.replies.streaming(event.reply)
    if reply is None:
        return
    s.replies.in_flight = None
    finish_items(s)
    if event.status == "completed":
        s.notices.completed(reply.request)
    failure = Failure(event.status, event.detail or event.status, event.retry_after_s)
    if not reply.sounded and not reply.called:
        came_to_nothing(s, reply, failure, now)
        return
    s.replies.waits = s.replies.unanswered = 0
    if event.status in ("failed", "incomplete"):
        broke_off(s, reply, failure, now)
    elif event.status == "completed" and broke_promise(s, reply):
        follow_up(s, reply, now)
    elif reply.purpose in (Purpose.ANSWER, Purpose.RESULT) and not reply.called:
        s.report(s.clock.answered_by(reply.first_item or ""))
    if not s.floor.playing:
        heard_out(s, now)


def on_cancelled(s: State, event: ev.ReplyFinished, now: float) -> None:
    """Note that the provider has stopped; another reply may be asked for."""
    if s.replies.in_flight and s.replies.in_flight.id == event.reply:
        s.replies.in_flight = None


def on_discarded(s: State, event: ev.ReplyFinished, now: float) -> None:
    """Note that the provider has sent all of a discarded reply, and what it has cost."""
    if s.replies.in_flight and s.replies.in_flight.id == event.reply:
        s.replies.in_flight = None
        report_discarded(s, event)


def on_refused(s: State, event: ev.ReplyRefused, now: float) -> None:
    """Retry a reply that the provider refused to begin, a limited number of times."""
    reply = s.replies.in_flight
    if reply is None or reply.request != event.request:
        return
    s.replies.in_flight = None
    s.replies.refusals += 1
    if s.replies.refusals > MAX_REFUSALS or event.code != ACTIVE_REPLY:
        came_to_nothing(s, reply, Failure("refused", event.code, event.retry_after_s), now)
        return
    s.commands.append(do.CancelReply(None))
    s.replies.not_before = now + RETRY_AFTER_S
    want_again(s, reply)


def on_refused_late(s: State, event: ev.ReplyRefused, now: float) -> None:
    """Note that a reply that is no longer wanted has not begun."""
    reply = s.replies.in_flight
    if reply and reply.request == event.request and reply.id is None:
        s.replies.in_flight = None  # a reply with an id had begun before


def want_again(s: State, reply: ReplyInFlight) -> None:
    """Want a reply once more; notices come back by themselves."""
    if reply.purpose is not Purpose.NOTICE:
        s.replies.wanted[reply.purpose] = reply.attempt


def deadlines(s: State) -> Deadlines:
    """Return when the provider has taken too long for the reply in flight."""
    reply = s.replies.in_flight
    if reply is None:
        return ()
    if reply.phase not in WANTED:
        return ((reply.since + CANCEL_WITHIN_S, _stop_waiting),)
    if reply.first_item is None and not reply.called:
        return ((reply.since + FIRST_AUDIO_WITHIN_S, _overdue),)
    if s.floor.playback is Playback.SILENT:
        return ((reply.since + STALL_AFTER_S, _stalled),)
    return ()


def _stop_waiting(s: State, now: float) -> None:
    s.replies.in_flight = None


def _overdue(s: State, now: float) -> None:
    reply = s.replies.in_flight
    if reply:
        s.replies.unanswered += 1
        cancel_reply(s, now)
        s.replies.in_flight = None
        came_to_nothing(s, reply, Failure("overdue", "the Responder did not answer in time"), now)


def _stalled(s: State, now: float) -> None:
    reply = s.replies.in_flight
    s.replies.unanswered += 1
    cancel_reply(s, now)
    finish_items(s)
    if reply:
        broke_off(s, reply, Failure("stalled", "the Responder stopped in mid-reply"), now)
    heard_out(s, now)


def notices_due_at(s: State) -> float | None:
    """Return when notices may be spoken; None if none wait, or while something else comes first."""
    kept = not s.notices.waiting or s.notices.reply or not s.notices.opened  # none waits, or none may begin yet
    if kept or s.floor.holder is not Floor.LISTENING or s.floor.voice:
        return None
    speaking = s.replies.in_flight or s.floor.playing or s.replies.wanted or s.farewell.reason
    owing = s.calls.running(s.floor.turn) or s.silence.owed_since is not None
    if speaking or owing or s.line.lost_at is not None:
        return None  # the caller hears or is owed something else
    quiet_since = max(s.floor.last_sound_at, s.floor.last_voice_at)
    return max(quiet_since + s.limits.notice_after_s, s.notices.not_before)


def begin_notices(s: State, now: float) -> None:
    """Ask for a reply that speaks the notices that wait, if it may be asked for now."""
    if not s.notices.waiting:  # the usual case, and this runs with every event
        return
    s.notices.drop_expired(now)
    due = notices_due_at(s)
    if due is None or now < due:
        return
    s.replies.requests += 1
    s.replies.in_flight = ReplyInFlight(f"{Purpose.NOTICE}-{s.replies.requests}", Purpose.NOTICE, 1, now)
    notes, hint = s.notices.begin(s.replies.in_flight.request)
    s.replies.in_flight.interruptible = s.notices.interruptible
    s.commands += [*notes, do.CreateReply(Purpose.NOTICE, s.replies.in_flight.request, hint)]
    s.clock.drop()  # this reply is no answer to a turn, so its times are not measured


def settle_notices(s: State, now: float) -> None:
    """Settle the notices of a finished reply when all of it was heard or discarded."""
    spoken, reply = s.notices.reply, s.replies.in_flight
    if spoken is None or s.replies.items.sounding(Purpose.NOTICE):
        return
    if reply and reply.request == spoken.request and reply.wanted:
        return  # more of this reply is to come
    if spoken.heard_ms == 0:
        s.notices.not_before = now + NOTICE_RETRY_S
    s.commands += s.notices.settle()
    note_spoken_answers(s)

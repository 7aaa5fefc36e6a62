"""The rules for silence: a filler while a Thinker works, a nudge, a goodbye, an apology for a missing answer."""

from backend import page_events as page
from backend.turns import events as ev
from backend.turns.commands import Clip, Purpose
from backend.turns.limits import FIRST_AUDIO_WITHIN_S, FIRST_TRY_S, GOODBYE_WITHIN_S, SILENCE_MOST_S
from backend.turns.machine.actions import apologise, cancel_reply, leave_mute, play_clip
from backend.turns.machine.reply.replies import notices_due_at
from backend.turns.machine.reply.state import WANTED, Phase
from backend.turns.machine.state import IDLE, Deadline, Deadlines, State

ANSWERS = (Purpose.ANSWER, Purpose.RESULT)


def on_call_started(s: State, event: ev.CallStarted, now: float) -> None:
    """Begin to count idling, and greet the caller if that is set."""
    s.line.started = True
    s.silence.idle_since = s.floor.last_sound_at = now
    if s.limits.greeting:
        s.replies.wanted[Purpose.GREETING] = 1


def deadlines(s: State) -> Deadlines:
    """Return when silence calls for something, while the floor is free and the connection stands."""
    limits = s.limits
    due: list[Deadline] = []
    if s.line.lost_at is not None:
        return due  # `connection` speaks meanwhile, and a caller who waits for a reply is not idle
    if s.silence.owed_since is not None:
        due.append((s.silence.owed_since + 2 * FIRST_AUDIO_WITHIN_S, _owed_too_long))
    if s.replies.in_flight is not None or s.replies.wanted or s.farewell.reason:
        return due  # the silence will be over by itself
    if limits.filler_after_s and s.calls.running(s.floor.turn):
        due.append((max(_silent_since(s), s.silence.filled_at) + limits.filler_after_s, _fill))
    if s.silence.idle_since is None or s.calls.running() or notices_due_at(s) is not None:
        return due  # the caller is not idle, but waits for us
    if limits.idle_disconnect_s:
        due.append((s.silence.idle_since + limits.idle_disconnect_s, _say_goodbye))
    if limits.idle_nudge_s and not s.silence.nudged:
        due.append((s.silence.idle_since + limits.idle_nudge_s, _nudge))
    return due


def waiting_deadlines(s: State) -> Deadlines:
    """Return when a caller who is owed a sound hears that it takes a moment, as the provider or the filler is late.

    This is called only while the floor is free or the assistant's, and nothing sounds.
    """
    if s.line.lost_at is not None or (s.farewell.reason and not s.farewell.last_word):
        return ()  # `connection` speaks meanwhile, or the goodbye does
    filler_after_s, reply = s.limits.filler_after_s, s.replies.in_flight
    due = _silent_since(s) + SILENCE_MOST_S
    if reply and reply.phase is Phase.REQUESTED:
        due = max(due, reply.since + FIRST_TRY_S)
    answering = reply and reply.phase in WANTED and reply.purpose in ANSWERS  # not a filler, nor a cancelled reply
    if answering or any(purpose in s.replies.wanted for purpose in ANSWERS):
        return ((due, say_wait),)
    if filler_after_s and s.calls.running(s.floor.turn):
        return ((max(due, _silent_since(s) + filler_after_s + FIRST_TRY_S), say_wait),)
    return ()


def say_wait(s: State, now: float) -> None:
    """Play that it takes a moment; without a connection, alternate the words."""
    play_clip(s, Clip.WAITING if s.silence.waits_said % 2 and s.line.lost_at is not None else Clip.MOMENT)
    s.silence.waits_said += 1


def _owed_too_long(s: State, now: float) -> None:
    s.silence.owed_since = None
    if s.calls.running(s.floor.turn):
        play_clip(s, Clip.MOMENT)
        return
    cancel_reply(s, now)
    s.replies.wanted.clear()
    s.replies.unanswered += 1
    if leave_mute(s, Purpose.ANSWER, now):
        return
    apologise(s, "the Responder did not answer in time")


def _fill(s: State, now: float) -> None:
    s.silence.filled_at = now
    s.replies.wanted[Purpose.FILLER] = 1


def _nudge(s: State, now: float) -> None:
    s.silence.nudged = True
    s.publish(page.IdleNudged(_idle_s(s, now)))
    s.replies.wanted[Purpose.NUDGE] = 1


def _say_goodbye(s: State, now: float) -> None:
    s.publish(page.IdleDisconnected(_idle_s(s, now)))
    s.farewell.reason = IDLE  # unless the caller then speaks
    s.farewell.by = now + GOODBYE_WITHIN_S
    s.replies.wanted[Purpose.GOODBYE] = 1


def _silent_since(s: State) -> float:
    return max(s.floor.last_sound_at, s.floor.last_voice_at, s.silence.owed_since or 0.0)


def _idle_s(s: State, now: float) -> int:
    return round(now - (s.silence.idle_since or now))

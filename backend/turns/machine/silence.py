"""Silence is met with a filler while a Thinker works, a nudge, a goodbye, or an apology for a missing answer."""

from __future__ import annotations

from backend.turns import page_events as page
from backend.turns.commands import Clip, Purpose
from backend.turns.machine.moves import apologise, cancel_reply, leave_mute, play_clip
from backend.turns.machine.replies import notices_due_at
from backend.turns.machine.state import IDLE, Deadlines, Floor, Phase, State

ANSWERS = (Purpose.ANSWER, Purpose.RESULT)


def on_call_started(s: State, now: float) -> None:
    """Begin to count idling, and greet the caller if that is set."""
    s.started = True
    s.idle_since = s.last_sound_at = now
    if s.limits.greeting:
        s.want(Purpose.GREETING)


def deadlines(s: State) -> Deadlines:
    """Yield when silence calls for something, while nobody has the floor and the connection stands."""
    limits = s.limits
    if s.lost_at is not None:
        return  # `connection` speaks meanwhile, and a caller who waits for us is not idle
    if s.owed_since is not None:
        yield s.owed_since + 2 * limits.first_audio_within_s, _owed_too_long
    if s.reply is not None or s.wanted or s.leaving:
        return
    running = s.calls.running(s.turn)
    if running and limits.filler_after_s:
        yield max(_silent_since(s), s.filled_at) + limits.filler_after_s, _fill
    if s.calls.running() or notices_due_at(s) is not None or s.idle_since is None:
        return
    if limits.idle_disconnect_s:
        yield s.idle_since + limits.idle_disconnect_s, _say_goodbye
    if limits.idle_nudge_s and not s.nudged:
        yield s.idle_since + limits.idle_nudge_s, _nudge


def waiting_deadlines(s: State) -> Deadlines:
    """Yield when a caller who is owed a sound is told that it takes a moment: the provider is late, or the filler."""
    is_leaving = s.leaving and not s.last_word
    if s.lost_at is not None or s.playing or is_leaving or s.floor not in (Floor.LISTENING, Floor.ASSISTANT):
        return
    limits, reply = s.limits, s.reply if s.reply and s.reply.wanted else None
    due = _silent_since(s) + limits.silence_most_s
    if reply and reply.phase is Phase.REQUESTED:
        due = max(due, reply.since + limits.first_try_s)
    if any(purpose in s.wanted for purpose in ANSWERS) or (reply and reply.purpose in ANSWERS):
        yield due, say_wait
    elif limits.filler_after_s and s.calls.running(s.turn):
        yield max(due, _silent_since(s) + limits.filler_after_s + limits.first_try_s), say_wait


def say_wait(s: State, now: float) -> None:
    """Tell the caller that it takes a moment; without a connection, in turns with other words."""
    play_clip(s, Clip.WAITING if s.waits_said % 2 and s.lost_at is not None else Clip.MOMENT)
    s.waits_said += 1


def _owed_too_long(s: State, now: float) -> None:
    s.owed_since = None
    if s.calls.running(s.turn):
        play_clip(s, Clip.MOMENT)
        return
    cancel_reply(s, now)
    s.wanted.clear()
    s.unanswered += 1
    if leave_mute(s, Purpose.ANSWER, now):
        return
    apologise(s, "the Responder did not answer in time")


def _fill(s: State, now: float) -> None:
    s.filled_at = now
    s.want(Purpose.FILLER)


def _nudge(s: State, now: float) -> None:
    s.nudged = True
    s.publish(page.IdleNudged(_idle_s(s, now)))
    s.want(Purpose.NUDGE)


def _say_goodbye(s: State, now: float) -> None:
    s.publish(page.IdleDisconnected(_idle_s(s, now)))
    s.leaving = IDLE  # unless the caller then speaks
    s.leave_by = now + s.limits.goodbye_within_s
    s.want(Purpose.GOODBYE)


def _silent_since(s: State) -> float:
    return max(s.last_sound_at, s.last_voice_at, s.owed_since or 0.0)


def _idle_s(s: State, now: float) -> int:
    return round(now - (s.idle_since or now))

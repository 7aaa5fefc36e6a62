"""The rules for a connection to the provider that breaks, comes back or stays away while the call goes on."""

import json

from backend import page_events as page
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Clip, Purpose
from backend.turns.limits import MOMENT_AFTER_S, SILENCE_MOST_S
from backend.turns.machine.actions import apologise, finish_items, release_hold
from backend.turns.machine.ending import leave
from backend.turns.machine.floor.playback import heard_out
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.pending_turn import early_words
from backend.turns.machine.pending_turn.waiting import close_turn
from backend.turns.machine.reply.replies import want_again
from backend.turns.machine.silence import say_wait
from backend.turns.machine.state import Deadlines, State
from backend.turns.spoken import SpokenItem


def on_lost(s: State, event: ev.ResponderLost, now: float) -> None:
    """Prepare for a new connection: the reply under way, or a caller's lost words, will be asked for again."""
    if s.line.lost_at is not None:
        return
    s.line.lost_at = now
    s.silence.waits_said = 0
    happened = "The connection to the Responder broke." if s.line.started else "The Responder cannot be reached yet."
    s.publish(page.ErrorShown(happened, "Connecting again; the call goes on.", "responder_lost"))
    s.publish(page.ResponderChanged("lost"))
    early_words.take_back(s)
    if s.floor.holder is Floor.PAUSING:
        _forget_prepared(s, now)
    broken_off = finish_items(s)
    for call in s.calls.entries.values():
        call.orphaned = True
    s.notices.on_connection_lost()
    _save_reply(s, broken_off)
    if s.floor.holder in (Floor.USER, Floor.HELD) and s.limits.endpointing == "provider":
        s.floor.voice = None
        if s.floor.holder is Floor.HELD:
            release_hold(s)
        s.pass_floor(Floor.ASSISTANT if s.floor.playing else Floor.LISTENING)
        s.line.missed = True
    elif s.floor.voice or (s.pending.open and not s.pending.open.words.complete and Purpose.ANSWER in s.replies.wanted):
        s.line.missed = True  # what is being said, or its transcript, is gone with the connection
    s.barge_in.suspended = s.pending.answered = None
    if not s.floor.playing:
        heard_out(s, now)


def on_restored(s: State, event: ev.ResponderRestored, now: float) -> None:
    """Send the new connection what has come up meanwhile. It may have replaced a working one between two turns."""
    was_lost, s.line.lost_at = s.line.lost_at is not None, None
    s.publish(page.ResponderChanged("connected", event.responder, event.model, event.pictures))
    if s.line.typed:
        s.replies.wanted[Purpose.ANSWER] = 1  # an apology may have come between
    if was_lost and s.replies.wanted and s.silence.owed_since is None:
        s.silence.owed_since = now  # "one moment" was no answer
    if was_lost and s.silence.idle_since is not None:
        s.silence.idle_since = now
    s.commands.extend(do.AddNote(note) for note in s.line.notes)
    s.line.notes.clear()
    for message in s.line.typed:
        _add_typed(s, message)
    s.line.typed.clear()
    admit_missing(s, now)


def on_gone(s: State, event: ev.ResponderGone, now: float) -> None:
    """End the call with a sentence that says so: no new connection can be made."""
    s.publish(page.ErrorShown("The Responder cannot be reached.", "Call again in a moment.", "responder_gone"))
    leave(s, "responder_refused" if event.refused else "responder_gone", Clip.LOST, now)


def send_typed(s: State, message: do.AddUserText) -> None:
    """Send a typed message to the provider; while no connection stands, it waits for the next."""
    if s.line.lost_at is None:
        _add_typed(s, message)
    else:
        s.line.typed.append(message)


def admit_missing(s: State, now: float) -> None:
    """Ask the caller to repeat words that were lost with a connection, instead of answering without them."""
    if s.line.missed and s.line.lost_at is None and s.floor.may_speak:
        s.line.missed = False
        s.replies.wanted.pop(Purpose.ANSWER, None)
        s.commands.append(do.ClearInput())
        s.silence.idle_since = now
        apologise(s, "the line broke while you spoke")


def deadlines(s: State) -> Deadlines:
    """Yield when a caller who waits for a sound hears, again and again, that it takes a moment."""
    lost_at = s.line.lost_at
    kept = s.farewell.reason or s.floor.playing or not s.floor.may_speak  # something else is heard, or comes first
    if lost_at is None or kept or not _owes(s):
        return
    silent_since = max(s.floor.last_sound_at, s.floor.last_voice_at)
    if s.silence.owed_since is not None and s.silence.owed_since < lost_at:
        silent_since = s.silence.owed_since
    due = silent_since + SILENCE_MOST_S
    if not s.silence.waits_said:
        due = min(due, max(s.floor.last_sound_at, lost_at) + MOMENT_AFTER_S)
    yield due, _say_wait


def _forget_prepared(s: State, now: float) -> None:
    """Close the turn: its prepared reply is gone with the connection."""
    if s.pending.open:
        s.pending.open.prepared.deferred.clear()
    close_turn(s, now)


def _save_reply(s: State, broken_off: list[SpokenItem]) -> None:
    reply, s.replies.in_flight = s.replies.in_flight, None
    if reply is None or not reply.wanted or reply.called:
        return  # a tool call is answered by a reply of its own
    want_again(s, reply)
    if reply.sounded and reply.purpose is not Purpose.NOTICE:
        said = " ".join(spoken.text.strip() for spoken in broken_off)
        s.line.notes.append(f"The line broke when you had said: {json.dumps(said)}. Briefly finish it.")


def _add_typed(s: State, message: do.AddUserText) -> None:
    s.commands += [message, do.Remember("user", message.words)]


def _owes(s: State) -> bool:
    """Return whether the caller waits for a sound of ours, which may be the first of the call."""
    owed = s.silence.owed_since is not None or s.replies.wanted or s.line.typed or s.line.missed or s.calls.asked_for
    return bool(owed or not s.line.started or s.calls.running(s.floor.turn))


def _say_wait(s: State, now: float) -> None:
    say_wait(s, now)
    s.silence.owed_since = None

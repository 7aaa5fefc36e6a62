"""The connection to the provider may break, come back or stay away; the call goes on meanwhile."""

from __future__ import annotations

import json

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns import page_events as page
from backend.turns.commands import Clip, Purpose
from backend.turns.machine import early_words
from backend.turns.machine.ending import leave
from backend.turns.machine.moves import apologise, finish_items, release_hold
from backend.turns.machine.open_turn import close_turn
from backend.turns.machine.playback import heard_out
from backend.turns.machine.replies import want_again
from backend.turns.machine.silence import say_wait
from backend.turns.machine.state import Deadlines, Floor, State
from backend.turns.spoken import SpokenItem


def on_lost(s: State, now: float) -> None:
    """Prepare for a new connection: the reply under way, or a caller's lost words, will be asked for again."""
    if s.lost_at is not None:
        return
    s.lost_at = now
    s.waits_said = 0
    happened = "The connection to the Responder broke." if s.started else "The Responder cannot be reached yet."
    s.publish(page.ErrorShown(happened, "Connecting again; the call goes on.", "responder_lost"))
    s.publish(page.ResponderChanged("lost"))
    early_words.take_back(s)
    if s.floor is Floor.PAUSING:
        _forget_prepared(s, now)
    broken_off = finish_items(s)
    for call in s.calls.entries.values():
        call.orphaned = True
    s.notices.on_connection_lost()
    _save_reply(s, broken_off)
    if s.floor in (Floor.USER, Floor.HELD) and s.limits.endpointing == "provider":
        s.utterance = None
        release_hold(s)
        s.missed = True
    elif s.utterance or (s.open and not s.open.words.complete and Purpose.ANSWER in s.wanted):
        s.missed = True
    s.parked = s.answered = None
    if not s.playing:
        heard_out(s, now)


def on_restored(s: State, event: ev.ResponderRestored, now: float) -> None:
    """Give the new connection what has come up meanwhile; it may also follow one that stood, between two turns."""
    was_lost, s.lost_at = s.lost_at is not None, None
    s.publish(page.ResponderChanged("connected", event.responder, event.model, event.pictures))
    if s.typed_meanwhile:
        s.want(Purpose.ANSWER)  # an apology may have come between
    if was_lost and s.wanted and s.owed_since is None:
        s.owed_since = now  # "one moment" was no answer
    if was_lost and s.idle_since is not None:
        s.idle_since = now
    s.commands.extend(do.AddNote(note) for note in s.notes)
    s.notes.clear()
    for message in s.typed_meanwhile:
        _add_typed(s, message)
    s.typed_meanwhile.clear()
    admit_missing(s, now)


def on_gone(s: State, refused: bool, now: float) -> None:
    """End the call with a sentence that says so: no new connection can be made."""
    s.publish(page.ErrorShown("The Responder cannot be reached.", "Call again in a moment.", "responder_gone"))
    leave(s, "responder_refused" if refused else "responder_gone", Clip.LOST, now)


def send_typed(s: State, message: do.AddUserText) -> None:
    """Send words of the caller's to the provider; while no connection stands, they wait for the next."""
    if s.lost_at is None:
        _add_typed(s, message)
    else:
        s.typed_meanwhile.append(message)


def admit_missing(s: State, now: float) -> None:
    """Ask the caller to repeat words that were lost with a connection, rather than answer something else."""
    if s.missed and s.lost_at is None and s.floor in (Floor.LISTENING, Floor.ASSISTANT):
        s.missed = False
        s.wanted.pop(Purpose.ANSWER, None)
        s.commands.append(do.ClearInput())
        s.idle_since = now
        apologise(s, "the line broke while you spoke")


def deadlines(s: State) -> Deadlines:
    """Yield when a caller who waits for something is told, and told again, that it takes a moment."""
    if s.lost_at is None or s.leaving or s.playing or s.floor not in (Floor.LISTENING, Floor.ASSISTANT) or not _owes(s):
        return
    silent_since = max(s.last_sound_at, s.last_voice_at)
    if s.owed_since is not None and s.owed_since < s.lost_at:
        silent_since = s.owed_since
    due = silent_since + s.limits.silence_most_s
    yield due if s.waits_said else min(due, max(s.last_sound_at, s.lost_at) + s.limits.moment_after_s), _say_wait


def _forget_prepared(s: State, now: float) -> None:
    """Take the turn for over: what was prepared for it is gone with the connection."""
    if s.open:
        s.open.deferred.clear()
    close_turn(s, now)


def _save_reply(s: State, broken_off: list[SpokenItem]) -> None:
    reply, s.reply = s.reply, None
    if reply is None or not reply.wanted or reply.called:
        return
    want_again(s, reply)
    if reply.sounded and reply.purpose is not Purpose.NOTICE:
        said = " ".join(spoken.text.strip() for spoken in broken_off)
        s.notes.append(f"The line broke when you had said: {json.dumps(said)}. Briefly finish it.")


def _add_typed(s: State, message: do.AddUserText) -> None:
    s.commands += [message, do.Remember("user", message.words)]


def _owes(s: State) -> bool:
    """Return whether the caller waits for a sound of ours; at the beginning of a call, for the first."""
    owed = s.owed_since is not None or s.wanted or s.typed_meanwhile or s.missed or s.asked_for
    return bool(owed or not s.started or s.calls.running(s.turn))


def _say_wait(s: State, now: float) -> None:
    say_wait(s, now)
    s.owed_since = None

"""What the caller's program decides itself: turns it hands in, messages, its own tools, and the replies it asks for.

Whatever is put into the conversation here is answered only once a reply is asked for: the program knows when.
"""

from __future__ import annotations

import json

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns import page_events as page
from backend.turns.commands import Purpose
from backend.turns.machine import overlap
from backend.turns.machine.connection import send_typed
from backend.turns.machine.open_turn import commit_piece, note_rest
from backend.turns.machine.pieces import begin_turn
from backend.turns.machine.state import Floor, State, ToolCallState, TurnWords
from backend.turns.machine.thinkers import submit
from backend.turns.machine.typed import take_floor

SAID_EARLIER = "You said earlier in this conversation: {words}"


def on_input_handed_in(s: State, now: float) -> None:
    """Take the audio sent so far for a turn; what is spoken goes on, as the program decides about that, too."""
    if s.lost_at is not None:
        s.missed = True
        return
    begin_turn(s, now, 0)
    s.owed_since = None
    s.words.append(TurnWords(pieces=1, over=True))
    s.commands.append(do.CommitInput())


def on_input_commit_wanted(s: State, now: float) -> None:
    """Commit what is being said, over a reply too; where nothing is, or all of it is committed, do nothing."""
    voice = s.utterance
    if voice is None or s.lost_at is not None or voice.sounded_ms(now) < s.limits.turn_min_ms:  # shorter is noise
        return
    if s.floor is Floor.HELD:
        overlap.adopt(s, now)
    if s.floor is not Floor.USER or s.open is None:
        return
    note_rest(s, voice.sounded_ms(now))
    if not s.open.uncommitted:
        return
    commit_piece(s)
    if s.limits.endpointing == "provider":
        s.commands.append(do.CommitInput())
    if voice.running_since is not None:
        voice.committed_ms = voice.sounded_ms(now)


def on_input_dropped(s: State, now: float) -> None:
    """Forget the audio sent since the last turn; a voice under way is forgotten with it."""
    s.utterance = None
    if s.floor is Floor.USER:
        s.open = None
        s.pass_floor(Floor.LISTENING)
    s.commands.append(do.ClearInput())


def on_message_added(s: State, event: ev.MessageAdded, now: float) -> None:
    """Put a message into the conversation. The caller's begins a turn; an earlier one of ours becomes a note."""
    text = event.text
    if event.role == "user":
        message = do.AddUserText(text, event.pictures, event.item)
        begin_turn(s, now, 0)
        s.owed_since = None
        s.typed += 1
        s.publish(page.TranscriptCompleted("user", f"typed-{s.typed}", message.words))
        send_typed(s, message)
        return
    note = text if event.role == "system" else SAID_EARLIER.format(words=json.dumps(text, ensure_ascii=False))
    if s.lost_at is None:
        s.commands.append(do.AddNote(note, event.item))
    else:
        s.notes.append(note)


def on_tool_answered(s: State, call_id: str, output: str) -> None:
    """Submit what the program's own tool has returned; it is spoken with the reply that is asked for."""
    call = s.calls.answer(call_id)
    if call is None:
        return
    if call.turn != s.turn:
        call.state = ToolCallState.STALE
    submit(s, call, output)


def on_reply_requested(s: State, hint: str, now: float) -> None:
    """Want a reply, as soon as the floor allows it: to results that are there, or else to what was said."""
    answered = any(call.state is ToolCallState.ANSWERED for call in s.calls.entries.values())
    s.reply_hint = hint
    if s.owed_since is None:
        s.owed_since = now
    s.note_caller(now)
    s.want(Purpose.RESULT if answered else Purpose.ANSWER)


def on_reply_called_off(s: State, now: float) -> None:
    """Stop what is spoken, prepared or wanted; the work of Thinkers goes on."""
    if s.floor is Floor.USER or s.leaving:
        return
    s.owed_since = None
    take_floor(s, now)
    s.wanted.clear()

"""The rules for what the caller's program decides: its turns, messages and tools, and the replies it asks for.

The program decides when a reply is asked for; nothing that it puts into the conversation is answered before.
"""

import json

from backend import page_events as page
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose
from backend.turns.limits import TURN_MIN_MS
from backend.turns.machine.barge_in import candidate
from backend.turns.machine.connection import send_typed
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.floor.typed import take_floor
from backend.turns.machine.pending_turn.segments import begin_turn
from backend.turns.machine.pending_turn.state import Standing, TurnWords
from backend.turns.machine.pending_turn.waiting import commit_segment, note_rest
from backend.turns.machine.state import State
from backend.turns.machine.thinkers import submit
from backend.turns.machine.tool_calls import ToolCallState

SAID_EARLIER = "You said earlier in this conversation: {words}"


def on_input_handed_in(s: State, event: ev.InputHandedIn, now: float) -> None:
    """Make the audio sent so far a turn. A reply that is being spoken goes on, unless the program cancels it."""
    if s.line.lost_at is not None:
        s.line.missed = True
        return
    begin_turn(s, now, 0)
    s.silence.owed_since = None
    s.pending.words.append(TurnWords(segments=1, standing=Standing.OVER))
    s.commands.append(do.CommitInput())


def on_input_commit_wanted(s: State, event: ev.InputCommitWanted, now: float) -> None:
    """Commit the present speech, even over a reply; do nothing without speech, or if all of it is committed."""
    voice = s.floor.voice
    if voice is None or s.line.lost_at is not None or voice.sounded_ms(now) < TURN_MIN_MS:  # shorter is noise
        return
    if s.floor.holder is Floor.HELD:
        candidate.adopt(s, now)
    if s.floor.holder is not Floor.USER or s.pending.open is None:
        return
    note_rest(s, voice.sounded_ms(now))
    if not s.pending.open.uncommitted:
        return
    commit_segment(s)
    if s.limits.endpointing == "provider":
        s.commands.append(do.CommitInput())
    if voice.running_since is not None:
        voice.committed_ms = voice.sounded_ms(now)


def on_input_dropped(s: State, event: ev.InputDropped, now: float) -> None:
    """Forget the audio sent since the last turn, with the voice that sounds."""
    s.floor.voice = None
    if s.floor.holder is Floor.USER:
        s.pending.open = None
        s.pass_floor(Floor.LISTENING)
    s.commands.append(do.ClearInput())


def on_message_added(s: State, event: ev.MessageAdded, now: float) -> None:
    """Put a message into the conversation. A user's begins a turn; the assistant's and the system's become notes."""
    text = event.text
    if event.role == "user":
        message = do.AddUserText(text, event.pictures, event.item)
        begin_turn(s, now, 0)
        s.silence.owed_since = None
        s.floor.typed += 1
        s.publish(page.TranscriptCompleted("user", f"typed-{s.floor.typed}", message.words))
        send_typed(s, message)
        return
    note = text if event.role == "system" else SAID_EARLIER.format(words=json.dumps(text, ensure_ascii=False))
    if s.line.lost_at is None:
        s.commands.append(do.AddNote(note, event.item))
    else:
        s.line.notes.append(note)


def on_tool_answered(s: State, event: ev.ToolAnswered, now: float) -> None:
    """Submit the result of the program's own tool; the reply that the program asks for speaks it."""
    call = s.calls.answer(event.call)
    if call is None:
        return
    if call.turn != s.floor.turn:
        call.state = ToolCallState.STALE
    submit(s, call, event.output)


def on_reply_requested(s: State, event: ev.ReplyRequested, now: float) -> None:
    """Want a reply as soon as the floor allows one: to tool results that have come, otherwise to the caller's words."""
    answered = any(call.state is ToolCallState.ANSWERED for call in s.calls.entries.values())
    s.replies.hint = event.hint
    if s.silence.owed_since is None:
        s.silence.owed_since = now
    s.note_caller(now)
    s.replies.wanted[Purpose.RESULT if answered else Purpose.ANSWER] = 1


def on_reply_called_off(s: State, event: ev.ReplyCalledOff, now: float) -> None:
    """Stop the replies that are spoken, prepared or wanted; the work of Thinkers goes on."""
    if s.floor.holder is Floor.USER or s.farewell.reason:
        return
    s.silence.owed_since = None
    take_floor(s, now)
    s.replies.wanted.clear()

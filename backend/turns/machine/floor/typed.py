"""The rules for typed words: a turn of their own, immediately or after the answer to the caller's present speech."""

from backend import page_events as page
from backend.turns import events as ev
from backend.turns.commands import AddUserText, Purpose
from backend.turns.machine.actions import stop_reply
from backend.turns.machine.barge_in import candidate
from backend.turns.machine.connection import send_typed
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.late_answers import drop_if_called_off
from backend.turns.machine.pending_turn.segments import begin_turn
from backend.turns.machine.pending_turn.waiting import begin_pending_turn, close_turn, discard_prepared
from backend.turns.machine.state import Deadlines, State

WAITING_LIMIT = 16
"""The most messages that wait while the caller speaks; further ones are joined to the newest."""
PICTURES_LIMIT = 4
"""The most pictures of messages that were joined; the newest are kept."""


def on_typed(s: State, event: ev.TextTyped, now: float) -> None:
    """Answer typed words immediately, and stop the present reply. While the caller speaks, the words wait."""
    message = AddUserText(event.text, event.pictures)
    s.floor.typed += 1
    s.publish(page.TranscriptCompleted("user", f"typed-{s.floor.typed}", message.words))
    speaking = s.floor.holder is Floor.USER or (s.floor.holder is Floor.HELD and s.floor.voice is not None)
    if s.floor.holder is not Floor.USER:  # over a reply the speech may not want the floor: the typed words do
        take_floor(s, now)
    if not speaking:
        _begin(s, message, now)
        return
    if len(s.floor.typed_waiting) >= WAITING_LIMIT:
        last = s.floor.typed_waiting.pop()
        message = AddUserText(
            f"{last.text}\n{message.text}".strip(), (*last.pictures, *message.pictures)[-PICTURES_LIMIT:]
        )
    s.floor.typed_waiting.append(message)


def deadlines(s: State) -> Deadlines:
    """Yield when words typed during speech are answered: after the answer to the speech was heard."""
    free = s.floor.holder is Floor.LISTENING and not s.floor.voice
    if free and not s.something_to_interrupt and not s.farewell.reason:
        yield 0.0, _take_next


def _take_next(s: State, now: float) -> None:
    _begin(s, s.floor.typed_waiting.pop(0), now)


def take_floor(s: State, now: float) -> None:
    """Stop the reply that is spoken or prepared; a voice that has just begun over it takes the floor."""
    if s.floor.holder is Floor.PAUSING:
        discard_prepared(s, now)
    if s.floor.holder is Floor.HELD or s.something_to_interrupt:
        stop_reply(s, now)
    candidate.leave(s)
    s.barge_in.suspended = None
    if s.floor.holder is Floor.HELD and s.floor.voice:
        begin_pending_turn(s)
        s.pass_floor(Floor.USER)
    elif s.floor.holder is Floor.PAUSING:
        close_turn(s, now)
        s.pending.open = None
    elif s.floor.holder in (Floor.ASSISTANT, Floor.HELD):
        s.pass_floor(Floor.LISTENING)


def _begin(s: State, message: AddUserText, now: float) -> None:
    begin_turn(s, now, 0)
    send_typed(s, message)
    drop_if_called_off(s, message.text)
    s.replies.wanted[Purpose.ANSWER] = 1

"""The turn machine: a pure state machine of who has the floor. It consists of four machines in `machine/`.

`receive(event, now)` and `expire(now)` return commands; `deadline()` says when to call `expire`. There is no socket,
clock or task in here; `now` is any monotonic time in seconds.

    machine         decides                                                 its theory and table
    -------------   -----------------------------------------------------   -----------------------
    floor           who may speak                                           `floor/table.py`
    pending turn    whether the caller's turn may go on, and how long       `pending_turn/table.py`
    barge-in        what a voice over a reply wants                         `barge_in/table.py`
    reply           which reply is asked for, played, retried               `reply/table.py`

Each event passes the four tables in that order. A table has the rule for an event in each state of its machine; in a
state without a rule the event does nothing. `ANYTIME` has the events that depend on no state. The machines meet in few
places. A reply is asked for only when the floor is free, and taking the floor cancels the reply. The floor is HELD
while a voice holds the reply, and PAUSING while a turn is pending in silence: the events of the prepared reply are then
deferred. After the tables the deferred events are handled, notices are settled, and the most urgent reply that is
wanted is asked for.

This is what happens to a Thinker's answer:

    the answer comes                             it is
    ------------------------------------------   ------------------------------------------------------------------
    while the caller has taken no new turn       fresh: submitted, and spoken when the floor is free, all calls of
                                                 one reply together
    later                                        stale, a late answer: submitted for the model alone, and spoken unasked
                                                 as a notice when the floor is free and quiet, until `late_answer_max_s`
                                                 after its question (0: never); one without words is not spoken
    later, and the same was asked again          stale, and not spoken: the other answer is
    later, and the caller has said "never mind"  stale, and not spoken
    later, and the caller asks for it            spoken as soon as the floor is free, after the answer to what the
                                                 caller is just saying; a further turn makes it stale again
    never: the caller has dismissed the call     the call's result says so, when the call is dismissed
    fresh, but a new turn begins before it       stale; the caller may ask for it
    is spoken

    file in machine/          what its rules are about
    -----------------------   ---------------------------------------------------------------------------------
    state, tables             the whole state, and the smallest moves; how a table is written
    floor/speech              a cough, a murmur, an interruption, noise, a segment of a turn
    floor/typed, playback     typed words; what was heard of replies, and what was cut
    pending_turn/segments     a segment of a turn takes the floor, and ends
    pending_turn/waiting      the turn's second moment, and the reply prepared for it
    pending_turn/words        the transcripts of the segments; `early_words`: the words of what is being said
    barge_in/candidate        a short utterance over a reply, until it is known whether it wants the floor
    barge_in/hints            playback turned down for a voice that may be beginning, or is not the caller's
    reply/replies, failures   asked for, streaming, finished, refused, overdue; replies that do not come whole
    tool_calls, thinkers      the ledger of tool calls; answers in time, dismissals; `late_answers`: answers too late
    connection, silence       the line breaks and comes back; fillers, nudges, an answer owed too long
    ending, client            the last sentence of a call; what the caller's program decides
    moves                     moves that several of these share; hanging up
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from backend.page_events import ErrorShown, InterruptionsChanged
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Command
from backend.turns.limits import TurnLimits
from backend.turns.machine import client, connection, ending, silence, thinkers
from backend.turns.machine.barge_in import candidate
from backend.turns.machine.barge_in.table import TABLE as BARGE_IN
from backend.turns.machine.floor import playback, speech, typed
from backend.turns.machine.floor.state import Floor, Playback
from backend.turns.machine.floor.table import TABLE as FLOOR
from backend.turns.machine.pending_turn import early_words, waiting
from backend.turns.machine.pending_turn.table import TABLE as PENDING_TURN
from backend.turns.machine.reply import replies
from backend.turns.machine.reply.state import Phase
from backend.turns.machine.reply.table import TABLE as REPLY
from backend.turns.machine.state import Act, Deadlines, State
from backend.turns.machine.tables import Rule
from backend.turns.notices import Notices


class TurnMachine:
    """The turn machine of one conversation."""

    def __init__(self, limits: TurnLimits | None = None) -> None:
        self._state = State(limits or TurnLimits())

    def __repr__(self) -> str:
        return f"TurnMachine({self._state!r})"

    # --- the three ways in ----------------------------------------------------------------------------

    def receive(self, event: ev.Event, now: float) -> list[Command]:
        """Handle `event`, and return the commands to carry out."""
        state = self._state
        if isinstance(event, ev.ReplyAudio):  # the audio of a reply settles nothing and asks for nothing
            if state.floor.holder is not Floor.CLOSED:
                replies.on_audio(state, event, now)
        elif state.floor.holder is not Floor.CLOSED:
            _dispatch(state, event, now)
            _go_on(state, now)
            _ask(state, now)
        elif isinstance(event, ev.PlaybackFlushed):
            playback.on_flushed(state, event, now)
            replies.settle_notices(state, now)
        commands, state.commands = state.commands, []
        return commands

    def deadline(self) -> float | None:
        """Return when to call `expire` next if no event comes before; None: not at all."""
        return min((at for at, _ in _deadlines(self._state)), default=None)

    def expire(self, now: float) -> list[Command]:
        """Take the steps that are due by `now`, and return the commands to carry out."""
        state = self._state
        while act := _due(state, now):
            act(state, now)
            _go_on(state, now)
        if state.floor.holder is not Floor.CLOSED:
            _ask(state, now)
        commands, state.commands = state.commands, []
        return commands

    # --- what may be asked of it ----------------------------------------------------------------------

    @property
    def floor(self) -> Floor:
        """The holder of the floor."""
        return self._state.floor.holder

    @property
    def at_rest(self) -> bool:
        """True between two turns: nothing is said, owed, worked on or still to come."""
        return self._state.at_rest

    @property
    def turn(self) -> int:
        """The number of the caller's latest turn."""
        return self._state.floor.turn

    @property
    def notices(self) -> Notices:
        """The notices of this conversation."""
        return self._state.notices


def _on_interruptions_switched(s: State, event: ev.InterruptionsSwitched, now: float) -> None:
    s.limits = replace(s.limits, interruptible=event.allowed)
    s.publish(InterruptionsChanged(event.allowed))


def _on_options_changed(s: State, event: ev.OptionsChanged, now: float) -> None:
    """Take other limits; interruptions are switched separately."""
    s.limits = replace(event.limits, interruptible=s.limits.interruptible, answers=event.answered)


def _on_out_of_band_requested(s: State, event: ev.OutOfBandRequested, now: float) -> None:
    s.commands.append(do.CreateOutOfBand(event.request, event.response))


def _on_notice_arrived(s: State, event: ev.NoticeArrived, now: float) -> None:
    s.commands += s.notices.arrive(event.notice, event.text, event.interruptible)


def _on_notice_withdrawn(s: State, event: ev.NoticeWithdrawn, now: float) -> None:
    s.notices.withdraw(event.notice)


def _on_provider_complained(s: State, event: ev.ProviderComplained, now: float) -> None:
    hint = f"The Responder reported {event.code}; the call goes on."
    s.publish(ErrorShown(event.message, hint, "responder_complained"))


ANYTIME: Mapping[type[ev.Event], Rule[Any]] = {
    ev.InterruptionsSwitched: _on_interruptions_switched,
    ev.OptionsChanged: _on_options_changed,
    ev.OutOfBandRequested: _on_out_of_band_requested,
    ev.MessageAdded: client.on_message_added,
    ev.ToolAnswered: client.on_tool_answered,
    ev.ThinkerFinished: thinkers.on_finished,
    ev.ThinkerFailed: thinkers.on_failed,
    ev.ThinkerDismissed: thinkers.on_dismissed,
    ev.LateAnswerWanted: thinkers.on_late_answer_wanted,
    ev.NoticeArrived: _on_notice_arrived,
    ev.NoticeWithdrawn: _on_notice_withdrawn,
    ev.CallStarted: silence.on_call_started,
    ev.ResponderLost: connection.on_lost,
    ev.ResponderRestored: connection.on_restored,
    ev.ResponderGone: connection.on_gone,
    ev.ProviderComplained: _on_provider_complained,
}
"""The rules of events that depend on no state of the four machines."""
NO_RULE = (ev.OutOfBandProgress, ev.OutOfBandRefused)
"""The events that the call engine handles by itself, because nothing of them is spoken."""


def _dispatch(s: State, event: ev.Event, now: float) -> None:
    """Pass `event` through the tables of the four machines; each sees what the machine before has done."""
    kind = type(event)
    if rule := ANYTIME.get(kind):
        rule(s, event, now)
        return
    if s.floor.holder is Floor.PAUSING and waiting.defer(s, event, now):
        return
    if (rules := FLOOR.get(kind)) and (rule := rules.get(s.floor.holder)):
        rule(s, event, now)
    if (turns := PENDING_TURN.get(kind)) and (rule := turns.get(s.pending.stage)):
        rule(s, event, now)
    if (voices := BARGE_IN.get(kind)) and (rule := voices.get(s.barge_in.phase)):
        rule(s, event, now)
    reply = s.replies.in_flight
    if (phases := REPLY.get(kind)) and (rule := phases.get(reply.phase if reply else Phase.NONE)):
        rule(s, event, now)


def _go_on(s: State, now: float) -> None:
    """Handle the events that were deferred while the turn might go on, and settle the notices that were spoken."""
    while s.pending.replay and s.floor.holder is not Floor.CLOSED:
        _dispatch(s, s.pending.replay.pop(0), now)
    if s.notices.reply is not None:
        replies.settle_notices(s, now)


def _ask(s: State, now: float) -> None:
    """Show the early words, and ask for the most urgent reply that is wanted, or for one that speaks notices."""
    if s.pending.early_words is not None:
        early_words.show(s)
    news = s.notices.waiting and s.notices.reply is None
    if s.replies.wanted or s.calls.asked_for or news:
        replies.ask_next(s, now)  # something is to be said


def _deadlines(s: State) -> Deadlines:
    """Yield each step that becomes due by itself; of two at the same time, the first wins."""
    if s.floor.holder is Floor.CLOSED:
        return
    if s.floor.voice is not None or s.pending.open is not None:
        yield from speech.deadlines(s)
        yield from waiting.deadlines(s)
    if s.floor.holder is Floor.HELD:
        yield from candidate.deadlines(s)
    if s.floor.typed_waiting:
        yield from typed.deadlines(s)
    if s.farewell.reason:
        yield from ending.deadlines(s)
    if s.replies.wanted and replies.next_wanted(s):
        yield s.replies.not_before, replies.ask_next
    if s.line.lost_at is not None:
        yield from connection.deadlines(s)
    if s.notices.waiting and (due := replies.notices_due_at(s)) is not None:
        yield due, replies.begin_notices
    if s.floor.holder not in (Floor.HELD, Floor.PAUSING):
        yield from replies.deadlines(s)
    if s.floor.holder in (Floor.LISTENING, Floor.ASSISTANT) and s.floor.playback is Playback.SILENT:
        yield from silence.waiting_deadlines(s)
    if s.floor.holder is Floor.LISTENING:
        yield from silence.deadlines(s)


def _due(s: State, now: float) -> Act | None:
    """Return the first step that is due, or None; the step removes its own deadline."""
    at, act = min(_deadlines(s), key=lambda entry: entry[0], default=(now, None))
    return act if at <= now else None

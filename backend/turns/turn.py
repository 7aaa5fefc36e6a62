"""The turn machine, one pure state machine of who has the floor: its states and rules here, its parts in `machine/`.

`receive(event, now)` and `expire(now)` return commands; `deadline()` says when `expire` wants to be called.
There is no socket, clock or task in here; `now` is any monotonic time in seconds.

The floor says who may speak; the reply says what the provider is doing for us. They are two machines that
meet in few places: a reply is asked for only when the floor is free, and taking the floor cancels the reply.

    floor       event                                   becomes     and
    ---------   -------------------------------------   ---------   -----------------------------------------
    LISTENING   SpeechStarted, nothing to interrupt     USER
    LISTENING   SpeechStarted, a reply is coming        HELD        HoldPlayback
    ASSISTANT   VoiceSuspected                          as before   DuckPlayback; UnduckPlayback if it was nothing
    ASSISTANT   SpeechStarted                           HELD        DuckPlayback (or HoldPlayback), at once
    HELD        speech lasted interruption_min_ms       USER        CancelReply, FlushPlayback -> truncate, delete
    HELD        ... over an answer that has just begun  USER        the same, -> delete: the turn before goes on
    HELD        a short utterance was read: a murmur    as before   UnduckPlayback: nothing is lost
    HELD        ... anything else, "stop" say           USER        as above
    HELD        the voice is muffled, another's         as before   UnduckPlayback
    HELD        SpeechStopped, under cough_max_ms       as before   ClearInput, UnduckPlayback
    USER        SpeechPaused, commit_after_ms ago       USER        CommitInput: its words come early
    USER        SpeechStopped (the first moment)        PAUSING     CommitInput, an ANSWER is wanted
    USER        SpeechStopped, under turn_min_ms        LISTENING   ClearInput: it was noise
    PAUSING     speech lasted turn_min_ms               USER        CancelReply, DeleteItem: the same turn goes on
    PAUSING     patience is over (the second moment)    LISTENING   what the reply has sent meanwhile happens now
    LISTENING   ReplyAudio, PlayClip                    ASSISTANT   Play
    ASSISTANT   PlaybackDrained, reply finished         LISTENING   Remember what was heard; idling counts from here
    any         TransportClosed, HangUpRequested, ...   CLOSED      CancelThinker, HangUp

    reply        event                                  becomes
    ----------   ------------------------------------   --------------------------------------------------
    none         a purpose is wanted, the floor free    REQUESTED   (CreateReply)
    none         ... an ANSWER, the floor PAUSING       REQUESTED   if the credit for prepared replies allows it
    REQUESTED    ReplyStarted                           STREAMING
    REQUESTED    ReplyRefused                           none; asked for again in retry_after_s
    REQUESTED    no sound in first_audio_within_s       none (CancelReply); asked for once more, then an apology
    STREAMING    ReplyFinished                          none; what of it is missing: see `machine.failures`
    STREAMING    no sound in stall_after_s              CANCELLING; continued, or apologised for
    either       the floor is taken                     CANCELLING
    CANCELLING   ReplyFinished, or cancel_within_s      none

Audio, words and calls are accepted only from the reply that is STREAMING, by its id: what a cancelled reply
still sends is dropped. A call of a cancelled reply is answered at once, since the provider waits for that too.

A Thinker's result is fresh while the caller has not taken a new turn. Fresh: submitted and spoken when the
floor is free, all calls of one reply together. Stale: submitted, and spoken only if the caller asks for it: then as
soon as the floor is free, after the answer to what the caller is just saying; a further turn makes it stale again.
A call the caller dismisses is answered with just that.

A reply that is cut is parked: if the Responder then calls `wait_for_user`, what was said was not meant for it, and the
reply goes on. While interruptions are off, speech over a reply is answered after it.

Notices wait in `notices` for a free and quiet floor on which nobody owes the caller anything.

    machine/    what the file is about
    --------    ---------------------------------------------------------------------------------------------
    state       all that is known at one moment; the smallest moves
    speech      what the caller says: a cough, a murmur, an interruption, noise, a piece of a turn
    overlap     a short utterance over a reply, until it is known what it was
    pieces      a piece of a turn takes the floor, and ends
    words       the transcripts of the pieces
    early_words the words of what is being said
    open_turn   the turn that may still go on: its pieces, its second moment, the reply prepared for it
    replies     ours: asked for, streaming, finished, refused, overdue
    failures    replies that do not come whole, and promises that nobody keeps
    playback    what was heard of them, and what of it was cut
    thinkers    calls of tools, answers in time and late, dismissals
    connection  the connection to the provider breaks, comes back, stays away
    silence     fillers, nudges, the goodbye for idling, an answer owed too long
    ending      the last sentence of a call: a goodbye, or at a limit what the limit is
    client      what the caller's program decides itself: turns, messages, replies, its own tools
    moves       what several of these do; hanging up
"""

from __future__ import annotations

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Command
from backend.turns.limits import TurnLimits
from backend.turns.machine import (
    client,
    connection,
    early_words,
    ending,
    moves,
    open_turn,
    overlap,
    playback,
    replies,
    silence,
    speech,
    thinkers,
    typed,
    words,
)
from backend.turns.machine.state import Act, Deadlines, Floor, State
from backend.turns.notices import Notices
from backend.turns.page_events import ErrorShown, InterruptionsChanged


class TurnMachine:
    """The turn-taking of one conversation."""

    def __init__(self, limits: TurnLimits | None = None) -> None:
        limits = limits or TurnLimits()
        self._state = State(limits, interruptible=limits.interruptible)

    def __repr__(self) -> str:
        return f"TurnMachine({self._state!r})"

    # --- the three ways in ----------------------------------------------------------------------------

    def receive(self, event: ev.Event, now: float) -> list[Command]:
        """Handle `event`, and return the commands to carry out."""
        state = self._state
        if isinstance(event, ev.ReplyAudio):  # the sound of a reply settles nothing and asks for nothing
            if state.floor is not Floor.CLOSED:
                replies.on_audio(state, event, now)
        elif state.floor is not Floor.CLOSED:
            _dispatch(state, event, now)
            _replay(state, now)
            early_words.show(state)
            replies.settle_notices(state, now)
            replies.ask_next(state, now)
        elif isinstance(event, ev.PlaybackFlushed):
            playback.on_flushed(state, event)
            replies.settle_notices(state, now)
        return state.take_commands()

    def deadline(self) -> float | None:
        """Return when `expire` wants to be called next, if nothing else happens."""
        return min((at for at, _ in _deadlines(self._state)), default=None)

    def expire(self, now: float) -> list[Command]:
        """Do what is due by `now`, and return the commands to carry out."""
        state = self._state
        while act := _due(state, now):
            act(state, now)
            _replay(state, now)
            replies.settle_notices(state, now)
        if state.floor is not Floor.CLOSED:
            early_words.show(state)
            replies.ask_next(state, now)
        return state.take_commands()

    # --- what may be asked of it ----------------------------------------------------------------------

    @property
    def floor(self) -> Floor:
        """The holder of the floor."""
        return self._state.floor

    @property
    def at_rest(self) -> bool:
        """Whether this is a moment between two turns: nothing is said, owed, worked on or still to come."""
        return self._state.at_rest

    @property
    def turn(self) -> int:
        """The number of the caller's latest turn."""
        return self._state.turn

    @property
    def notices(self) -> Notices:
        """The notices of this conversation."""
        return self._state.notices

    def turn_age_ms(self, now: float) -> int:
        """Return the milliseconds since the caller's last sound of this turn; of a typed one, since it came."""
        return self._state.clock.age_ms(now)


def _dispatch(s: State, event: ev.Event, now: float) -> None:
    """Pass `event` to the part of the machine that it concerns."""
    match event:
        # the caller's voice, and its words
        case ev.SpeechStarted():
            speech.on_started(s, now)
        case ev.SpeechPaused(voiced_ms):
            speech.on_paused(s, voiced_ms, now)
        case ev.SpeechResumed(voiced_ms):
            speech.on_resumed(s, voiced_ms, now)
        case ev.SpeechStopped():
            speech.on_stopped(s, event, now)
        case ev.VoiceMuffled(muffled):
            speech.on_muffled(s, muffled, now)
        case ev.VoiceSuspected(suspected):
            speech.on_suspected(s, suspected)
        case ev.UtteranceRead():
            speech.on_read(s, event, now)
        case ev.SentenceEndEstimated():
            words.on_sentence_end(s, event, now)
        case ev.InputCommitted():
            words.on_committed(s, event)
        case ev.UserTranscriptGrew(item, delta):
            words.on_transcript_grew(s, item, delta)
        case ev.UserTranscribed():
            words.on_transcribed(s, event, now)
        # what the caller types and chooses
        case ev.TextTyped():
            typed.on_typed(s, event, now)
        case ev.InterruptionsSwitched(allowed):
            s.interruptible = allowed
            s.publish(InterruptionsChanged(allowed))
        case ev.OptionsChanged(limits, answered):
            s.limits, s.answers = limits, answered
        # what the caller's program decides
        case ev.InputHandedIn():
            client.on_input_handed_in(s, now)
        case ev.InputCommitWanted():
            client.on_input_commit_wanted(s, now)
        case ev.InputDropped():
            client.on_input_dropped(s, now)
        case ev.MessageAdded():
            client.on_message_added(s, event, now)
        case ev.ToolAnswered(call, output):
            client.on_tool_answered(s, call, output)
        case ev.ReplyRequested(hint):
            client.on_reply_requested(s, hint, now)
        case ev.ReplyCalledOff():
            client.on_reply_called_off(s, now)
        case ev.OutOfBandRequested(request, response):
            s.commands.append(do.CreateOutOfBand(request, response))
        case ev.OutOfBandProgress() | ev.OutOfBandRefused():
            return  # nothing of it is spoken
        # replies, and what is heard of them
        case ev.ReplyStarted():
            replies.on_started(s, event, now)
        case ev.ReplyText():
            replies.on_text(s, event, now)
        case ev.MessageFinished():
            replies.on_message_finished(s, event, now)
        case ev.ReplyFinished():
            replies.on_finished(s, event, now)
        case ev.ReplyRefused():
            replies.on_refused(s, event, now)
        case ev.PlaybackStarted(item):
            playback.on_playback_started(s, item, now)
        case ev.PlaybackDrained(item, played_ms):
            playback.on_drained(s, item, played_ms, now)
        case ev.PlaybackFlushed():
            playback.on_flushed(s, event)
        # tool calls
        case ev.ToolCalled():
            thinkers.on_tool_called(s, event, now)
        case ev.ThinkerFinished():
            thinkers.on_finished(s, event)
        case ev.ThinkerFailed(call, reason):
            thinkers.on_failed(s, call, reason)
        case ev.ThinkerDismissed(call):
            thinkers.on_dismissed(s, call, now)
        case ev.LateAnswerWanted(call, output):
            thinkers.on_late_answer_wanted(s, call, output, now)
        # notices
        case ev.NoticeArrived(notice, text, interruptible):
            s.commands += s.notices.arrive(notice, text, interruptible)
        case ev.NoticeWithdrawn(notice):
            s.notices.withdraw(notice)
        # the call and its connections
        case ev.CallStarted():
            silence.on_call_started(s, now)
        case ev.ResponderLost():
            connection.on_lost(s, now)
        case ev.ResponderRestored():
            connection.on_restored(s, event, now)
        case ev.ResponderGone(_, refused):
            connection.on_gone(s, refused, now)
        case ev.ProviderComplained(code, message):
            s.publish(ErrorShown(message, f"The Responder reported {code}; the call goes on.", "responder_complained"))
        case ev.HangUpRequested(reason):
            ending.on_hang_up_requested(s, reason, now)
        case ev.TransportClosed(reason):
            moves.close(s, reason)


def _replay(s: State, now: float) -> None:
    """Handle what was deferred while the turn might have gone on."""
    while s.replay and s.floor is not Floor.CLOSED:
        event = s.replay.pop(0)
        if isinstance(event, ev.ReplyAudio):
            replies.on_audio(s, event, now)
        else:
            _dispatch(s, event, now)


def _deadlines(s: State) -> Deadlines:
    """Yield everything that becomes due by itself, and what is then done; of two at once, the first one wins."""
    if s.floor is Floor.CLOSED:
        return
    yield from speech.deadlines(s)
    yield from overlap.deadlines(s)
    yield from typed.deadlines(s)
    yield from open_turn.deadlines(s)
    yield from ending.deadlines(s)
    if replies.next_wanted(s):
        yield s.not_before, replies.ask_next
    yield from connection.deadlines(s)
    if (due := replies.notices_due_at(s)) is not None:
        yield due, replies.begin_notices
    if s.floor not in (Floor.HELD, Floor.PAUSING):
        yield from replies.deadlines(s)
    yield from silence.waiting_deadlines(s)
    if s.floor is Floor.LISTENING:
        yield from silence.deadlines(s)


def _due(s: State, now: float) -> Act | None:
    """Return the first thing that is due; doing it takes its deadline away."""
    at, act = min(_deadlines(s), key=lambda entry: entry[0], default=(now, None))
    return act if at <= now else None

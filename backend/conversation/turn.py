"""Whose turn it is: the whole of it, in one pure state machine.

`receive(event, now)` and `expire(now)` return commands; `deadline()` says when `expire` wants to be called.
There is no socket, clock or task in here: `now` is any monotonic time in seconds.

The floor says who has the word; the reply says what the provider is doing for us. They are two machines that
meet in few places: a reply is asked for only when the floor is free, and taking the floor cancels the reply.

    floor       event                                   becomes     and
    ---------   -------------------------------------   ---------   -----------------------------------------
    LISTENING   SpeechStarted, nothing to interrupt     USER
    LISTENING   SpeechStarted, a reply is coming        HELD        HoldPlayback
    ASSISTANT   SpeechStarted                           HELD        HoldPlayback, at once
    HELD        speech lasted interruption_min_ms       USER        CancelReply, FlushPlayback -> truncate, delete
    HELD        SpeechStopped before that (a cough)     as before   ClearInput, ResumePlayback: nothing is lost
    USER        SpeechStopped                           LISTENING   CommitInput, an ANSWER is wanted
    USER        SpeechStopped, under turn_min_ms        LISTENING   ClearInput: it was noise
    LISTENING   ReplyAudio, PlayClip                    ASSISTANT   Play
    ASSISTANT   PlaybackDrained, reply finished         LISTENING   Remember what was heard; idling counts from here
    any         TransportClosed, HangUpRequested, ...   CLOSED      CancelThinker, HangUp

    reply        event                                  becomes
    ----------   ------------------------------------   --------------------------------------------------
    none         a purpose is wanted, the floor free    REQUESTED   (CreateReply)
    REQUESTED    ReplyStarted                           STREAMING
    REQUESTED    ReplyRefused                           none; asked for again in retry_after_s
    REQUESTED    no sound in first_audio_within_s       CANCELLING; asked for once more, then an apology
    STREAMING    ReplyFinished                          none; one that came to nothing is asked for once more
    either       the floor is taken                     CANCELLING
    CANCELLING   ReplyFinished, or cancel_within_s      none

Audio, words and calls are accepted only from the reply that is STREAMING, by its id: what a cancelled reply
still sends is dropped. A call of a cancelled reply is answered at once, since the provider waits for that too.

A Thinker's result is fresh while the caller has not taken a new turn. Fresh: submitted and spoken when the
floor is free, all calls of one reply together. Stale: submitted, and spoken only if the caller asks for it: then as
soon as the floor is free, after the answer to what the caller is just saying; a further turn makes it stale again.
A call the caller dismisses is answered with just that.

What is told unasked waits in `notices` for a free and quiet floor on which nobody owes the caller anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.conversation.calls import Call, CallLedger
from backend.conversation.commands import Clip, Command, Publish, Purpose
from backend.conversation.limits import TurnLimits
from backend.conversation.notices import Notices
from backend.conversation.spoken import SpokenItem, SpokenItems
from backend.conversation.turn_clock import TurnClock
from backend.conversation.utterance import Utterance

ACTIVE_REPLY = "conversation_already_has_active_response"
"""The provider's code for a second reply at once."""
IDLE = "idle"
"""The one reason for leaving that the caller can still talk us out of."""
MAX_REFUSALS = 20
"""Refusals in a row after which a reply has come to nothing."""
MAX_ATTEMPTS = 2
"""Times a reply that came to nothing is asked for."""


DISMISSED = json.dumps({"cancelled": "The caller has cancelled this question. At most say that it is all right."})
"""What the Responder is told of such a call."""


class Floor(StrEnum):
    """Who has the word."""

    LISTENING = "listening"
    USER = "user"
    ASSISTANT = "assistant"
    HELD = "held"
    CLOSED = "closed"


class Phase(StrEnum):
    """What the provider is doing for us; no reply at all is `None` in its place."""

    REQUESTED = "requested"
    STREAMING = "streaming"
    CANCELLING = "cancelling"


ALLOWED = {Floor.LISTENING: tuple(Purpose), Floor.ASSISTANT: (Purpose.ANSWER, Purpose.RESULT)}
"""What may be asked for while the floor is so, most urgent first. Speech of ours may queue behind speech of ours."""


@dataclass(slots=True)
class Reply:
    """The one reply in flight."""

    request: str
    purpose: Purpose
    attempt: int
    since: float
    phase: Phase = Phase.REQUESTED
    id: str | None = None
    sounded: bool = False
    called: bool = False


class TurnMachine:
    """One conversation's turn-taking."""

    def __init__(self, limits: TurnLimits | None = None) -> None:
        self.limits = limits or TurnLimits()
        self.floor = Floor.LISTENING
        self.turn = 0
        """The number of the caller's latest turn."""
        self._out: list[Command] = []
        self._reply: Reply | None = None
        self._requests = 0
        self._wanted: dict[Purpose, int] = {}
        self._not_before = 0.0
        self._refusals = 0
        self._utterance: Utterance | None = None
        self._items = SpokenItems()
        self._playing = False
        self._calls = CallLedger()
        self._notices = Notices()
        self._notices_not_before = 0.0
        self._opened = False
        self._last_voice_at = 0.0
        self._clock = TurnClock()
        self._owed_since: float | None = None
        self._last_sound_at = 0.0
        self._fillers = 0
        self._idle_since: float | None = None
        self._nudged = False
        self._leaving: str | None = None
        self._leave_by = 0.0
        self._lost_at: float | None = None
        self._moment_said = False
        self._missed = False
        self._untranscribed = False
        self._discard_commit = False
        self._discarded: str | None = None
        self._notes: list[str] = []
        self._asked_for: dict[str, tuple[str, int]] = {}
        self._typed_meanwhile: list[str] = []

    def __repr__(self) -> str:
        reply = f"{self._reply.purpose} {self._reply.phase}" if self._reply else "none"
        playing = ", playing" if self._playing else ""
        return f"TurnMachine(turn {self.turn}, floor {self.floor}, reply {reply}{playing}, wanted {[*self._wanted]})"

    @property
    def telling(self) -> tuple[str, ...]:
        """The notices that are being told."""
        telling = self._notices.telling
        return tuple(pending.notice for pending in telling.notices) if telling else ()

    @property
    def left_for_next_call(self) -> tuple[str, ...]:
        """The notices tried in vain in this one."""
        return self._notices.parked

    # --- the three ways in ----------------------------------------------------------------------------

    def receive(self, event: ev.Event, now: float) -> list[Command]:
        """Take note of `event` and say what to do."""
        if self.floor is not Floor.CLOSED:
            self._dispatch(event, now)
            self._settle_notices(now)
            self._ask_next(now)
        elif isinstance(event, ev.PlaybackFlushed):
            self._on_flushed(event)
            self._settle_notices(now)
        return self._taken()

    def turn_age_ms(self, now: float) -> int:
        """Milliseconds since the caller's last sound of this turn; for a typed one, since it came."""
        return self._clock.age_ms(now)

    def deadline(self) -> float | None:
        """When `expire` wants to be called next, if nothing else happens."""
        return min((at for at, _ in self._deadlines()), default=None)

    def expire(self, now: float) -> list[Command]:
        """Do what has become due by `now`."""
        while act := self._due(now):
            act(now)
            self._settle_notices(now)
        if self.floor is not Floor.CLOSED:
            self._ask_next(now)
        return self._taken()

    def _due(self, now: float) -> Callable[[float], None] | None:
        """The first thing that is due; doing it takes its deadline away."""
        at, act = min(self._deadlines(), key=lambda entry: entry[0], default=(now, None))
        return act if at <= now else None

    def _dispatch(self, event: ev.Event, now: float) -> None:
        match event:
            case ev.ReplyAudio():
                self._on_audio(event, now)
            case ev.ReplyText():
                self._on_text(event, now)
            case ev.SpeechStarted():
                self._on_speech_started(now)
            case ev.SpeechPaused(voiced_ms):
                self._on_speech_paused(voiced_ms)
            case ev.SpeechResumed(voiced_ms):
                self._on_speech_resumed(voiced_ms, now)
            case ev.SpeechStopped():
                self._on_speech_stopped(event, now)
            case ev.InputCommitted():
                self._on_committed(event)
            case ev.UserTranscriptGrew(item, delta) if item != self._discarded:
                self._tell("transcript_delta", role="user", item_id=item, delta=delta)
            case ev.UserTranscribed(item, text):
                self._on_transcribed(item, text)
            case ev.TextTyped(text):
                self._on_typed(text, now)
            case ev.ReplyStarted():
                self._on_reply_started(event, now)
            case ev.ReplyFinished():
                self._on_reply_finished(event, now)
            case ev.ReplyRefused():
                self._on_refused(event, now)
            case ev.ToolCalled():
                self._on_tool_called(event, now)
            case ev.ThinkerFinished(call, output):
                self._on_thinker_done(call, output, failed=False)
            case ev.ThinkerFailed(call, reason):
                self._on_thinker_done(call, json.dumps({"error": reason}), failed=True)
            case ev.ThinkerDismissed(call):
                self._on_dismissed(call, now)
            case ev.LateAnswerWanted(call, output):
                self._on_late_answer_wanted(call, output, now)
            case ev.NoticeArrived(notice, text):
                self._out += self._notices.arrive(notice, text)
            case ev.NoticeWithdrawn(notice):
                self._notices.withdraw(notice)
            case ev.PlaybackStarted(item):
                self._on_playback_started(item, now)
            case ev.PlaybackDrained(item, played_ms):
                self._on_drained(item, played_ms, now)
            case ev.PlaybackFlushed():
                self._on_flushed(event)
            case ev.CallStarted():
                self._on_call_started(now)
            case ev.ResponderLost():
                self._on_responder_lost(now)
            case ev.ResponderRestored():
                self._on_responder_restored(now)
            case ev.ResponderGone():
                self._on_responder_gone(now)
            case ev.ProviderComplained(code, message):
                self._tell("error", message=message, hint=f"The Responder reported {code}; the call goes on.")
            case ev.HangUpRequested(reason):
                self._on_hang_up_requested(reason, now)
            case ev.TransportClosed(reason):
                self._close(reason)

    # --- the caller speaks ----------------------------------------------------------------------------

    def _on_speech_started(self, now: float) -> None:
        if self.floor not in (Floor.LISTENING, Floor.ASSISTANT) or self._leaving not in (None, IDLE):
            return
        self._utterance = Utterance(now)
        if not self._something_to_interrupt():
            self._give_floor(Floor.USER)
            return
        self._give_floor(Floor.HELD)
        self._out.append(do.HoldPlayback())
        if self.limits.interruption_min_ms == 0:
            self._take_over(now)

    def _on_speech_paused(self, voiced_ms: int) -> None:
        if self._utterance:
            self._utterance.pause(voiced_ms)

    def _on_speech_resumed(self, voiced_ms: int, now: float) -> None:
        if self._utterance:
            self._utterance.resume(voiced_ms, now)

    def _on_speech_stopped(self, event: ev.SpeechStopped, now: float) -> None:
        if self.floor not in (Floor.USER, Floor.HELD):
            return
        self._utterance = None
        self._last_voice_at = now
        if self.floor is Floor.HELD:
            if event.voiced_ms < self.limits.interruption_min_ms:
                self._forget_input()
                self._release_hold()
                return
            self._take_over(now)
        if event.voiced_ms < self.limits.turn_min_ms:
            self._forget_input()
            self._give_floor(Floor.LISTENING)
            return
        self._end_turn(event, now)

    def _end_turn(self, event: ev.SpeechStopped, now: float) -> None:
        self._give_floor(Floor.LISTENING)
        self._begin_turn(now, event.hangover_ms)
        if self._missed or self._lost_at is not None:
            self._missed = True
            self._admit_missing(now)
            return
        self._untranscribed = True
        if self.limits.endpointing == "local":
            self._out.append(do.CommitInput())
        self._want(Purpose.ANSWER)

    def _take_over(self, now: float) -> None:
        """The caller has really taken the floor."""
        if self._leaving == IDLE:
            self._leaving = None
        self._stop_reply(now)
        self._give_floor(Floor.USER)

    def _release_hold(self) -> None:
        """It was a cough: go on exactly where we were."""
        self._out.append(do.ResumePlayback())
        self._give_floor(Floor.ASSISTANT if self._playing else Floor.LISTENING)

    def _forget_input(self) -> None:
        """The audio sent since the last commit was no turn; a provider that endpoints commits it all the same."""
        self._missed = False
        if self.limits.endpointing == "local":
            self._out.append(do.ClearInput())
        else:
            self._discard_commit = True

    def _on_committed(self, event: ev.InputCommitted) -> None:
        if self._discard_commit:
            self._discard_commit = False
            self._discarded = event.item
            self._out.append(do.DeleteItem(event.item))
            return
        self._tell("transcript_delta", role="user", item_id=event.item, delta="", previous_item_id=event.previous)

    def _on_transcribed(self, item: str, text: str) -> None:
        if item == self._discarded:
            return
        self._untranscribed = False
        self._tell("transcript", role="user", item_id=item, content=text.strip())
        if text.strip():
            self._out.append(do.Remember("user", text.strip()))

    def _on_typed(self, text: str, now: float) -> None:
        if self.floor is Floor.HELD or self._something_to_interrupt():
            self._stop_reply(now)
        if self.floor is Floor.HELD:
            self._give_floor(Floor.USER)
        elif self.floor is Floor.ASSISTANT:
            self._give_floor(Floor.LISTENING)
        self._begin_turn(now, 0)
        self._untranscribed = False
        self._tell("transcript", role="user", item_id=f"typed-{self.turn}", content=text)
        if self._lost_at is None:
            self._add_typed(text)
        else:
            self._typed_meanwhile.append(text)
        self._want(Purpose.ANSWER)

    def _add_typed(self, text: str) -> None:
        self._out += [do.AddUserText(text), do.Remember("user", text)]

    def _begin_turn(self, now: float, hangover_ms: int) -> None:
        """The caller has said something new: what was under way for the last turn is stale from here on."""
        self.turn += 1
        self._opened = True
        overtaken = [call for call, (_, turn) in self._asked_for.items() if turn < self.turn]
        for call in overtaken:
            del self._asked_for[call]
        for call in (*self._calls.lapse_answered(), *overtaken):
            self._tell("thinker", call_id=call, event="stale")
        self._wanted.clear()
        self._refusals = self._fillers = 0
        self._owed_since = now
        self._idle_since = now
        self._nudged = False
        if self._leaving == IDLE:
            self._leaving = None
        self._clock.begin(self.turn, now, hangover_ms)

    # --- a reply is asked for, comes, ends ------------------------------------------------------------

    def _want(self, purpose: Purpose, attempt: int = 1) -> None:
        self._wanted[purpose] = attempt

    def _next_wanted(self) -> Purpose | None:
        """The most urgent purpose that may be asked for now, retries' pauses aside."""
        if not self._wanted or self._reply is not None or self._lost_at is not None:
            return None
        allowed = ALLOWED.get(self.floor, ())
        if self._leaving:
            allowed = (Purpose.GOODBYE,) if self.floor is Floor.LISTENING else ()
        return next((purpose for purpose in allowed if purpose in self._wanted), None)

    def _ask_next(self, now: float) -> None:
        if self._asked_for and self._leaving is None:
            self._wanted.setdefault(Purpose.RESULT, 1)
        purpose = self._next_wanted()
        if purpose is None:
            self._tell_notices(now)
            return
        if now < self._not_before:
            return
        attempt = self._wanted.pop(purpose)
        for lesser in (Purpose.FILLER, Purpose.NUDGE):
            self._wanted.pop(lesser, None)
        if purpose in (Purpose.ANSWER, Purpose.RESULT):
            self._wanted.pop(Purpose.RESULT, None)
            self._calls.settle_answered()
        if purpose is Purpose.RESULT:
            self._hand_in_asked_for()
        self._requests += 1
        self._reply = Reply(f"{purpose}-{self._requests}", purpose, attempt, now)
        self._out.append(do.CreateReply(purpose, self._reply.request))
        self._clock.reach("commit_ms", now)

    def _on_reply_started(self, event: ev.ReplyStarted, now: float) -> None:
        reply = self._reply
        if reply is None or reply.id is not None or event.request not in (None, reply.request):
            self._out.append(do.CancelReply(event.reply))
            return
        reply.id = event.reply
        if reply.phase is Phase.CANCELLING:
            self._out.append(do.CancelReply(event.reply))
            return
        reply.phase = Phase.STREAMING
        self._refusals = 0
        self._clock.reach("reply_started_ms", now)

    def _on_audio(self, event: ev.ReplyAudio, now: float) -> None:
        reply = self._streaming(event.reply)
        if reply is None or not event.pcm:
            return
        reply.sounded = True
        reply.since = now
        self._out += self._notices.sounded(reply.request)
        self._clock.reach("first_audio_ms", now)
        self._items.get(event.item, reply.purpose).audio_bytes += len(event.pcm)
        self._playing = True
        if self.floor is Floor.LISTENING:
            self._give_floor(Floor.ASSISTANT)
        self._out.append(do.Play(event.item, event.pcm))

    def _on_text(self, event: ev.ReplyText, now: float) -> None:
        reply = self._streaming(event.reply)
        if reply is None:
            return
        self._clock.token(now)
        self._items.get(event.item, reply.purpose).text += event.delta
        self._tell("transcript_delta", role="assistant", item_id=event.item, delta=event.delta)

    def _on_reply_finished(self, event: ev.ReplyFinished, now: float) -> None:
        reply = self._reply
        if reply is None or reply.id != event.reply:
            return
        self._reply = None
        if reply.phase is Phase.CANCELLING:
            return
        self._finish_items()
        if event.status == "completed":
            self._notices.completed(reply.request)
        if not reply.sounded and not reply.called:
            self._came_to_nothing(reply, event.detail or event.status, now)
        elif not self._playing:
            self._heard_out(now)

    def _on_refused(self, event: ev.ReplyRefused, now: float) -> None:
        reply = self._reply
        if reply is None or reply.request != event.request or reply.id is not None:
            return
        self._reply = None
        if reply.phase is Phase.CANCELLING:
            return
        self._refusals += 1
        if self._refusals > MAX_REFUSALS or event.code != ACTIVE_REPLY:
            self._came_to_nothing(reply, event.code, now)
            return
        self._out.append(do.CancelReply(None))
        self._not_before = now + self.limits.retry_after_s
        self._want_again(reply)

    def _want_again(self, reply: Reply) -> None:
        """The same once more; a notice comes back by itself."""
        if reply.purpose is not Purpose.NOTICE:
            self._want(reply.purpose, reply.attempt)

    def _came_to_nothing(self, reply: Reply, why: str, now: float) -> None:
        """Neither sound nor call came of it."""
        self._last_sound_at = now
        if reply.purpose is Purpose.GOODBYE:
            self._play_clip(Clip.GOODBYE)
        elif reply.purpose not in (Purpose.ANSWER, Purpose.RESULT):
            return
        elif reply.attempt < MAX_ATTEMPTS:
            self._not_before = now + self.limits.retry_after_s
            self._want(reply.purpose, reply.attempt + 1)
        else:
            self._apologise(why)

    def _apologise(self, why: str) -> None:
        self._tell("error", message=f"The reply failed ({why}).", hint="Ask again; the call goes on.")
        self._play_clip(Clip.SORRY)

    def _stop_reply(self, now: float) -> None:
        """End what is being said, and all that was going to be said."""
        self._wanted.clear()
        self._cancel_reply(now)
        self._playing = False
        self._out.append(do.FlushPlayback())

    def _cancel_reply(self, now: float) -> None:
        reply = self._reply
        if reply and reply.phase is not Phase.CANCELLING:
            self._out.append(do.CancelReply(reply.id))
            reply.phase = Phase.CANCELLING
            reply.since = now

    # --- what is heard --------------------------------------------------------------------------------

    def _on_playback_started(self, item: str, now: float) -> None:
        self._owed_since = None
        report = self._clock.reach("played_ms", now)
        if report:
            self._tell("turn_metrics", **report)
        for spoken in self._items.take_before(item):
            self._heard_whole(spoken)

    def _on_drained(self, item: str, played_ms: int, now: float) -> None:
        self._playing = False
        self._last_sound_at = now
        if self._reply and self._reply.phase is Phase.STREAMING:
            self._reply.since = now
            return
        self._tell("audio_playback_finished", item_id=item, played_ms=played_ms)
        self._heard_out(now)

    def _heard_out(self, now: float) -> None:
        """All there was to say has been heard."""
        over = self._items.take_finished()
        self._opened |= bool(over)
        for spoken in over:
            self._heard_whole(spoken)
        self._last_sound_at = now
        if not any(spoken.purpose is Purpose.NUDGE for spoken in over):
            self._idle_since = now
        if self.floor is Floor.ASSISTANT:
            self._give_floor(Floor.LISTENING)
        if self._leaving and self._reply is None and not self._wanted:
            self._close(self._leaving)

    def _heard_whole(self, spoken: SpokenItem) -> None:
        text = spoken.text.strip()
        if spoken.purpose is Purpose.NOTICE:
            self._notices.heard(spoken, spoken.audio_ms, text)
        if text:
            self._tell("transcript", role="assistant", item_id=spoken.item, content=text)
            self._out.append(do.Remember("assistant", text))

    def _on_flushed(self, event: ev.PlaybackFlushed) -> None:
        """Playback was cut: the provider must know, item by item, how much was heard."""
        played = {heard.item: heard.played_ms for heard in event.items}
        for spoken in self._items.take_all():
            played_ms = min(played.get(spoken.item, spoken.audio_ms), spoken.audio_ms)
            if spoken.finished and spoken.audio_bytes and spoken.item not in played:
                self._heard_whole(spoken)
            else:
                self._heard_partly(spoken, played_ms)

    def _heard_partly(self, spoken: SpokenItem, played_ms: int) -> None:
        heard = spoken.heard(played_ms)
        if spoken.purpose is Purpose.NOTICE:
            self._notices.heard(spoken, played_ms, heard)
        if self._lost_at is None and self.floor is not Floor.CLOSED:
            cut = do.TruncateItem(spoken.item, played_ms) if played_ms > 0 else do.DeleteItem(spoken.item)
            self._out.append(cut)
        self._tell("transcript_interrupted", item_id=spoken.item, heard=heard, content=spoken.text.strip())
        if heard:
            self._out.append(do.Remember("assistant", heard))

    # --- Thinkers -------------------------------------------------------------------------------------

    def _on_tool_called(self, event: ev.ToolCalled, now: float) -> None:
        call = self._calls.open(event.call, event.reply, self.turn, now)
        if call is None:
            return
        reply = self._streaming(event.reply)
        if reply is None:
            self._calls.answer(event.call)
            self._calls.settle(event.call)
            self._out.append(do.SubmitResult(event.call, json.dumps({"error": "cancelled: the caller took the floor"})))
            return
        reply.called = True
        reply.since = now
        self._out.append(do.RunThinker(event.call, event.name, event.arguments))

    def _on_thinker_done(self, call_id: str, output: str, *, failed: bool) -> None:
        call = self._calls.answer(call_id)
        if call is None:
            return
        self._submit(call, output)
        if call.turn != self.turn:
            self._calls.lapse(call_id)
            self._tell("thinker", call_id=call_id, event="stale")
            return
        self._tell("thinker", call_id=call_id, event="failed" if failed else "complete")
        if self._calls.group_done(call.group):
            self._want(Purpose.RESULT)

    def _on_dismissed(self, call_id: str, now: float) -> None:
        call = self._calls.answer(call_id)
        if call is None:
            return
        self._calls.settle(call_id)
        self._out.append(do.CancelThinker(call_id))
        if not call.orphaned:
            self._out.append(do.SubmitResult(call_id, DISMISSED))
        self._tell("thinker", call_id=call_id, event="cancelled")
        self._caller_is_here(now)
        silent = self._owed_since is not None and not self._calls.running(self.turn)
        group_over = call.turn == self.turn and self._calls.group_done(call.group)
        if group_over and (silent or self._calls.has_answers(call.group)):
            self._want(Purpose.RESULT)

    def _on_late_answer_wanted(self, call_id: str, output: str, now: float) -> None:
        if self._leaving not in (None, IDLE) or call_id in self._asked_for or not self._calls.is_stale(call_id):
            return
        speaking = self.floor in (Floor.USER, Floor.HELD)
        self._asked_for[call_id] = output, self.turn + speaking
        self._tell("thinker", call_id=call_id, event="complete")
        self._caller_is_here(now)

    def _hand_in_asked_for(self) -> None:
        """The answers the caller asked for, right before the reply that speaks them."""
        for call, (output, _) in self._asked_for.items():
            self._out.append(do.AddNote(output))
            self._calls.settle(call)
        self._asked_for.clear()

    def _caller_is_here(self, now: float) -> None:
        """A sign of life that is no turn: idling counts anew."""
        self._idle_since = now
        self._nudged = False
        if self._leaving == IDLE:
            self._leaving = None
            self._wanted.pop(Purpose.GOODBYE, None)

    def _submit(self, call: Call, output: str) -> None:
        if not call.orphaned:
            self._out.append(do.SubmitResult(call.call, output))
        elif self._lost_at is None:
            self._out.append(do.AddNote(output))
        else:
            self._notes.append(output)

    # --- what is told unasked -------------------------------------------------------------------------

    def _tell_notices(self, now: float) -> None:
        due = self._notices_due_at()
        if due is None or now < due:
            return
        self._requests += 1
        self._reply = Reply(f"{Purpose.NOTICE}-{self._requests}", Purpose.NOTICE, 1, now)
        notes, hint = self._notices.begin(self._reply.request)
        self._out += [*notes, do.CreateReply(Purpose.NOTICE, self._reply.request, hint)]
        self._clock.drop()  # what it sounds like is no part of a turn

    def _notices_due_at(self) -> float | None:
        """When what waits may be told; None while something else goes first, or nothing waits."""
        if not self._notices.waiting or not self._opened or self.floor is not Floor.LISTENING:
            return None
        busy = self._reply or self._playing or self._wanted or self._leaving or self._calls.running(self.turn)
        if busy or self._owed_since is not None or self._lost_at is not None:
            return None
        quiet_since = max(self._last_sound_at, self._last_voice_at)
        return max(quiet_since + self.limits.notice_after_s, self._notices_not_before)

    def _settle_notices(self, now: float) -> None:
        """A telling is over once its reply is, and all of it was heard or thrown away."""
        telling, reply = self._notices.telling, self._reply
        if telling is None or self._items.sounding(Purpose.NOTICE):
            return
        if reply and reply.request == telling.request and reply.phase is not Phase.CANCELLING:
            return
        if telling.heard_ms == 0:
            self._notices_not_before = now + self.limits.notice_retry_s
        self._out += self._notices.settle()

    # --- the call begins, breaks, ends ----------------------------------------------------------------

    def _on_call_started(self, now: float) -> None:
        self._idle_since = self._last_sound_at = now
        if self.limits.greeting:
            self._want(Purpose.GREETING)

    def _on_responder_lost(self, now: float) -> None:
        if self._lost_at is not None:
            return
        self._lost_at = now
        self._moment_said = False
        self._tell("error", message="The line to the Responder broke.", hint="Reconnecting; the call goes on.")
        broken_off = self._finish_items()
        self._calls.orphan_all()
        self._notices.line_lost()
        reply, self._reply = self._reply, None
        if reply and reply.phase is not Phase.CANCELLING and not reply.called:
            self._want_again(reply)
            if reply.sounded and reply.purpose is not Purpose.NOTICE:
                said = " ".join(spoken.text.strip() for spoken in broken_off)
                self._notes.append(f"The line broke when you had said: {json.dumps(said)}. Briefly finish it.")
        if self.floor in (Floor.USER, Floor.HELD) and self.limits.endpointing == "provider":
            self._utterance = None
            self._release_hold()
            self._missed = True
        elif self._utterance or (self._untranscribed and Purpose.ANSWER in self._wanted):
            self._missed = True
        if not self._playing:
            self._heard_out(now)

    def _on_responder_restored(self, now: float) -> None:
        self._lost_at = None
        if self._typed_meanwhile:
            self._want(Purpose.ANSWER)  # an apology may have come between
        if self._wanted and self._owed_since is None:
            self._owed_since = now  # "one moment" was no answer
        self._out.extend(do.AddNote(note) for note in self._notes)
        self._notes.clear()
        for text in self._typed_meanwhile:
            self._add_typed(text)
        self._typed_meanwhile.clear()
        self._admit_missing(now)

    def _admit_missing(self, now: float) -> None:
        """Words were lost with the line: ask for them again rather than answer something else."""
        if self._missed and self._lost_at is None and self.floor in (Floor.LISTENING, Floor.ASSISTANT):
            self._missed = False
            self._wanted.pop(Purpose.ANSWER, None)
            self._out.append(do.ClearInput())
            self._idle_since = now
            self._apologise("the line broke while you spoke")

    def _on_responder_gone(self, now: float) -> None:
        self._tell("error", message="The Responder cannot be reached.", hint="Call again in a moment.")
        self._leave("responder_gone", Clip.LOST, now)

    def _on_hang_up_requested(self, reason: str, now: float) -> None:
        if reason == "deleted":
            self._close(reason)
        elif self._leaving is None or self._leaving == IDLE:
            self._leave(reason, Clip.GOODBYE, now)

    def _leave(self, reason: str, clip: Clip, now: float) -> None:
        """Say one last thing of our own, then hang up."""
        self._stop_reply(now)
        self._leaving = reason
        self._leave_by = now + self.limits.goodbye_within_s / 2
        self._give_floor(Floor.LISTENING)
        self._play_clip(clip)

    def _play_clip(self, clip: Clip) -> None:
        if self.floor not in (Floor.LISTENING, Floor.ASSISTANT):
            return
        self._playing = True
        self._give_floor(Floor.ASSISTANT)
        self._out.append(do.PlayClip(clip))
        self._tell("transcript", role="assistant", item_id=f"clip-{clip}-{self.turn}", content=do.CLIP_WORDS[clip])

    def _close(self, reason: str) -> None:
        self._give_floor(Floor.CLOSED)
        self._wanted.clear()
        self._asked_for.clear()
        if self._reply and self._reply.phase is not Phase.CANCELLING:
            self._out.append(do.CancelReply(self._reply.id))
        self._reply = None
        self._out.extend(do.CancelThinker(call.call) for call in self._calls.running())
        self._out.append(do.FlushPlayback())
        self._out.append(do.HangUp(reason))

    # --- time -----------------------------------------------------------------------------------------

    def _deadlines(self) -> Iterator[tuple[float, Callable[[float], None]]]:
        """Everything that becomes due by itself, with what is then done."""
        if self.floor is Floor.CLOSED:
            return
        limits = self.limits
        if self.floor is Floor.HELD and self._utterance:
            taken_over_at = self._utterance.reaches(limits.interruption_min_ms)
            if taken_over_at is not None:
                yield taken_over_at, self._take_over
        if self._leaving:
            yield self._leave_by, self._leave_now
        if self._next_wanted():
            yield self._not_before, self._ask_next
        if self._lost_at is not None and not self._moment_said and self._owed_since is not None:
            yield self._lost_at + limits.moment_after_s, self._say_moment
        if (due := self._notices_due_at()) is not None:
            yield due, self._tell_notices
        if self.floor is not Floor.HELD:
            yield from self._reply_deadlines()
        if self.floor is Floor.LISTENING:
            yield from self._silence_deadlines()

    def _reply_deadlines(self) -> Iterator[tuple[float, Callable[[float], None]]]:
        reply, limits = self._reply, self.limits
        if reply is None:
            return
        if reply.phase is Phase.CANCELLING:
            yield reply.since + limits.cancel_within_s, self._stop_waiting
        elif not reply.sounded and not reply.called:
            yield reply.since + limits.first_audio_within_s, self._reply_overdue
        elif not self._playing:
            yield reply.since + limits.stall_after_s, self._reply_stalled

    def _silence_deadlines(self) -> Iterator[tuple[float, Callable[[float], None]]]:
        limits = self.limits
        if self._owed_since is not None:
            yield self._owed_since + 2 * limits.first_audio_within_s, self._owed_too_long
        if self._reply is not None or self._wanted or self._leaving:
            return
        running = self._calls.running(self.turn)
        if running and limits.filler_after_s:
            silent_since = max(self._last_sound_at, max(call.since for call in running))
            yield silent_since + limits.filler_after_s * (1 + self._fillers), self._fill
        if not running and self._idle_since is not None and limits.idle_disconnect_s:
            yield self._idle_since + limits.idle_disconnect_s, self._say_goodbye
        if not running and self._idle_since is not None and limits.idle_nudge_s and not self._nudged:
            yield self._idle_since + limits.idle_nudge_s, self._nudge

    def _leave_now(self, now: float) -> None:
        self._close(self._leaving or IDLE)

    def _say_moment(self, now: float) -> None:
        self._moment_said = True
        self._play_clip(Clip.MOMENT)

    def _stop_waiting(self, now: float) -> None:
        self._reply = None

    def _reply_overdue(self, now: float) -> None:
        reply = self._reply
        if reply:
            self._cancel_reply(now)
            self._reply = None
            self._came_to_nothing(reply, "the Responder did not answer in time", now)

    def _reply_stalled(self, now: float) -> None:
        self._cancel_reply(now)
        self._finish_items()
        self._tell("error", message="The Responder stopped in mid-reply.", hint="Ask again; the call goes on.")
        self._heard_out(now)

    def _owed_too_long(self, now: float) -> None:
        self._owed_since = None
        if self._calls.running(self.turn):
            self._play_clip(Clip.MOMENT)
            return
        self._cancel_reply(now)
        self._wanted.clear()
        self._apologise("the Responder did not answer in time")

    def _fill(self, now: float) -> None:
        self._fillers += 1
        self._last_sound_at = now
        self._want(Purpose.FILLER)

    def _nudge(self, now: float) -> None:
        self._nudged = True
        self._tell("session_idle_nudge", idle_s=round(now - (self._idle_since or now)))
        self._want(Purpose.NUDGE)

    def _say_goodbye(self, now: float) -> None:
        self._tell("session_idle_disconnect", idle_s=round(now - (self._idle_since or now)))
        self._leaving = IDLE
        self._leave_by = now + self.limits.goodbye_within_s
        self._want(Purpose.GOODBYE)

    # --- small words ----------------------------------------------------------------------------------

    def _streaming(self, reply_id: str) -> Reply | None:
        """The reply in flight, if it is this one and still wanted."""
        reply = self._reply
        if reply and reply.phase is Phase.STREAMING and reply.id == reply_id:
            return reply
        return None

    def _something_to_interrupt(self) -> bool:
        """A reply, or one that is on its way: a cough must not lose the answer a Thinker is still working on."""
        in_flight = self._reply is not None and self._reply.phase is not Phase.CANCELLING
        return self._playing or in_flight or bool(self._wanted) or bool(self._calls.running(self.turn))

    def _finish_items(self) -> list[SpokenItem]:
        """No more will come of the items begun; returns those that were open."""
        finished = self._items.finish_all()
        for spoken in finished:
            self._tell("transcript_done", role="assistant", item_id=spoken.item, content=spoken.text.strip())
        return finished

    def _give_floor(self, floor: Floor) -> None:
        if floor is not self.floor:
            self.floor = floor
            self._tell("floor", floor=floor.value)

    def _tell(self, type_: str, **data: object) -> None:
        self._out.append(Publish(type_, data))

    def _taken(self) -> list[Command]:
        taken, self._out = self._out, []
        return taken

"""One voice call: two pumps and an alarm around the turn machine.

The uplink has the transport give each of the caller's frames to the hearing, and what that lets through to the
Responder; the downlink takes the Responder's events; the alarm rings at the machine's deadlines. Each gives its events
to the machine, and the machine's commands are carried out in one `match`, at once: nothing in here that touches audio
ever waits for anything but its own source. The third task is `run` itself, which owns the two and cleans up after them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from backend.call.call_trace import CallTrace
from backend.call.clips import clip_audio
from backend.call.history import History
from backend.call.post_turn import TurnsOver
from backend.call.prompts import CallerBackground, filler_hint
from backend.call.reconnect import dial_patiently
from backend.call.summary import keep_summary
from backend.call.tool_calls import CallView, ToolCallDispatcher
from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.conversation.commands import Purpose
from backend.conversation.limits import TurnLimits
from backend.conversation.page_events import (
    ErrorShown,
    NoticeChanged,
    PageEvent,
    SessionStarted,
    ThinkerChanged,
    ThinkerWork,
    TurnMeasured,
    UserContextChanged,
)
from backend.conversation.turn import TurnMachine
from backend.errors import BadRequest, NeverConnected, ResponderUnavailable, TransportLost
from backend.media.endpointing import Endpointing
from backend.media.frame import Frame
from backend.notifications.dispatcher import Subscribe, Subscription
from backend.observability.call_metrics import Metrics
from backend.observability.tracing import NO_TRACER, Tracer
from backend.responders.base import Briefing, Responder, ResponderFactory
from backend.runtime.timer import Alarm
from backend.sessions.registry import Session
from backend.storage.memory import Message
from backend.storage.outbox import Enqueue, careful
from backend.thinkers.base import Question
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.transports.base import Transport
from backend.users.modes import Mode
from backend.users.profile import UserProfile
from backend.users.profile_learner import LearnerDependencies, ProfileLearner

log = logging.getLogger(__name__)

EARLY_LIMIT = 16
"""Typed messages kept for a Responder that is still being dialled; older ones fall off."""


@dataclass(frozen=True, slots=True)
class ResponderInfo:
    """The names of the Responder and its model, as the page shows them when a call begins."""

    responder: str
    model: str
    offline: bool
    """Whether it is the demonstration, which needs no key."""


@dataclass(frozen=True, slots=True)
class Line:
    """What every call of this server shares."""

    dial: ResponderFactory
    brief: Callable[[CallerBackground], Briefing]
    """The briefing for a caller of whom this is known."""
    mode: Callable[[UserProfile], Mode]
    """The mode that caller has chosen."""
    background: Callable[[str], Awaitable[CallerBackground]]
    """`await background(user_id)`: what is known, within half a second; an empty one when memory is slow."""
    earlier: Callable[[str, str], Awaitable[Sequence[Message] | None]]
    """`await earlier(user_id, conversation_id)`: what was said before, within half a second; None: memory is slow."""
    thinkers: ThinkerDispatcher
    keep: Enqueue
    learning: LearnerDependencies
    open_endpointing: Callable[[], Endpointing]
    limits: TurnLimits
    max_s: float
    """Seconds a call may last; 0: any."""
    about: ResponderInfo
    metrics: Metrics
    tracer: Tracer = NO_TRACER
    subscribe: Subscribe | None = None
    """Subscribes a call to its user's notices: see `notifications.dispatcher`."""


async def run_call(line: Line, session: Session, transport: Transport) -> str:
    """A whole call, from connecting to the last word; returns the reason it ended. See `sessions.registry`."""
    return await Call(line, session, transport).run()


class Call:
    """The shell around one turn machine."""

    def __init__(self, line: Line, session: Session, transport: Transport) -> None:
        self._line = line
        self._session = session
        self._transport = transport
        self._now = asyncio.get_running_loop().time  # which the deadlines are kept by
        self._machine = TurnMachine(line.limits)
        self._endpointing = line.open_endpointing()
        self._trace = CallTrace(line.tracer, session)
        self._keep = careful(line.keep)
        self._history = History(session.owner, session.conversation_id, self._keep)
        view = CallView(
            question=self._question,
            turn=lambda: self._machine.turn,
            turn_age_ms=lambda: self._machine.turn_age_ms(self._now()),
            dispatch=self._tell,
            publish=self._publish,
        )
        self._tool_calls = ToolCallDispatcher(line.thinkers, view, line.metrics)
        self._learner = ProfileLearner(line.learning, session.id, session.owner, self._keep, self._brief_anew)
        self._turns_over = TurnsOver(
            line.thinkers.registry.dependencies.pipeline,
            session.owner,
            session.conversation_id,
            mode=lambda: self._mode,
            keep=self._keep,
        )
        self._recalled: Literal["kept", "unavailable"] = "kept"
        self._subscription: Subscription | None = None
        self._mode = line.mode(UserProfile())
        self._briefing: Briefing | None = None
        self._background = CallerBackground()
        self._responder: Responder | None = None
        self._ready = asyncio.Event()
        self._alarm = Alarm(self._expire)
        self._over = asyncio.Event()
        self._reason = "error"
        self._cut_item = ""
        self._failure: Exception | None = None
        self._early: deque[ev.TextTyped] = deque(maxlen=EARLY_LIMIT)
        self._told: deque[ev.Event | None] = deque()
        self._telling = False
        self._ends_at = self._now() + line.max_s if line.max_s else float("inf")

    def __repr__(self) -> str:
        return f"Call({self._machine!r}, {self._transport!r}, {self._responder!r}, {self._tool_calls!r})"

    # --- what others ask of a live call ---------------------------------------------------------------

    def type_text(self, text: str) -> None:
        """Typed input into the same conversation; before the Responder is there, it is kept for it.

        Raises `BadRequest` when the call is over.
        """
        if self._over.is_set():
            raise BadRequest("This call is over.", hint="Connect again, then type.")
        typed = ev.TextTyped(text)
        if self._ready.is_set():
            self._tell(typed)
        else:
            self._early.append(typed)

    def cancel_thinker(self, call: str) -> None:
        """The caller does not want this answer any more. Raises `NotFound`, or `BadRequest` when it is over."""
        self._tool_calls.dismiss(call)
        self._tell(ev.ThinkerDismissed(call))

    def say_answer(self, call: str) -> None:
        """Speak an answer that came too late, as soon as the floor is free. Raises `NotFound`, `BadRequest`."""
        self._tell(ev.LateAnswerWanted(call, self._tool_calls.late_answer(call)))

    def hang_up(self, reason: str) -> None:
        """End in order; the caller hears a word unless `reason` is 'deleted' or 'disconnected'."""
        gone = reason == "disconnected"
        self._tell(ev.TransportClosed(reason) if gone else ev.HangUpRequested(reason))

    def depths(self) -> dict[str, float]:
        """See `sessions.registry.LiveCall`."""
        media = self._transport.stats()
        return {
            "responder_messages": self._responder.backlog if self._responder else 0,
            "microphone_frames": media["inbox_frames"],
            "playback_ms": media["queued_ms"],
        }

    # --- the call's life ------------------------------------------------------------------------------

    async def run(self) -> str:
        """See `run_call`."""
        self._session.call = self
        self._session.levels = self._endpointing.levels
        self._transport.listen_to_playback(self._tell)
        self._set_alarm()
        try:
            async with asyncio.TaskGroup() as pumps:
                tasks = [pumps.create_task(pump()) for pump in (self._uplink, self._downlink)]
                await self._over.wait()
                if self._failure:
                    raise self._failure
                for task in tasks:
                    task.cancel()
        except* Exception:
            self._publish(ErrorShown("The call failed.", "Call again; the server's log says why."))
            raise
        finally:
            await self._clean_up()
        return self._reason

    async def _uplink(self) -> None:
        """Has the caller heard to the end, once there is somebody to; the transport keeps the last second for us."""
        await self._ready.wait()
        reason = "disconnected"
        try:
            await self._transport.receive_frames(self._on_frame)
        except NeverConnected:
            reason = "never_connected"
        except TransportLost:
            reason = "network_lost"
        self._tell(ev.TransportClosed(reason))

    def _on_frame(self, frame: Frame) -> None:
        """What the transport calls with every frame."""
        for heard in self._endpointing.process(frame):
            if not isinstance(heard, bytes):
                self._tell(heard)
            elif self._responder:
                self._responder.send_audio(heard)

    async def _downlink(self) -> None:
        """The Responder's events, over as many connections as it takes."""
        self._background, _ = await asyncio.gather(self._line.background(self._session.owner), self._recall())
        if self._briefing is None:  # else there is news already, and newer
            self._briefing = self._line.brief(self._background)
            self._mode = self._line.mode(self._background.profile)
        try:
            await self._answer_the_line()
            while True:
                await self._listen_to_responder()
                await self._reconnect()
        except ResponderUnavailable as error:
            log.warning("call %s: %s %s", self._session.id[:6], error, error.hint)
            self._ready.set()
            self._tell(ev.ResponderGone(str(error)))

    async def _recall(self) -> None:
        """What was said before, when this call goes on with a conversation; it goes on without when memory is slow."""
        session = self._session
        if not session.continues:
            return
        earlier = await self._line.earlier(session.owner, session.conversation_id)
        self._recalled = "unavailable" if earlier is None else "kept"
        self._history.begin_with(earlier or ())

    async def _answer_the_line(self) -> None:
        self._responder = await self._dial()
        self._publish(self._started())
        self._tell(ev.CallStarted())
        self._ready.set()
        while self._early:
            self._tell(self._early.popleft())
        if self._line.subscribe and not self._over.is_set():
            self._subscription = self._line.subscribe(self._session.owner, self._tell)

    async def _listen_to_responder(self) -> None:
        """Until the connection breaks. Raises `ResponderRejected` when no other will do."""
        responder = self._responder
        assert responder is not None
        try:
            await responder.receive_events(self._tell)
        except ResponderUnavailable as error:
            if not error.retryable:
                raise
            self._tell(ev.ResponderLost(str(error)))
        finally:
            self._responder = None
            await responder.close()

    async def _reconnect(self) -> None:
        self._responder = await self._dial()
        self._tell(ev.ResponderRestored())

    async def _dial(self) -> Responder:
        """A connection that knows what is known of the caller by now, and not only when dialling began."""
        briefing = self._briefing
        assert briefing is not None
        responder = await dial_patiently(self._line.dial, briefing, self._history)
        if (newer := self._briefing) is not None and newer != briefing:
            responder.brief(newer)
        return responder

    def _brief_anew(self, profile: UserProfile) -> None:
        """What is known of the caller has changed: the page hears that it did, the Responder what matters to it."""
        self._publish(UserContextChanged())
        briefing = self._line.brief(replace(self._background, profile=profile))
        self._mode = self._line.mode(profile)
        if briefing == self._briefing:
            return
        self._briefing = briefing
        if self._responder:
            self._responder.brief(briefing)

    def _expire(self) -> None:
        """The alarm rings: something may be due, unless the deadline has moved since it was set."""
        if self._ends_at <= self._now():
            self._ends_at = float("inf")
            self._tell(ev.HangUpRequested("max_minutes"))
        self._tell(None)

    def _set_alarm(self) -> None:
        """To the machine's deadline, or to the end of the call if that comes first."""
        deadline = self._machine.deadline()
        due = self._ends_at if deadline is None else min(deadline, self._ends_at)
        if due != float("inf") and not self._over.is_set():
            self._alarm.set(due)

    async def _clean_up(self) -> None:
        """Tasks and sockets back to where they were; the record of the call into memory.

        Every step is taken, whatever became of the one before it. The session keeps this call meanwhile: who
        asks for its end then waits for it, instead of breaking it off.
        """
        self._over.set()
        self._alarm.stop()
        async with contextlib.AsyncExitStack() as steps:
            steps.callback(self._record_end)
            steps.callback(self._endpointing.close)
            steps.push_async_callback(self._transport.close)
            if self._responder:
                steps.push_async_callback(self._responder.close)
            steps.push_async_callback(self._tool_calls.close, go_on=self._reason != "deleted")

    def _record_end(self) -> None:
        self._session.call = None
        if self._subscription:
            self._subscription.close()
        self._learner.close(self._reason)
        self._turns_over.close(self._reason)
        keep_summary(self._keep, self._session, self._reason)
        self._line.metrics.session_ended(self._reason)
        self._trace.close(self._reason)

    def _question(self, domain: str, query: str) -> Question:
        session = self._session
        conversation = session.conversation_id
        return Question(domain, query, session.id, session.owner, mode=self._mode, conversation_id=conversation)

    # --- events in, commands out ----------------------------------------------------------------------

    def _tell(self, event: ev.Event | None) -> None:
        """Give the machine an event (None: a deadline has come) and do what it says, at once.

        Events caused by carrying out a command wait until the commands before them are done. A fault in here ends
        the call through `run`, not whoever brought the event: that may be a transport's clock or a request.
        """
        self._told.append(event)
        if self._telling:
            return
        self._telling = True
        try:
            while self._told:
                commands = self._ask_machine(told := self._told.popleft())
                if not isinstance(told, ev.ReplyAudio):
                    self._trace.turn_is(self._machine.turn, told)
                for command in commands:
                    self._execute(command)
            if not isinstance(event, ev.ReplyAudio):  # the sound of a reply moves no deadline forward
                self._set_alarm()
        except Exception as error:  # noqa: BLE001 - `run` raises it again
            self._failure = error
            self._over.set()
        finally:
            self._telling = False

    def _ask_machine(self, event: ev.Event | None) -> list[do.Command]:
        if event is None:
            return self._machine.expire(self._now())
        if decision := _SPEECH_NAMES.get(type(event)):
            self._line.metrics.vad_decided(decision)
        return self._machine.receive(event, self._now())

    def _execute(self, command: do.Command) -> None:
        transport = self._transport
        match command:
            case do.Play(item, pcm):
                if not transport.play(item, pcm) and item != self._cut_item:
                    self._cut_item = item
                    self._publish(ErrorShown("The reply is too long.", "Its end was cut."))
            case do.PlayClip(clip):
                transport.play(f"clip:{clip}", clip_audio(clip))
            case do.HoldPlayback():
                transport.hold()
            case do.ResumePlayback():
                transport.resume()
            case do.FlushPlayback():
                self._told.append(ev.PlaybackFlushed(transport.flush()))
            case do.RunThinker(call, name, arguments):
                with self._trace.thinker(call):
                    self._tool_calls.run(call, name, arguments)
            case do.CancelThinker(call):
                self._tool_calls.cancel(call)
            case do.Remember(role, text):
                kept_as = self._history.add(role, text)
                self._learner.on_message(role, text)
                self._turns_over.heard(role, text, kept_as)
            case do.NoticeDelivered(notice):
                if self._subscription:
                    self._subscription.mark_delivered(notice)
            case do.Publish(event):
                self._publish(event)
            case do.HangUp(reason):
                self._reason = reason
                self._over.set()
            case do.CreateReply(Purpose.FILLER) if self._responder:
                self._responder.send(replace(command, hint=filler_hint(self._tool_calls.filler())))
            case _:
                if self._responder:
                    self._responder.send(command)

    # --- the page -------------------------------------------------------------------------------------

    def _publish(self, event: PageEvent) -> None:
        """Report `event` to the metrics, the hooks, the trace and the page, completed with what the machine lacks."""
        match event:
            case ThinkerChanged(work=None):
                event = self._tool_calls.settled(event)
            case ThinkerChanged(stage="routed", work=ThinkerWork(domain)):
                self._learner.on_question(domain)
            case NoticeChanged() if self._subscription:
                event = self._subscription.shown(event)
            case TurnMeasured():
                self._line.metrics.turn_measured(event)
        if isinstance(event, ThinkerChanged):
            self._turns_over.thinker_changed(event)
        self._trace.published(event)
        self._session.publish(event)

    def _started(self) -> SessionStarted:
        session, about = self._session, self._line.about
        return SessionStarted(
            session.id,
            session.conversation_id,
            self._recalled,
            session.transport,
            self._endpointing.name,
            about.responder,
            about.model,
            about.offline,
        )


_SPEECH_NAMES: dict[type[ev.Event], str] = {
    ev.SpeechStarted: "speech_started",
    ev.SpeechPaused: "speech_paused",
    ev.SpeechResumed: "speech_resumed",
    ev.SpeechStopped: "speech_stopped",
}

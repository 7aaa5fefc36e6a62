"""One voice call: the engine around the turn machine.

Two tasks run for a call, and a timer. One has the transport hand over the caller's frames, scores them and sends what
is speech to the Responder; the other receives the Responder's events; the timer fires at the machine's deadlines. Each
dispatches events to the turn machine, whose commands are carried out in one `match`, at once: nothing in here that
touches audio ever waits for anything but its own source. `run` owns the tasks and cleans up after them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from backend.call.answers import AnswerListener
from backend.call.call_trace import CallTrace
from backend.call.client_calls import ClientCalls
from backend.call.dependencies import CallDependencies
from backend.call.history import CallHistory, save_summary
from backend.call.out_of_band import OutOfBandResponses
from backend.call.phone import PhoneCall, PhoneView
from backend.call.post_turn import PostTurnHook
from backend.call.prompts import CallerBackground, clip_audio, filler_hint
from backend.call.provider_calls import ProviderCalls
from backend.call.record import CallRecord
from backend.call.recorder import CallRecorder
from backend.call.responder_link import ResponderLink
from backend.call.tool_calls import CallView, ToolCallDispatcher
from backend.call.usage import CallUsage
from backend.call.utterance_tap import UtteranceTap
from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.conversation import page_events as page
from backend.conversation.call_options import CallOptions
from backend.conversation.commands import Purpose
from backend.conversation.limits import TurnLimits
from backend.conversation.machine.state import Floor
from backend.conversation.patience import EndpointingStyle
from backend.conversation.turn import TurnMachine
from backend.errors import (
    BadRequest,
    MediaFailed,
    NeverConnected,
    ResponderRejected,
    ResponderUnavailable,
    TransportLost,
)
from backend.media.endpointing import ClientEndpointing, Endpointing, LocalEndpointing, ProviderEndpointing
from backend.media.frame import Frame
from backend.media.prosody import Prosody
from backend.notifications.dispatcher import Subscription
from backend.observability.call_metrics import VAD_DECISIONS
from backend.runtime.faults import call_listener
from backend.runtime.json_objects import Json
from backend.runtime.timer import Alarm
from backend.sessions.registry import Session
from backend.thinkers.base import Question
from backend.tools.base import ToolContext, ToolRights
from backend.transports.base import Transport
from backend.users.profile import UserProfile
from backend.users.profile_learner import ProfileLearner

log = logging.getLogger(__name__)

DURING_REPLY = frozenset({Floor.ASSISTANT, Floor.HELD})
EARLY_LIMIT = 256
"""Typed messages, and a program's decisions, kept for a Responder that is still being connected; older ones go."""
STYLES = frozenset(EndpointingStyle)
NEEDS_RESPONDER = (ev.MessageAdded, ev.ReplyRequested, ev.OutOfBandRequested, ev.InputHandedIn, ev.ToolAnswered)
"""The decisions of a program that mean nothing before the Responder is there."""
ABOUT_OUT_OF_BAND = (ev.OutOfBandProgress, ev.OutOfBandRefused, ev.ResponderLost)
"""The events that bear on responses outside of the conversation."""


class CallEngine:
    """Connects one turn machine with the caller's transport, the Responder, the Thinkers and the page."""

    def __init__(self, dependencies: CallDependencies, session: Session, transport: Transport) -> None:
        self._dependencies = dependencies
        self._session = session
        self._transport = transport
        self._now = asyncio.get_running_loop().time  # the clock of the machine's deadlines
        self._options = session.options
        self._background = CallerBackground()
        self._echo = dependencies.open_echo_guard()
        self._trace = CallTrace(dependencies.tracer, session)
        self._enqueue = partial(call_listener, "memory writes", dependencies.enqueue)
        self._record = CallRecord(dependencies.ledger, session, lambda: self._link.about.model)
        self._recorder = CallRecorder(
            dependencies.recordings,
            session,
            transport,
            self._echo.played,
            self._publish,
            self.dispatch,
            dependencies.recording_notice,
        )
        self._history = CallHistory(session.owner, session.conversation_id, self._enqueue, self._record.on_message)
        self._prosody = Prosody()
        self._voiced = False  # a voice sounds, and has not paused
        self._replying = False  # a reply is spoken, so that it matters whose voice is heard
        self._muffled = False  # the voice under way, as the machine knows it
        self._suspected = False  # the same of a voice that may be beginning
        self._tap = UtteranceTap(dependencies.reader, self.dispatch)
        patience_s, lasts_s = dependencies.line_patience_s, dependencies.connection_max_s
        self._link = ResponderLink(
            dependencies.providers, self._history, self._on_link_event, self._is_at_rest, patience_s, lasts_s
        )
        self._machine = TurnMachine(self.limits)
        self._endpointing = self._open_endpointing()
        view = CallView(
            question=self._question,
            turn=lambda: self._machine.turn,
            turn_age_ms=lambda: self._machine.turn_age_ms(self._now()),
            dispatch=self.dispatch,
            publish=self._publish,
            record=self._record,
            history=self._history.tail,
        )
        self._tool_calls = ToolCallDispatcher(dependencies.thinkers, view, dependencies.metrics)
        spend, metrics = dependencies.spent, dependencies.metrics
        self._usage = CallUsage(session.id, lambda: self._link.about, spend, metrics, self._publish)
        self._client_calls = ClientCalls(self.dispatch)
        self._provider_calls = ProviderCalls(self.dispatch, self._execute, self._agree, lambda: self._machine.turn)
        self._out_of_band = OutOfBandResponses(self.dispatch, self._usage.on_reply)
        self._answers = AnswerListener(session, dependencies.take_answer)
        self._learner = ProfileLearner(
            dependencies.learning, session.id, session.owner, self._enqueue, self._brief_again
        )
        self._post_turn = PostTurnHook(
            dependencies.thinkers.registry.dependencies.pipeline,
            session.owner,
            session.conversation_id,
            mode=lambda: self._mode,
            enqueue=self._enqueue,
            record=self._record.amend,
        )
        phone = PhoneView(transport, lambda: self._machine.turn, self.dispatch, self._publish, self._type_if_live)
        self._phone = PhoneCall(phone, dependencies.transfers)
        self._subscription: Subscription | None = None
        self._mode = dependencies.mode(UserProfile())
        self._recalled: Literal["kept", "unavailable"] = "kept"
        self._connected = asyncio.Event()
        self._early: deque[ev.Event] = deque(maxlen=EARLY_LIMIT)
        self._alarm = Alarm(self._on_deadline)
        self._ends_at = self._now() + dependencies.max_s if dependencies.max_s else float("inf")
        self._queue: deque[ev.Event | None] = deque()
        self._dispatching = False
        self._cut_item = ""
        self._over = asyncio.Event()
        self._reason = "error"
        self._failure: Exception | None = None

    def __repr__(self) -> str:
        return f"CallEngine({self._machine!r}, {self._transport!r}, {self._link!r}, {self._tool_calls!r})"

    # --- the call's life ------------------------------------------------------------------------------

    async def run(self) -> str:
        """Run the call to its end and return the reason. A fault is shown on the page, and raised after cleaning up."""
        self._session.call = self
        self._session.levels = self._endpointing.levels
        self._transport.listen_to_playback(self.dispatch)
        self._transport.watch_played(self._echo.played)
        if self._session.follower:
            self._session.follower.attach(self)
        self._set_alarm()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._receive_frames()), group.create_task(self._converse())]
                await self._over.wait()
                if self._failure:
                    raise self._failure
                for task in tasks:
                    task.cancel()
        except* Exception:
            self._publish(page.ErrorShown("The call failed.", "Call again; the server's log says why.", "call_failed"))
            raise
        finally:
            await self._clean_up()
        return self._reason

    async def _receive_frames(self) -> None:
        """Take the caller's frames once a Responder is there; till then the transport keeps the last second of them.

        A caller that leaves meanwhile, or whose audio fails, is not waited for.
        """
        waits = [asyncio.ensure_future(each) for each in (self._connected.wait(), self._transport.wait_ended())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        reason = "disconnected"
        try:
            await self._transport.receive_frames(self._on_frame)
        except NeverConnected:
            reason = "never_connected"
        except TransportLost:
            reason = "network_lost"
        except MediaFailed as error:
            log.exception("call %s: its audio failed", self._session.id[:6])
            self._publish(page.ErrorShown(str(error), error.hint, "call_failed"))
            reason = "error"
        self.dispatch(ev.TransportClosed(reason))

    def _on_frame(self, frame: Frame) -> None:
        """Score one frame of the microphone; send what is speech, and dispatch what it means for the turn."""
        frame = self._echo.clean(frame)
        if self._recorder.is_recording:
            self._recorder.on_frame(frame)
        for result in self._endpointing.process(frame):
            if not isinstance(result, bytes):
                self._on_speech(result)
                continue
            if self._voiced:
                self._prosody.append(result)
            if self._tap.recording:
                self._tap.on_frame(result)
            if self._replying and self._endpointing.muffled is not self._muffled:
                self._muffled = not self._muffled
                self.dispatch(ev.VoiceMuffled(self._muffled))
            if responder := self._link.connection:
                responder.send_audio(result)
        if self._suspects() is not self._suspected:
            self._suspected = not self._suspected
            self.dispatch(ev.VoiceSuspected(self._suspected))

    def _suspects(self) -> bool:
        """Return whether a voice may be beginning; in a pause any sound near the caller's level may be one."""
        if self._replying:
            return self._endpointing.suspected
        return self._endpointing.near_sound and self._machine.floor is Floor.PAUSING

    def _on_speech(self, event: ev.SpeechEvent) -> None:
        """Dispatch what endpointing reports; an end is told with how the voice ended."""
        self._voiced = isinstance(event, ev.SpeechStarted | ev.SpeechResumed)
        self._muffled &= not isinstance(event, ev.SpeechStarted)
        self._tap.on_event(event)
        if isinstance(event, ev.SpeechStopped):
            event = replace(event, ending=self._prosody.ending())
        self.dispatch(event)

    async def _converse(self) -> None:
        """Brief the Responder with what is known of the caller, connect it, and receive its events.

        It costs money from its connection on, so a caller who never comes is never connected.
        """
        owner = self._session.owner
        if not self._session.shared:
            self._background, _ = await asyncio.gather(self._dependencies.background(owner), self._recall())
        if self._link.briefing is None:  # else the profile has changed meanwhile, and this one is older
            self._brief()
            self._mode = self._dependencies.mode(self._background.profile)
            self._use_preferences()
        if self._options is None:
            self._link.prefer(self._background.profile.preferences.responder)
        await self._transport.wait_arrived()
        try:
            await self._link.run(self._on_connected)
        except ResponderUnavailable as error:
            log.warning("call %s: %s %s", self._session.id[:6], error, error.hint)
            self._begin_to_listen()
            self.dispatch(ev.ResponderGone(str(error), refused=isinstance(error, ResponderRejected)))

    async def _recall(self) -> None:
        """Put back what was said before, when this call continues a conversation and memory answers in time."""
        session = self._session
        if session.continues:
            earlier = await self._dependencies.earlier(session.owner, session.conversation_id)
            self._recalled = "unavailable" if earlier is None else "kept"
            self._history.prepend(earlier or ())

    def _on_connected(self) -> None:
        session, about = self._session, self._link.about
        self._follow_endpointer()
        self._publish(
            page.SessionStarted(
                session_id=session.id,
                conversation_id=session.conversation_id,
                history=self._recalled,
                transport=session.transport,
                hearing=self._endpointing.name,
                responder=about.responder,
                model=about.model,
                offline=about.offline,
                interruptions=session.interruptions,
                pictures=self._link.sees_pictures,
            )
        )
        self.dispatch(ev.CallStarted())
        if session.record and self._recorder.is_possible:
            self._recorder.start()
        self._begin_to_listen()
        if self._dependencies.subscribe and not self._over.is_set() and not session.shared:
            self._subscription = self._dependencies.subscribe(session.owner, self.dispatch)

    def _is_at_rest(self) -> bool:
        return self._machine.at_rest and not self._out_of_band.under_way

    def _on_link_event(self, event: ev.Event) -> None:
        if isinstance(event, ev.ProviderToolBegun | ev.ProviderToolEnded):
            self._provider_calls.on_event(event)
            return
        if isinstance(event, ev.ResponderLost | ev.ResponderRestored):
            for spoken in self._endpointing.follow_line(stands=isinstance(event, ev.ResponderRestored)):
                self._on_speech(spoken)
        if isinstance(event, ev.ResponderRestored):
            self._follow_endpointer()
        self.dispatch(event)
        if isinstance(event, ev.ResponderLost):
            self._provider_calls.on_lost()
            self._begin_to_listen()  # it may be the first: the caller is heard meanwhile

    def _follow_endpointer(self) -> None:
        """Have turns found by who can with the model that serves the call now, which another may not have done."""
        local = isinstance(self._endpointing, LocalEndpointing)
        if isinstance(self._endpointing, ClientEndpointing) or local is (self.limits.endpointing == "local"):
            return
        if isinstance(self._endpointing, LocalEndpointing):
            for spoken in self._endpointing.finish():
                self._on_speech(spoken)
        self.dispatch(ev.OptionsChanged(self.limits, self._options is None or self._options.answers))
        self._change_endpointing()

    def _begin_to_listen(self) -> None:
        """Take what the caller says and types from here on, and what was typed before."""
        self._connected.set()
        while self._early:
            self.dispatch(self._early.popleft())

    def _brief_again(self, profile: UserProfile) -> None:
        """Show the page that the profile has changed, and brief the Responder again where it matters to it."""
        self._publish(page.UserContextChanged())
        self._mode = self._dependencies.mode(profile)
        self._background = replace(self._background, profile=profile)
        self._use_preferences()
        self._brief()

    def _brief(self) -> None:
        """Brief the Responder with what is known of the caller, their program's wishes, and the tools of their line."""
        briefing = self._dependencies.brief(self._background, self._options)
        self._link.brief(self._phone.brief(briefing))

    @property
    def limits(self) -> TurnLimits:
        """The limits of this call: the server's, as its caller or their program has changed them."""
        usual = self._dependencies.limits
        limits = replace(usual, interruptible=self._session.interruptions)
        if self._options:
            limits = self._options.limits(limits)
        if self._options is None or self._options.detects_turns:
            limits = replace(limits, endpointing=self._link.endpointer(limits.endpointing))
        if self._options:
            return limits
        chosen = self._background.profile.preferences.turn_patience
        return replace(limits, style=EndpointingStyle(chosen) if chosen in STYLES else usual.style)

    def _use_preferences(self) -> None:
        """Take turns as the caller has chosen; a program that has chosen itself is not overruled."""
        if self._options is None:
            self.dispatch(ev.OptionsChanged(self.limits, answered=True))

    def _open_endpointing(self) -> Endpointing:
        if self._options and not self._options.detects_turns:
            return ClientEndpointing()
        if self.limits.endpointing == "provider":
            return ProviderEndpointing(self._dependencies.open_endpointing)
        return self._dependencies.open_endpointing()

    def _change_endpointing(self) -> None:
        self._endpointing.close()
        self._endpointing = self._open_endpointing()
        self._session.levels = self._endpointing.levels

    async def _clean_up(self) -> None:
        """Release tasks and sockets, and record the call; each step is taken though another raises.

        The session keeps this call until the sockets are closed: who ends it meanwhile waits for it.
        """
        self._over.set()
        self._alarm.stop()
        reason, session = self._reason, self._session
        steps: list[Callable[[], object]] = [
            lambda: self._tool_calls.close(go_on=reason != "deleted"),
            self._answers.close,
            self._phone.close,
            self._client_calls.close,
            self._provider_calls.close,
            self._tap.close,
            self._link.close,
            self._transport.close,
            lambda: self._recorder.close(reason),
            self._endpointing.close,
            lambda: setattr(session, "call", None),
            lambda: self._subscription.close() if self._subscription else None,
            lambda: self._learner.close(reason),
            lambda: self._post_turn.close(reason),
            lambda: save_summary(self._enqueue, session, reason),
            lambda: self._record.close(reason),
            lambda: self._dependencies.metrics.session_ended(reason),
            lambda: self._trace.close(reason),
        ]
        cancelled: asyncio.CancelledError | None = None
        for step in steps:
            try:
                result = step()
                if isinstance(result, Awaitable):
                    await result
            except asyncio.CancelledError as error:
                cancelled = error
            except Exception:
                log.exception("call %s: a step of cleaning up failed", session.id[:6])
        if cancelled:
            raise cancelled

    # --- what the session's routes ask of a live call --------------------------------------------------

    def type_text(self, text: str, pictures: Sequence[str] = ()) -> None:
        """Put typed input, and pictures, into the conversation; before the Responder is there, it is kept for it.

        Raises `BadRequest` when the call is over, or the model sees no pictures.
        """
        if self._over.is_set():
            raise BadRequest("This call is over.", hint="Connect again, then type.")
        if pictures and not self._link.sees_pictures:
            raise BadRequest("The model in this call cannot see pictures.", hint="Describe it in words.")
        typed = ev.TextTyped(text, tuple(pictures))
        if self._connected.is_set():
            self.dispatch(typed)
        else:
            self._early.append(typed)

    def _type_if_live(self, text: str) -> None:
        if not self._over.is_set():
            self.type_text(text)

    def choose(self, options: CallOptions) -> None:
        """Go on with what the caller's program has chosen, in this turn or from the next on."""
        before, self._options = self._options, options
        self._session.options = options
        self.dispatch(ev.OptionsChanged(self.limits, options.answers))
        if self._link.briefing is not None:
            self._brief()
        if before is None or before.finds_turns_as != options.finds_turns_as:
            self._change_endpointing()

    def submit(self, event: ev.Event) -> None:
        """Take what the caller's program has decided; before the Responder is there, it is kept for it."""
        if self._connected.is_set() or not isinstance(event, NEEDS_RESPONDER):
            self.dispatch(event)
        else:
            self._early.append(event)

    def correct(self, command: do.TruncateItem | do.DeleteItem | do.CancelReply) -> None:
        """Tell the Responder what the caller's program knows better: what was heard, and what is not wanted any more.

        Raises `BadRequest` where it cannot forget an item.
        """
        responder = self._link.connection
        if isinstance(command, do.DeleteItem) and responder and not responder.capabilities.truncates:
            raise BadRequest("This server's Responder cannot forget what was said.", hint="Start a new session.")
        self._execute(command)

    def cancel_thinker(self, call: str) -> None:
        """Stop the work on a tool call. Raises `NotFound`, or `BadRequest` when it is over."""
        self._tool_calls.dismiss(call)
        self.dispatch(ev.ThinkerDismissed(call))

    def allow_interruptions(self, allowed: bool) -> None:
        """Set whether the caller's voice may interrupt what is spoken, for the rest of the call."""
        self._session.interruptions = allowed
        self.dispatch(ev.InterruptionsSwitched(allowed))

    def record(self, on: bool) -> str:
        """Record the call from now on, or no more; return the recording's id. Raises `BadRequest` or `Forbidden`."""
        if on:
            return self._recorder.start()
        self._recorder.stop()
        return ""

    def say_answer(self, call: str) -> None:
        """Speak an answer that came too late, as soon as the floor is free. Raises `NotFound`, `BadRequest`."""
        self.dispatch(ev.LateAnswerWanted(call, self._tool_calls.late_answer(call)))

    def hang_up(self, reason: str) -> None:
        """End in order; the caller hears a goodbye unless `reason` is 'deleted' or 'disconnected'."""
        gone = reason == "disconnected"
        self.dispatch(ev.TransportClosed(reason) if gone else ev.HangUpRequested(reason))

    def depths(self) -> dict[str, float]:
        """Return how full the call's queues are, by the names in `sessions.registry.QUEUES`."""
        media = self._transport.stats()
        return {
            "responder_messages": self._link.connection.backlog if self._link.connection else 0,
            "microphone_frames": media["inbox_frames"],
            "playback_ms": media["queued_ms"],
        }

    # --- events in, commands out ----------------------------------------------------------------------

    def dispatch(self, event: ev.Event | None) -> None:
        """Give the machine an event (None: a deadline has come) and carry out its commands, at once.

        Events caused by carrying out a command wait until the commands before them are done. A fault in here ends
        the call through `run`, not whoever brought the event: that may be a transport's clock or a request.
        """
        self._queue.append(event)
        if self._dispatching:
            return
        self._dispatching = True
        try:
            while self._queue:
                queued = self._queue.popleft()
                if queued is None:
                    commands = self._machine.expire(self._now())
                else:
                    if self._recorder.is_recording:
                        self._recorder.on_event(queued)
                    if decision := VAD_DECISIONS.get(type(queued)):
                        self._dependencies.metrics.vad_decided(decision)
                    commands = self._machine.receive(queued, self._now())
                if isinstance(queued, ev.ReplyFinished):
                    self._usage.on_reply(queued)
                if isinstance(queued, ABOUT_OUT_OF_BAND):
                    self._out_of_band.on_event(queued)
                if not isinstance(queued, ev.ReplyAudio):
                    self._trace.on_turn(self._machine.turn, queued)
                if self._session.follower:
                    call_listener("a call's steps", self._session.follower.follow, queued, commands)
                for command in commands:
                    self._execute(command)
            if not isinstance(event, ev.ReplyAudio):  # the sound of a reply moves no deadline forward
                self._set_alarm()
        except Exception as error:  # noqa: BLE001 - `run` raises it again
            self._failure = error
            self._over.set()
        finally:
            self._dispatching = False

    def _execute(self, command: do.Command) -> None:
        transport, responder = self._transport, self._link.connection
        match command:
            case do.Play(item, pcm):
                if not transport.play(item, pcm) and item != self._cut_item:
                    self._cut_item = item
                    self._publish(page.ErrorShown("The reply is too long.", "Its end was cut.", "reply_too_long"))
            case do.PlayClip(clip):
                transport.play(command.item, clip_audio(clip))
            case do.HoldPlayback():
                transport.hold()
            case do.ResumePlayback():
                transport.resume()
            case do.DuckPlayback():
                transport.duck()
            case do.UnduckPlayback():
                transport.unduck()
            case do.FlushPlayback():
                self._queue.append(ev.PlaybackFlushed(transport.flush()))
            case do.RestorePlayback(item, played_ms):
                if not transport.restore():
                    self._queue.append(ev.PlaybackDrained(item, played_ms))
            case do.ReadUtterance(partial):
                self._tap.read(partial)
            case do.EstimateSentenceEnd(words):
                self._tap.estimate(words)
            case do.RunThinker(call, name, arguments) if self._provider_calls.handles(name):
                self._provider_calls.run(call, name, arguments)
            case do.CancelThinker(call) if self._provider_calls.knows(call):
                self._provider_calls.cancel(call)
            case do.RunThinker(call, name, arguments) if self._phone.handles(name):
                self._phone.run(call, name, arguments)
            case do.CancelThinker(call) if self._phone.knows(call):
                self._phone.cancel(call)
            case do.RunThinker(call, name) if self._options and self._options.is_client_tool(name):
                self._client_calls.wait(call)
            case do.RunThinker(call, name, arguments, unsure):
                with self._trace.thinker(call):
                    self._tool_calls.run(call, name, arguments, unsure=unsure)
            case do.CancelThinker(call):
                self._tool_calls.cancel(call)
            case do.Remember(role, text):
                message_id = self._history.add(role, text)
                self._post_turn.on_message(role, text, message_id)
                if not self._session.shared:
                    self._learner.on_message(role, text)
                    if role == "user":
                        self._answers.on_words(text)
            case do.NoticeDelivered(notice):
                if self._subscription:
                    self._subscription.mark_delivered(notice)
            case do.Publish(event):
                self._publish(event)
            case do.LeaveResponder():
                self._link.leave()
            case do.HangUp(reason):
                self._reason = reason
                self._over.set()
            case do.CreateReply(Purpose.FILLER) if responder:
                responder.send(replace(command, hint=filler_hint(self._tool_calls.filler())))
            case do.CreateOutOfBand():
                self._out_of_band.ask(command, responder)
            case _ if responder and (fitting := responder.capabilities.fit(command)):
                responder.send(fitting)

    def _publish(self, event: page.PageEvent) -> None:
        """Report `event` to the metrics, the hooks, the trace and the page, completed with what the machine lacks."""
        match event:
            case page.ThinkerChanged(call_id) if self._phone.knows(call_id) or self._provider_calls.knows(call_id):
                return
            case page.ThinkerChanged(work=None):
                event = self._tool_calls.settled(event)
            case page.ThinkerChanged(stage="routed", work=page.ThinkerWork(domain)):
                self._learner.on_question(domain)
            case page.NoticeChanged() if self._subscription:
                event = self._subscription.shown(event)
                self._record.on_notice(event)
            case page.UsageCounted():
                self._record.on_usage(event)
            case page.FloorChanged(floor):
                self._replying = floor in DURING_REPLY
            case page.ReplyFailed():
                log.warning("call %s: a reply did not come whole: %s", self._session.id[:6], event)
                self._dependencies.metrics.on_event(event)
            case page.TurnMeasured() | page.AnswerMeasured():
                self._dependencies.metrics.on_event(event)
                self._record.on_measured(event)
            case page.ReplyDiscarded() | page.MurmurHeard():
                self._dependencies.metrics.on_event(event)
        if isinstance(event, page.ThinkerChanged):
            self._post_turn.on_thinker(event)
        if self._recorder.is_recording:
            self._recorder.on_page_event(event)
        self._trace.on_event(event)
        self._session.publish(event)

    # --- time -----------------------------------------------------------------------------------------

    def _on_deadline(self) -> None:
        """Something may be due, unless the deadline has moved since the alarm was set."""
        if self._ends_at <= self._now():
            self._ends_at = float("inf")
            self.dispatch(ev.HangUpRequested("max_minutes"))
        self.dispatch(None)

    def _set_alarm(self) -> None:
        """Set the alarm to the machine's deadline, or to the end of the call if that comes first."""
        deadline = self._machine.deadline()
        due = self._ends_at if deadline is None else min(deadline, self._ends_at)
        if due != float("inf") and not self._over.is_set():
            self._alarm.set(due)

    async def _agree(self, tool: str, arguments: Json) -> str:
        """Return why the provider may not make a call; empty: the caller has agreed to it."""
        session, rights = self._session, ToolRights(self._session.reach, untrusted=True)
        user = "" if session.shared else session.owner
        context = ToolContext(user, session.conversation_id, client="voice", rights=rights)
        return await self._dependencies.agree(context, tool, arguments)

    def _question(self, domain: str, query: str, unsure: bool) -> Question:
        session = self._session
        untrusted = self._tool_calls.untrusted or self._provider_calls.untrusted
        rights = ToolRights(session.reach, untrusted=untrusted, unsure=unsure)
        conversation = session.conversation_id
        user = "" if session.shared else session.owner
        return Question(domain, query, session.id, user, mode=self._mode, conversation_id=conversation, rights=rights)

"""One voice call: the engine around the turn machine.

Two tasks run for a call, and a timer. One has the transport hand over the caller's frames to the uplink, which sends
what is speech to the Responder (`uplink.py`); the other receives the Responder's events; the timer fires at the
machine's deadlines. Each dispatches events to the turn machine, whose commands are carried out in one `match`, at once:
nothing in here that touches audio ever waits for anything but its own source. `run` owns the tasks and cleans up after
them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Literal

from backend.call.answers import AnswerListener
from backend.call.caller import Caller
from backend.call.client_calls import ClientCalls
from backend.call.dependencies import CallDependencies
from backend.call.listeners import CallListeners
from backend.call.out_of_band import OutOfBandResponses
from backend.call.phone import PhoneCall, PhoneView
from backend.call.prompts import clip_audio, filler_hint
from backend.call.provider_calls import ProviderCalls
from backend.call.responder_link import ResponderLink
from backend.call.tool_calls import CallView, ToolCallDispatcher, ToolCallRunner
from backend.call.uplink import Uplink
from backend.call.utterance_tap import UtteranceTap
from backend.errors import (
    BadRequest,
    MediaFailed,
    NeverConnected,
    ResponderRejected,
    ResponderUnavailable,
    TransportLost,
)
from backend.notifications.dispatcher import Subscription
from backend.runtime.faults import call_listener
from backend.runtime.timer import Alarm
from backend.sessions.registry import Session
from backend.thinkers.base import Question
from backend.transports.base import Transport
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns import page_events as page
from backend.turns.call_options import CallOptions
from backend.turns.commands import Purpose
from backend.turns.turn import TurnMachine
from backend.users.profile import UserProfile

log = logging.getLogger(__name__)

EARLY_LIMIT = 256
"""Typed messages, and a program's decisions, kept for a Responder that is still being connected; older ones go."""
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

        # whose call it is, and who is told of it
        self._caller = Caller(dependencies, session, lambda wanted: self._link.endpointer(wanted))
        self._listeners = CallListeners(
            dependencies, session, self._caller, lambda: self._link.about, self._publish, self._brief_again
        )
        self._answers = AnswerListener(session, dependencies.take_answer)
        self._subscription: Subscription | None = None
        self._recalled: Literal["kept", "unavailable"] = "kept"

        # the way of the sound
        self._echo = dependencies.open_echo_guard()
        self._recorder = dependencies.open_recorder(session, transport, self._echo.played, self._publish, self.dispatch)
        self._tap = UtteranceTap(dependencies.reader, self.dispatch)
        patience_s, lasts_s = dependencies.line_patience_s, dependencies.connection_max_s
        self._link = ResponderLink(
            dependencies.providers, self._listeners.history, self._on_link_event, self._is_at_rest, patience_s, lasts_s
        )
        self._machine = TurnMachine(self._caller.limits)
        self._uplink = Uplink(
            dependencies, session, self._caller.finder, self._link, self.dispatch, self._echo, self._recorder, self._tap
        )
        self._out_of_band = OutOfBandResponses(self.dispatch, self._listeners.usage.on_reply)
        self._cut_item = ""

        # those who carry out tool calls: the first that handles a tool does, and the last handles any
        view = CallView(
            question=self._question,
            turn=self._turn,
            turn_age_ms=lambda: self._machine.turn_age_ms(self._now()),
            dispatch=self.dispatch,
            publish=self._publish,
            record=self._listeners.record,
            history=self._listeners.history.tail,
            traced=self._listeners.trace.thinker,
        )
        self._tool_calls = ToolCallDispatcher(dependencies.thinkers, view, dependencies.metrics)
        self._client_calls = ClientCalls(self._caller.is_client_tool, self.dispatch)
        self._provider_calls = ProviderCalls(self.dispatch, self._execute, self._caller.agree, self._turn)
        phone = PhoneView(transport, self._turn, self.dispatch, self._publish, self._type_if_live)
        self._phone = PhoneCall(phone, dependencies.transfers)
        self._runners: tuple[ToolCallRunner, ...]
        self._runners = (self._provider_calls, self._phone, self._client_calls, self._tool_calls)

        # events on their way to the machine, and the end
        self._connected = asyncio.Event()
        self._early: deque[ev.Event] = deque(maxlen=EARLY_LIMIT)
        self._alarm = Alarm(self._on_deadline)
        self._ends_at = self._now() + dependencies.max_s if dependencies.max_s else float("inf")
        self._queue: deque[ev.Event | None] = deque()
        self._dispatching = False
        self._over = asyncio.Event()
        self._reason = "error"
        self._failure: Exception | None = None

    def __repr__(self) -> str:
        return f"CallEngine({self._machine!r}, {self._transport!r}, {self._link!r}, {self._tool_calls!r})"

    # --- the call's life ------------------------------------------------------------------------------

    async def run(self) -> str:
        """Run the call to its end and return the reason. A fault is shown on the page, and raised after cleaning up."""
        self._session.call = self
        self._listeners.begin()
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
            await self._transport.receive_frames(self._uplink.on_frame)
        except NeverConnected:
            reason = "never_connected"
        except TransportLost:
            reason = "network_lost"
        except MediaFailed as error:
            log.exception("call %s: its audio failed", self._session.id[:6])
            self._publish(page.ErrorShown(str(error), error.hint, "call_failed"))
            reason = "error"
        self.dispatch(ev.TransportClosed(reason))

    async def _converse(self) -> None:
        """Brief the Responder with what is known of the caller, connect it, and receive its events.

        It costs money from its connection on, so a caller who never comes is never connected.
        """
        if not self._session.shared:
            await asyncio.gather(self._caller.load(), self._recall())
        if self._link.briefing is None:  # else the profile has changed meanwhile, and this one is older
            self._brief()
            self._caller.use_mode()
            self._use_preferences()
        if self._caller.options is None:
            self._link.prefer(self._caller.preferences.responder)
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
            self._listeners.history.prepend(earlier or ())

    def _on_connected(self) -> None:
        session, about = self._session, self._link.about
        self._follow_endpointer()
        self._publish(
            page.SessionStarted(
                session_id=session.id,
                conversation_id=session.conversation_id,
                history=self._recalled,
                transport=session.transport,
                hearing=self._uplink.hearing,
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
            self._uplink.follow_line(stands=isinstance(event, ev.ResponderRestored))
        if isinstance(event, ev.ResponderRestored):
            self._follow_endpointer()
        self.dispatch(event)
        if isinstance(event, ev.ResponderLost):
            self._provider_calls.on_lost()
            self._begin_to_listen()  # it may be the first: the caller is heard meanwhile

    def _follow_endpointer(self) -> None:
        """Have turns found by who can with the model that serves the call now, which another may not have done."""
        if self._uplink.follow_finder(self._caller.finder):
            self.dispatch(ev.OptionsChanged(self._caller.limits, self._caller.is_answered))

    def _begin_to_listen(self) -> None:
        """Take what the caller says and types from here on, and what was typed before."""
        self._connected.set()
        while self._early:
            self.dispatch(self._early.popleft())

    def _brief_again(self, profile: UserProfile) -> None:
        """Show the page that the profile has changed, and brief the Responder again where it matters to it."""
        self._publish(page.UserContextChanged())
        self._caller.learn(profile)
        self._use_preferences()
        self._brief()

    def _brief(self) -> None:
        """Brief the Responder with what is known of the caller, their program's wishes, and the tools of their line."""
        self._link.brief(self._phone.brief(self._caller.briefing()))

    def _use_preferences(self) -> None:
        """Take turns as the caller has chosen; a program that has chosen itself is not overruled."""
        if self._caller.options is None:
            self.dispatch(ev.OptionsChanged(self._caller.limits, answered=True))

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
            self._uplink.close,
            lambda: setattr(session, "call", None),
            lambda: self._subscription.close() if self._subscription else None,
            *self._listeners.endings(reason),
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
        before, self._caller.options = self._caller.options, options
        self._session.options = options
        self.dispatch(ev.OptionsChanged(self._caller.limits, options.answers))
        if self._link.briefing is not None:
            self._brief()
        if before is None or before.finds_turns_as != options.finds_turns_as:
            self._uplink.change_finder(self._caller.finder)

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
        the call through `run`, and not the sender of the event, which may be a transport's clock or a request.
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
                    commands = self._machine.receive(queued, self._now())
                if not isinstance(queued, ev.ReplyAudio):
                    self._listeners.on_event(queued, self._machine.turn)
                if isinstance(queued, ABOUT_OUT_OF_BAND):
                    self._out_of_band.on_event(queued)
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
            case do.RunThinker(_, name):
                next(runner for runner in self._runners if runner.handles(name)).run(command)
            case do.CancelThinker(call):
                for runner in self._runners:
                    runner.cancel(call)
            case do.Remember(role, text):
                self._listeners.on_message(role, text)
                if role == "user" and not self._session.shared:
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
        """Show `event` on the page, completed with what the machine lacks, and tell the listeners of it."""
        match event:
            case page.ThinkerChanged(call_id) if self._phone.knows(call_id) or self._provider_calls.knows(call_id):
                return
            case page.ThinkerChanged(work=None):
                event = self._tool_calls.settled(event)
            case page.NoticeChanged() if self._subscription:
                event = self._subscription.shown(event)
            case page.FloorChanged(floor):
                self._uplink.floor = floor
        if self._recorder.is_recording:
            self._recorder.on_page_event(event)
        self._listeners.on_page_event(event)
        self._session.publish(event)

    def _turn(self) -> int:
        return self._machine.turn

    def _question(self, domain: str, query: str, unsure: bool) -> Question:
        untrusted = self._tool_calls.untrusted or self._provider_calls.untrusted
        return self._caller.question(domain, query, untrusted=untrusted, unsure=unsure)

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

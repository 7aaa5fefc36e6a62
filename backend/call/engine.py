"""The engine of one call: events go to the turn machine in order, and its commands are carried out right away.

Nothing in here ever waits: events come from the transport, the Responder, Thinkers and the timer of the machine's
deadlines, and each is handled before the next one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from backend import page_events as page
from backend.call.prompts import clip_audio, filler_hint
from backend.call.tool_calls import ToolCallRunner
from backend.notifications.dispatcher import Subscribe, Subscription
from backend.runtime.faults import call_observer
from backend.runtime.timer import Alarm
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose
from backend.users.profile import UserProfile

if TYPE_CHECKING:
    from backend.call.parts import CallParts

ABOUT_OUT_OF_BAND = (ev.OutOfBandProgress, ev.OutOfBandRefused, ev.ResponderLost)
"""The events that bear on responses outside of the conversation."""
NEVER = float("inf")


class CallEngine:
    """Connects one turn machine with the caller's transport, the Responder, the Thinkers and the page."""

    def __init__(self, parts: CallParts, subscribe: Subscribe | None, max_s: float) -> None:
        """`subscribe` subscribes to the notices of the call's user; `max_s` is how long it may last, 0: any time."""
        self._parts = parts
        parts.board.engine = self
        self._session = parts.session
        self._machine = parts.machine
        self._observers = parts.observers
        self._subscribe = subscribe
        self._subscription: Subscription | None = None
        self._runners: dict[str, ToolCallRunner] = {}
        """Tool call → who carries it out."""
        self._cut_item = ""

        self._now = asyncio.get_running_loop().time  # the clock of the machine's deadlines
        self._alarm = Alarm(self._on_deadline)
        self._ends_at = self._now() + max_s if max_s else NEVER
        self._queue: deque[ev.Event | None] = deque()
        self._dispatching = False
        self.reason = "error"
        """Why the call has ended, once it is over."""
        self.failure: Exception | None = None
        """The fault that has ended it."""

    # --- events in ------------------------------------------------------------------------------------

    def dispatch(self, event: ev.Event | None) -> None:
        """Give the machine an event (None: a deadline has come) and carry out its commands before returning.

        Events caused by carrying out a command wait until the commands before them are done. A fault in here ends
        the call through `VoiceCall.run`, and not its messenger: that may be a transport's clock or a request.
        """
        self._queue.append(event)
        if self._dispatching:
            return
        self._dispatching = True
        try:
            while self._queue:
                self._handle(self._queue.popleft())
            if not isinstance(event, ev.ReplyAudio):  # the sound of a reply moves no deadline forward
                self.set_alarm()
        except Exception as error:  # noqa: BLE001 - `VoiceCall.run` raises it again
            self.failure = error
            self._parts.over.set()
        finally:
            self._dispatching = False

    def _handle(self, event: ev.Event | None) -> None:
        if event is None:
            commands = self._machine.expire(self._now())
        else:
            if (recorder := self._parts.recorder) and recorder.is_recording:
                recorder.on_event(event)
            commands = self._machine.receive(event, self._now())
        if not isinstance(event, ev.ReplyAudio):
            self._show_observers(event)
            self._observers.trace.on_turn(self._machine.turn, event)
        if isinstance(event, ABOUT_OUT_OF_BAND):
            self._parts.out_of_band.on_event(event)
        if self._session.follower:
            call_observer("a call's steps", self._session.follower.follow, event, commands)
        for command in commands:
            self._execute(command)

    def on_link_event(self, event: ev.Event) -> None:
        """Take an event of the Responder's, or of the connection to it."""
        parts = self._parts
        if isinstance(event, ev.ResponderLost | ev.ResponderRestored):
            parts.uplink.follow_line(stands=isinstance(event, ev.ResponderRestored))
        if isinstance(event, ev.ResponderRestored):
            self.follow_finder()
        self.dispatch(event)
        if isinstance(event, ev.ResponderLost):
            parts.inbox.open()  # it may be the first: the caller is heard meanwhile

    def follow_finder(self) -> None:
        """Have turns found by who can with the model that serves the call now, which another may not have done."""
        caller = self._parts.caller
        if self._parts.uplink.follow_finder(caller.finder):
            self.dispatch(ev.OptionsChanged(caller.limits, caller.is_answered))

    # --- commands out ---------------------------------------------------------------------------------

    def _execute(self, command: do.Command) -> None:
        transport, parts = self._parts.transport, self._parts
        match command:
            case do.Play(item, pcm):
                if not transport.play(item, pcm) and item != self._cut_item:
                    self._cut_item = item
                    self.publish(page.ErrorShown("The reply is too long.", "Its end was cut.", "reply_too_long"))
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
                parts.tap.read(partial)
            case do.EstimateSentenceEnd(words):
                parts.tap.estimate(words)
            case do.RunThinker(call, name):
                self._runners[call] = self._runner_of(name)
                self._runners[call].run(command)
            case do.CancelThinker(call):
                if runner := self._runners.get(call):
                    runner.cancel(call)
            case do.Remember(role, text):
                self._observers.on_message(role, text)
                if role == "user" and not self._session.shared:
                    parts.consent.on_words(text)
            case do.NoticeDelivered(notice):
                if self._subscription:
                    self._subscription.mark_delivered(notice)
            case do.Publish(event):
                self.publish(event)
            case do.LeaveResponder():
                parts.link.leave()
            case do.HangUp(reason):
                self.reason = reason
                parts.over.set()
            case do.CreateReply(Purpose.FILLER):
                parts.link.send(replace(command, hint=filler_hint(parts.tool_calls.filler())))
            case do.CreateOutOfBand():
                parts.out_of_band.ask(command, parts.link.connection)
            case _:
                parts.link.send(command)

    def _runner_of(self, name: str) -> ToolCallRunner:
        """Return who carries out calls of a tool; the model learns from the Thinkers that there is none."""
        parts, options = self._parts, self._parts.caller.options
        if any(tool.name == name for tool in parts.phone.tools):
            return parts.phone
        if options and options.is_client_tool(name):
            return parts.client_calls
        return parts.tool_calls

    def publish(self, event: page.PageEvent) -> None:
        """Show `event` on the page, completed with what the machine lacks, and to those who observe the call."""
        parts = self._parts
        match event:
            case page.ThinkerChanged(call_id) if self._runners.get(call_id) is parts.phone:
                return  # no Thinker works on it
            case page.ThinkerChanged(work=None):
                event = parts.tool_calls.settled(event)
            case page.NoticeChanged() if self._subscription:
                event = self._subscription.shown(event)
            case page.FloorChanged(floor):
                parts.uplink.floor = floor
        if parts.recorder and parts.recorder.is_recording:
            parts.recorder.on_page_event(event)
        self._show_observers(event)
        self._session.event_log.publish(event)

    def _show_observers(self, event: ev.Event | page.PageEvent | None) -> None:
        """Give an event to the observers that have declared its type."""
        for take in self._observers.takes.get(type(event), ()):
            take(event)

    def subscribe(self) -> None:
        """Have the notices of the call's user come here from now on; one who only shares the call gets none."""
        if self._subscribe and not self._parts.over.is_set() and not self._session.shared:
            self._subscription = self._subscribe(self._session.owner, self.dispatch)

    def unsubscribe(self) -> None:
        """Take no more notices."""
        if self._subscription:
            self._subscription.close()

    def brief(self) -> None:
        """Brief the Responder with what is known of the caller, their program's wishes, and the tools of their line."""
        self._parts.link.brief(self._parts.phone.brief(self._parts.caller.briefing()))

    def brief_first(self) -> None:
        """Brief the Responder before its first connection; a profile that has changed meanwhile has done so already."""
        caller, link = self._parts.caller, self._parts.link
        if link.briefing is None:
            caller.use_mode()
            self._follow_profile()
        if caller.options is None:
            link.prefer(caller.preferences.responder)

    def brief_again(self, profile: UserProfile) -> None:
        """Show the page that the profile has changed, and brief the Responder again where it matters to it."""
        self.publish(page.UserContextChanged())
        self._parts.caller.learn(profile)
        self._follow_profile()

    def _follow_profile(self) -> None:
        """Take turns as the caller has chosen, unless a program has chosen itself, and brief the Responder."""
        if self._parts.caller.options is None:
            self.dispatch(ev.OptionsChanged(self._parts.caller.limits, answered=True))
        self.brief()

    # --- time -----------------------------------------------------------------------------------------

    def set_alarm(self) -> None:
        """Set the alarm to the machine's deadline, or to the end of the call if that comes first."""
        deadline = self._machine.deadline()
        due = self._ends_at if deadline is None else min(deadline, self._ends_at)
        if due != NEVER and not self._parts.over.is_set():
            self._alarm.set(due)

    def close(self) -> None:
        """Stop the alarm. Safe to call twice."""
        self._alarm.stop()

    def _on_deadline(self) -> None:
        """Something may be due, unless the deadline has moved since the alarm was set."""
        if self._ends_at <= self._now():
            self._ends_at = NEVER
            self.dispatch(ev.HangUpRequested("max_minutes"))
        self.dispatch(None)


class EngineReference:
    """What the parts of a call may ask of its engine. None of them does before the engine is there."""

    engine: CallEngine

    def dispatch(self, event: ev.Event) -> None:
        """Give the machine an event."""
        self.engine.dispatch(event)

    def publish(self, event: page.PageEvent) -> None:
        """Show an event on the page."""
        self.engine.publish(event)

    def brief_again(self, profile: UserProfile) -> None:
        """Brief the Responder on a changed profile."""
        self.engine.brief_again(profile)

"""One voice call, from its first frame to the last step of cleaning up, and the methods for requests meanwhile.

Two tasks and a timer run for a call. One task passes the caller's frames from the transport to the uplink, which sends
speech to the Responder (`uplink.py`). The other receives the Responder's events. The engine's timer fires at the turn
machine's deadlines. `run` owns the tasks and cleans up after them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Literal

from backend import page_events as page
from backend.call.dependencies import CallDependencies, Earlier
from backend.call.engine import CallEngine
from backend.call.parts import CallParts, make_parts
from backend.errors import (
    BadRequest,
    MediaFailed,
    NeverConnected,
    ResponderRejected,
    ResponderUnavailable,
    TransportLost,
)
from backend.sessions.recorder import not_recorded
from backend.sessions.session import Session
from backend.transports.base import Transport
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.call_options import CallOptions

log = logging.getLogger(__name__)


def open_call(dependencies: CallDependencies, session: Session, transport: Transport) -> ServedCall:
    """Return a call over `transport`, ready to run."""
    parts = make_parts(dependencies, session, transport)
    engine = CallEngine(parts, dependencies.subscribe, dependencies.max_s)
    return ServedCall(parts, engine, dependencies.knowledge.earlier)


class ServedCall:
    """One caller's call, which `run` runs once."""

    def __init__(self, parts: CallParts, engine: CallEngine, earlier: Earlier) -> None:
        self.parts = parts
        self.engine = engine
        self._earlier = earlier
        self._recalled: Literal["kept", "unavailable"] = "kept"

    # --- the call's life ------------------------------------------------------------------------------

    async def run(self) -> str:
        """Run the call to its end and return the reason. A fault is shown on the page, and raised after cleaning up."""
        parts, engine = self.parts, self.engine
        parts.session.call = self
        parts.observers.begin()
        parts.transport.listen_to_playback(engine.dispatch)
        parts.transport.watch_played(parts.echo.played)
        if parts.session.follower:
            parts.session.follower.attach(self)
        engine.set_alarm()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._receive_frames()), group.create_task(self._converse())]
                await parts.over.wait()
                if engine.failure:
                    raise engine.failure
                for task in tasks:
                    task.cancel()
        except* Exception:
            engine.publish(page.ErrorShown("The call failed.", "Call again; the server's log says why.", "call_failed"))
            raise
        finally:
            await self._clean_up()
        return engine.reason

    async def _receive_frames(self) -> None:
        """Take the caller's frames from the Responder's connection on; until then the transport keeps the last second.

        A caller who leaves ends the call, and so does audio that fails.
        """
        parts = self.parts
        waits = [asyncio.ensure_future(each) for each in (parts.inbox.opened.wait(), parts.transport.wait_ended())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        reason = "disconnected"
        try:
            await parts.transport.receive_frames(parts.uplink.on_frame)
        except NeverConnected:
            reason = "never_connected"
        except TransportLost:
            reason = "network_lost"
        except MediaFailed as error:
            log.exception("call %s: its audio failed", parts.session.id[:6])
            self.engine.publish(page.ErrorShown(str(error), error.hint, "call_failed"))
            reason = "error"
        self.engine.dispatch(ev.TransportClosed(reason))

    async def _converse(self) -> None:
        """Brief the Responder with what is known of the caller, connect it, and receive its events.

        A connected Responder costs money, so it is not connected before the caller is.
        """
        parts = self.parts
        if not parts.session.shared:
            await asyncio.gather(parts.caller.load(), self._recall())
        self.engine.brief_first()
        await parts.transport.wait_arrived()
        try:
            await parts.link.run(self._on_connected, self.engine.on_link_event)
        except ResponderUnavailable as error:
            log.warning("call %s: %s %s", parts.session.id[:6], error, error.hint)
            parts.inbox.open()
            self.engine.dispatch(ev.ResponderGone(str(error), refused=isinstance(error, ResponderRejected)))

    async def _recall(self) -> None:
        """Load the earlier messages if this call continues a conversation and memory answers in time."""
        session = self.parts.session
        if session.continues:
            earlier = await self._earlier(session.owner, session.conversation_id)
            self._recalled = "unavailable" if earlier is None else "kept"
            self.parts.observers.history.prepend(earlier or ())

    def _on_connected(self) -> None:
        parts, session, about = self.parts, self.parts.session, self.parts.link.about
        self.engine.follow_finder()
        self.engine.publish(
            page.SessionStarted(
                session_id=session.id,
                conversation_id=session.conversation_id,
                history=self._recalled,
                transport=session.transport,
                hearing=parts.uplink.hearing,
                responder=about.responder,
                model=about.model,
                offline=about.offline,
                interruptions=session.interruptions,
                pictures=parts.link.sees_pictures,
            )
        )
        self.engine.dispatch(ev.CallStarted())
        if session.record and parts.recorder and parts.recorder.is_possible:
            parts.recorder.start()  # the session asks for it, and the server can
        parts.inbox.open()
        self.engine.subscribe()

    async def _clean_up(self) -> None:
        """Release tasks and sockets, and record the call; each step is taken even if another raises.

        The session keeps this call until the sockets are closed: a request to end the call waits for that.
        """
        parts, reason = self.parts, self.engine.reason
        parts.over.set()
        self.engine.close()
        steps: list[Callable[[], object]] = [
            lambda: parts.tool_calls.close(go_on=reason != "deleted"),
            parts.consent.close,
            parts.phone.close,
            parts.client_calls.close,
            parts.tap.close,
            parts.link.close,
            parts.transport.close,
            *([partial(parts.recorder.close, reason)] if parts.recorder else []),
            lambda: setattr(parts.session, "call", None),
            self.engine.unsubscribe,
            *parts.observers.endings(reason),
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
                log.exception("call %s: a step of cleaning up failed", parts.session.id[:6])
        if cancelled:
            raise cancelled

    # --- what the session's routes ask of a live call --------------------------------------------------

    def type_text(self, text: str, pictures: Sequence[str] = ()) -> None:
        """Put typed words and pictures into the conversation; they wait until the Responder is connected.

        Raises `BadRequest` if the call is over, or the model sees no pictures.
        """
        self.parts.inbox.type_text(text, pictures)

    def submit(self, event: ev.Event) -> None:
        """Take a decision of the caller's program; it waits until the Responder is connected."""
        self.parts.inbox.submit(event)

    def choose(self, options: CallOptions) -> None:
        """Apply new options of the caller's program, in this turn or from the next on."""
        parts, caller = self.parts, self.parts.caller
        before, caller.options = caller.options, options
        parts.session.options = options
        self.engine.dispatch(ev.OptionsChanged(caller.limits, options.answers))
        if parts.link.briefing is not None:
            self.engine.brief()
        if before is None or before.detects_turns != options.detects_turns:
            parts.uplink.change_finder(caller.finder)

    def correct(self, command: do.TruncateItem | do.DeleteItem | do.CancelReply) -> None:
        """Pass a correction of the caller's program to the Responder: what was heard, or is no longer wanted.

        Raises `BadRequest` if an item is to be deleted and the Responder cannot do that.
        """
        responder = self.parts.link.connection
        if isinstance(command, do.DeleteItem) and responder and not responder.capabilities.truncates:
            # `fit` would drop the command without a word
            raise BadRequest("This server's Responder cannot forget what was said.", hint="Start a new session.")
        self.parts.link.send(command)

    def cancel_thinker(self, call: str) -> None:
        """Stop the work on a tool call. Raises `NotFound` for an unknown call, `BadRequest` for one that is over."""
        self.parts.tool_calls.dismiss(call)
        self.engine.dispatch(ev.ThinkerDismissed(call))

    def allow_interruptions(self, allowed: bool) -> None:
        """Set whether the caller's voice may interrupt replies, for the rest of the call."""
        self.parts.session.interruptions = allowed
        self.engine.dispatch(ev.InterruptionsSwitched(allowed))

    def record(self, on: bool) -> str:
        """Start or stop recording the call; return the recording's id. Raises `BadRequest` or `Forbidden`."""
        if (recorder := self.parts.recorder) is None:
            raise not_recorded()
        if on:
            return recorder.start()
        recorder.stop()
        return ""

    def say_answer(self, call: str) -> None:
        """Speak a late answer as soon as the floor is free. Raises `NotFound` or `BadRequest`."""
        self.engine.dispatch(ev.LateAnswerWanted(call, self.parts.tool_calls.late_answer(call)))

    def hang_up(self, reason: str) -> None:
        """End the call; the caller hears a goodbye unless `reason` is 'deleted', 'signed_in' or 'disconnected'."""
        gone = reason == "disconnected"
        self.engine.dispatch(ev.TransportClosed(reason) if gone else ev.HangUpRequested(reason))

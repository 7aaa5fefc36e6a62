"""One voice call: its life from the first frame to the last step of cleaning up, and what may be asked of it meanwhile.

Two tasks run for a call, and a timer. One has the transport hand over the caller's frames to the uplink, which sends
what is speech to the Responder (`uplink.py`); the other receives the Responder's events; the timer, the engine's, fires
at the turn machine's deadlines. `run` owns the tasks and cleans up after them.
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
    """A call of a caller's; `run` runs it once."""

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
        """Take the caller's frames once a Responder is there; till then the transport keeps the last second of them.

        A caller that leaves meanwhile, or with audio that fails, is not waited for.
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

        It costs money from its connection on, so a caller who never comes is never connected.
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
        """Put back what was said before, when this call continues a conversation and memory answers in time."""
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
            parts.recorder.start()
        parts.inbox.open()
        self.engine.subscribe()

    async def _clean_up(self) -> None:
        """Release tasks and sockets, and record the call; each step is taken though another raises.

        The session keeps this call until the sockets are closed: a request to end it meanwhile waits for that.
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
        """Put typed input, and pictures, into the conversation; before the Responder is there, it is kept for it.

        Raises `BadRequest` when the call is over, or the model sees no pictures.
        """
        self.parts.inbox.type_text(text, pictures)

    def submit(self, event: ev.Event) -> None:
        """Take what the caller's program has decided; before the Responder is there, it is kept for it."""
        self.parts.inbox.submit(event)

    def choose(self, options: CallOptions) -> None:
        """Go on with what the caller's program has chosen, in this turn or from the next on."""
        parts, caller = self.parts, self.parts.caller
        before, caller.options = caller.options, options
        parts.session.options = options
        self.engine.dispatch(ev.OptionsChanged(caller.limits, options.answers))
        if parts.link.briefing is not None:
            self.engine.brief()
        if before is None or before.detects_turns != options.detects_turns:
            parts.uplink.change_finder(caller.finder)

    def correct(self, command: do.TruncateItem | do.DeleteItem | do.CancelReply) -> None:
        """Tell the Responder what the caller's program knows better: what was heard, and what is no longer wanted.

        Raises `BadRequest` where it cannot forget an item.
        """
        responder = self.parts.link.connection
        if isinstance(command, do.DeleteItem) and responder and not responder.capabilities.truncates:
            raise BadRequest("This server's Responder cannot forget what was said.", hint="Start a new session.")
        self.parts.link.send(command)

    def cancel_thinker(self, call: str) -> None:
        """Stop the work on a tool call. Raises `NotFound`, or `BadRequest` when it is over."""
        self.parts.tool_calls.dismiss(call)
        self.engine.dispatch(ev.ThinkerDismissed(call))

    def allow_interruptions(self, allowed: bool) -> None:
        """Set whether the caller's voice may interrupt what is spoken, for the rest of the call."""
        self.parts.session.interruptions = allowed
        self.engine.dispatch(ev.InterruptionsSwitched(allowed))

    def record(self, on: bool) -> str:
        """Record the call from now on, or no more; return the recording's id. Raises `BadRequest` or `Forbidden`."""
        if (recorder := self.parts.recorder) is None:
            raise not_recorded()
        if on:
            return recorder.start()
        recorder.stop()
        return ""

    def say_answer(self, call: str) -> None:
        """Speak an answer that came too late, as soon as the floor is free. Raises `NotFound`, `BadRequest`."""
        self.engine.dispatch(ev.LateAnswerWanted(call, self.parts.tool_calls.late_answer(call)))

    def hang_up(self, reason: str) -> None:
        """End in order; the caller hears a goodbye unless `reason` is 'deleted' or 'disconnected'."""
        gone = reason == "disconnected"
        self.engine.dispatch(ev.TransportClosed(reason) if gone else ev.HangUpRequested(reason))

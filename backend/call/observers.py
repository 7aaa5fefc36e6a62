"""The observers of one call, which do not act on it: the trace, the metrics, the ledger, memory and the learner.

The call waits for none of them. The engine keeps what acts on the call, and what passes 50 times a second.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from backend import page_events as page
from backend.call.call_ledger import CallLedger
from backend.call.call_trace import CallTrace
from backend.call.caller import CallerContext
from backend.call.dependencies import CallDependencies
from backend.call.history import CallHistory, count_ended
from backend.call.post_turn import PostTurnHook
from backend.call.usage import CallUsage
from backend.page_events import Role
from backend.sessions.session import Session
from backend.storage.outbox import Enqueue
from backend.turns import events as ev
from backend.users.profile import UserProfile
from backend.users.profile_learner import ProfileLearner

log = logging.getLogger(__name__)

Take = Callable[[Any], None]
"""Takes an event of the type for which it is declared."""


class CallObservers:
    """The observers of one call."""

    def __init__(
        self,
        dependencies: CallDependencies,
        session: Session,
        caller: CallerContext,
        ledger: CallLedger,
        history: CallHistory,
        usage: CallUsage,
        enqueue: Enqueue,
        refresh: Callable[[UserProfile], None],
    ) -> None:
        """`refresh` is called with the caller's profile when it has changed."""
        self._session = session
        self._metrics = dependencies.metrics
        self._enqueue = enqueue
        owner, conversation_id = session.owner, session.conversation_id
        self.trace = CallTrace(dependencies.tracer, session)
        self.ledger = ledger
        self.history = history
        self.usage = usage
        self._learner = ProfileLearner(dependencies.learning, session.id, owner, self._enqueue, refresh)
        self._post_turn = PostTurnHook(
            dependencies.thinkers.registry.dependencies.pipeline,
            owner,
            conversation_id,
            mode=lambda: caller.mode,
        )
        self.takes = self._by_type()
        """Type of an event, of the turn machine or the page → the functions that take it, in order."""

    def begin(self) -> None:
        """Begin to observe the call, which begins now."""
        self._learner.begin()

    def on_message(self, role: Role, text: str) -> None:
        """Take a message that was really said or heard."""
        message_id = self.history.add(role, text)
        self._post_turn.on_message(role, text, message_id)
        if not self._session.shared:
            self._learner.on_message(role, text, self._session.caller_scope)

    def endings(self, reason: str) -> Sequence[Callable[[], None]]:
        """Return the steps to take when the call is over; each may fail without the others."""
        return (
            lambda: self._learner.close(reason),
            lambda: self._post_turn.close(reason),
            lambda: count_ended(self._enqueue, self._session, reason),
            lambda: self.ledger.close(reason),
            lambda: self._metrics.session_ended(reason),
            lambda: self.trace.close(reason),
        )

    def _by_type(self) -> Mapping[type[Any], Sequence[Take]]:
        count, trace, session = self._metrics.on_event, self.trace.on_event, self._session.note
        return {
            ev.ReplyFinished: (self.usage.on_reply,),
            page.ThinkerChanged: (self._on_thinker,),
            page.NoticeChanged: (self.ledger.on_notice,),
            page.UsageCounted: (self.ledger.on_usage,),
            page.TurnMeasured: (count, self.ledger.on_measured, trace),
            page.AnswerMeasured: (count, self.ledger.on_measured, trace),
            page.ReplyFailed: (self._on_failed,),
            page.ReplyDiscarded: (count, trace),
            page.MurmurHeard: (count, trace),
            page.UserItemAdded: (session,),
            page.TranscriptDelta: (session,),
            page.TranscriptCompleted: (trace, session),
            page.TranscriptInterrupted: (trace, session),
            page.ReplyWorded: (session,),
            page.PlaybackFinished: (trace,),
            page.IdleNudged: (trace,),
            page.IdleDisconnected: (trace,),
            page.ErrorShown: (trace, session),
        }

    def _on_thinker(self, event: page.ThinkerChanged) -> None:
        if event.stage == "working":
            return
        if event.stage == "routed":
            self._session.counts["thinkers"] += 1
        self._post_turn.on_thinker(event)
        self.trace.on_event(event)

    def _on_failed(self, event: page.ReplyFailed) -> None:
        log.warning("call %s: a reply did not come whole: %s", self._session.id[:6], event)
        self._metrics.on_event(event)

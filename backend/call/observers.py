"""Those who follow one call, and have no say in it: the trace, the metrics, the ledger, memory and the learner.

None of them is waited for. What acts on the call stays with the engine, and so does what passes 50 times a second.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from backend import page_events as page
from backend.call.call_trace import CallTrace
from backend.call.caller import Caller
from backend.call.dependencies import CallDependencies
from backend.call.history import CallHistory, count_ended
from backend.call.post_turn import PostTurnHook
from backend.call.record import CallRecord
from backend.call.usage import CallUsage
from backend.observability.call_metrics import VAD_DECISIONS
from backend.page_events import Role
from backend.sessions.session import Session
from backend.storage.outbox import Enqueue
from backend.turns import events as ev
from backend.users.profile import UserProfile
from backend.users.profile_learner import ProfileLearner

log = logging.getLogger(__name__)


class CallObservers:
    """The observers of one call."""

    def __init__(
        self,
        dependencies: CallDependencies,
        session: Session,
        caller: Caller,
        record: CallRecord,
        history: CallHistory,
        usage: CallUsage,
        enqueue: Enqueue,
        refresh: Callable[[UserProfile], None],
    ) -> None:
        """`refresh` is called when the caller's profile has changed."""
        self._session = session
        self._metrics = dependencies.metrics
        self._enqueue = enqueue
        owner, conversation_id = session.owner, session.conversation_id
        self.trace = CallTrace(dependencies.tracer, session)
        self.record = record
        self.history = history
        self.usage = usage
        self._learner = ProfileLearner(dependencies.learning, session.id, owner, self._enqueue, refresh)
        self._post_turn = PostTurnHook(
            dependencies.thinkers.registry.dependencies.pipeline,
            owner,
            conversation_id,
            mode=lambda: caller.mode,
            enqueue=self._enqueue,
            record=self.record.amend,
        )

    def __repr__(self) -> str:
        return f"CallObservers({self.trace!r}, {self.history!r}, {self.usage!r}, {self._post_turn!r})"

    def begin(self) -> None:
        """Take part in the call, which begins now."""
        self._learner.begin()

    def on_event(self, event: ev.Event | None, turn: int) -> None:
        """Take an event (None: a deadline) that has brought the turn machine to that turn."""
        if event and (decision := VAD_DECISIONS.get(type(event))):
            self._metrics.vad_decided(decision)
        if isinstance(event, ev.ReplyFinished):
            self.usage.on_reply(event)
        self.trace.on_turn(turn, event)

    def on_page_event(self, event: page.PageEvent) -> None:
        """Take what is shown on the page, with all that is known of it."""
        match event:
            case page.ThinkerChanged(stage="routed", work=page.ThinkerWork(domain)):
                self._learner.on_question(domain)
            case page.NoticeChanged():
                self.record.on_notice(event)
            case page.UsageCounted():
                self.record.on_usage(event)
            case page.TurnMeasured() | page.AnswerMeasured():
                self._metrics.on_event(event)
                self.record.on_measured(event)
            case page.ReplyFailed():
                log.warning("call %s: a reply did not come whole: %s", self._session.id[:6], event)
                self._metrics.on_event(event)
            case page.ReplyDiscarded() | page.MurmurHeard():
                self._metrics.on_event(event)
        if isinstance(event, page.ThinkerChanged):
            self._post_turn.on_thinker(event)
        self.trace.on_event(event)

    def on_message(self, role: Role, text: str) -> None:
        """Take what was really said or heard."""
        message_id = self.history.add(role, text)
        self._post_turn.on_message(role, text, message_id)
        if not self._session.shared:
            self._learner.on_message(role, text)

    def endings(self, reason: str) -> Sequence[Callable[[], None]]:
        """Return what is still to be done once the call is over, step by step: one may fail without the others."""
        return (
            lambda: self._learner.close(reason),
            lambda: self._post_turn.close(reason),
            lambda: count_ended(self._enqueue, self._session, reason),
            lambda: self.record.close(reason),
            lambda: self._metrics.session_ended(reason),
            lambda: self.trace.close(reason),
        )

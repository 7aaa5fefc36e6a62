"""The trace of one call: its turns and its Thinkers as spans, made from the events of the turn machine and the page.

A turn's span begins where the caller fell silent and lasts until the last event that belongs to the turn. It is ended
when the next turn has begun and no Thinker works for it: until then an answer may still become stale. A Thinker opens
its own spans under the span that `thinker` opens.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from msgspec import structs

from backend import page_events as page
from backend.observability.tracing import Outcome, Span, Tracer, within
from backend.sessions.session import Session
from backend.turns import events as ev

FAULTS = frozenset({"error", "responder_gone", "responder_refused"})
"""Reasons for a call's end that count as failures."""


@dataclass(slots=True)
class _Work:
    """A Thinker's span, and its outcome."""

    span: Span
    outcome: Outcome | None = None
    at: int = 0


@dataclass(slots=True)
class _TracedTurn:
    """The span of one turn; before the first turn, the span of the session."""

    span: Span
    number: int = 0
    active_at: int = 0
    heard: bool = False
    failed: bool = False
    idle: bool = False
    """True when the assistant's further words are no longer an answer to this turn."""
    murmurs: int = 0
    discarded_tokens: int = 0
    """The tokens of the replies that were prepared for this turn and discarded."""
    works: dict[str, _Work] = field(default_factory=dict)

    def touch(self) -> None:
        """Note that something happens for this turn now."""
        self.active_at = self.span.now()

    @property
    def working(self) -> bool:
        """True while a Thinker works for this turn."""
        return any(work.outcome is None for work in self.works.values())

    def end(self) -> None:
        """End the span and those within it."""
        for work in self.works.values():
            work.span.end(work.outcome or "cancelled", at=work.at or None)
        self.works.clear()
        if self.number:
            self.span.end("complete" if self.heard else "failed" if self.failed else "cancelled", at=self.active_at)


class CallTrace:
    """The spans of one call."""

    def __init__(self, tracer: Tracer, session: Session) -> None:
        self._span = tracer.session(session.id, user=session.owner)
        self._session = session
        self._turn = _TracedTurn(self._span)
        self._earlier: list[_TracedTurn] = []
        """Turns that wait for a Thinker only."""

    def on_turn(self, number: int, event: ev.Event | None) -> None:
        """Begin a new turn if the machine is in one after `event`; call it before any command is carried out."""
        for turn in [turn for turn in self._earlier if not turn.working]:
            self._earlier.remove(turn)
            turn.end()
        if number == self._turn.number:
            return
        self._earlier.append(self._turn)
        ago_ms = event.hangover_ms if isinstance(event, ev.SpeechStopped) else 0
        self._turn = _TracedTurn(self._span.open("turn", f"turn {number}", ago_ms=ago_ms), number)
        self._turn.span.note(turn=number, typed=isinstance(event, ev.TextTyped))
        self._turn.touch()

    def thinker(self, call: str) -> AbstractContextManager[Span]:
        """Return a context manager: tasks that are started within it belong to the trace of tool call `call`."""
        span = self._turn.span.open("thinker", "route_to_thinker")
        self._turn.works[call] = _Work(span)
        return within(span)

    def on_event(self, event: page.PageEvent) -> None:
        """Note an event of a turn or a Thinker in its span; ignore all other events."""
        turn = self._turn
        match event:
            case page.ThinkerChanged():
                self._thinker_changed(event)
            case page.TurnMeasured():
                turn.span.note(**structs.asdict(event))
                turn.heard = True
                turn.touch()
            case page.AnswerMeasured(_, answer_ms):
                turn.span.note(answer_ms=answer_ms)
            case page.ReplyDiscarded(number, tokens_in, tokens_out):
                self._discarded(number, tokens_in + tokens_out)
            case page.MurmurHeard():
                turn.murmurs += 1
                turn.span.note(murmurs=turn.murmurs)
            case page.TranscriptCompleted("user", _, content):
                turn.span.asked(content)
            case page.TranscriptCompleted("assistant", _, content) if not turn.idle:
                turn.span.said(content)
                turn.touch()
            case page.TranscriptInterrupted(_, heard) if not turn.idle:
                turn.span.said(heard)
                turn.span.note(interrupted=True)
                turn.touch()
            case page.PlaybackFinished() if not turn.idle:
                turn.touch()
            case page.IdleNudged() | page.IdleDisconnected():
                turn.idle = True
            case page.ErrorShown():
                turn.failed = True

    def close(self, reason: str) -> None:
        """End all spans."""
        for turn in (*self._earlier, self._turn):
            turn.end()
        self._earlier.clear()
        self._span.note(reason=reason, responder=self._session.responder, transport=self._session.transport)
        self._span.note(**self._session.counts)
        self._span.end("failed" if reason in FAULTS else "complete")

    def _discarded(self, number: int, tokens: int) -> None:
        """Note the tokens of a discarded reply, which the provider may report when the next turn has begun."""
        turn = next((turn for turn in (self._turn, *self._earlier) if turn.number == number), None)
        if turn:
            turn.discarded_tokens += tokens
            turn.span.note(discarded_tokens=turn.discarded_tokens)

    def _thinker_changed(self, event: page.ThinkerChanged) -> None:
        turn = next((turn for turn in (self._turn, *self._earlier) if event.call_id in turn.works), None)
        if turn is None:
            return
        traced = turn.works[event.call_id]
        match event.stage:
            case "routed" if event.work:
                traced.span.rename(event.work.domain)
                traced.span.asked(event.work.query)
            case "complete" | "failed" | "stale" | "cancelled":
                first = traced.outcome is None
                traced.outcome = event.stage
                if first:
                    traced.at = turn.active_at = traced.span.now()
                    work = event.work
                    citations = len(work.citations) if work else 0
                    traced.span.note(source=work.source or None if work else None, citations=citations)
                    if work and work.error:  # it may repeat the caller's words, so it is treated as such
                        traced.span.said(work.error)

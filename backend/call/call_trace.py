"""One call's trace: what the turn machine and the page are told, told to the spans of the call and its turns.

A turn begins where the caller fell silent and lasts until the last thing that was done or heard for it; it is
handed over when the next one has begun and no Thinker works for it any more, since until then an answer may still
go stale. What a Thinker does inside opens its own spans under the one `thinker` puts around it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from backend.conversation import events as ev
from backend.observability.tracing import Outcome, Span, Tracer, within
from backend.sessions.registry import Session

FAULTS = frozenset({"error", "responder_gone"})
"""Reasons for a call's end that are not as it should be."""


@dataclass(slots=True)
class _Work:
    """A Thinker's span, and how it came out."""

    span: Span
    outcome: Outcome | None = None
    at: int = 0


@dataclass(slots=True)
class _Turn:
    """One turn, or, with the session's own span, what came before the first."""

    span: Span
    number: int = 0
    active_at: int = 0
    heard: bool = False
    failed: bool = False
    idle: bool = False
    """What is said from here on is no answer any more."""
    works: dict[str, _Work] = field(default_factory=dict)

    def touch(self) -> None:
        """Something happened for it."""
        self.active_at = self.span.now()

    @property
    def working(self) -> bool:
        """Whether a Thinker has not come to an end."""
        return any(work.outcome is None for work in self.works.values())

    def hand_over(self) -> None:
        """End it and what is in it."""
        for work in self.works.values():
            work.span.end(work.outcome or "cancelled", at=work.at or None)
        self.works.clear()
        if self.number:
            self.span.end("complete" if self.heard else "failed" if self.failed else "cancelled", at=self.active_at)


class CallTrace:
    """The spans of one call."""

    def __init__(self, tracer: Tracer, session: Session) -> None:
        self._span = tracer.session(session.id)
        self._session = session
        self._turn = _Turn(self._span)
        self._earlier: list[_Turn] = []
        """Turns that are over but for a Thinker."""

    def __repr__(self) -> str:
        return f"CallTrace(turn {self._turn.number}, {len(self._earlier)} not yet handed over)"

    def turn_is(self, number: int, event: ev.Event | None) -> None:
        """The machine's turn after `event`, before anything is done about it."""
        if self._earlier:
            self._hand_over_earlier()
        if number == self._turn.number:
            return
        self._earlier.append(self._turn)
        ago_ms = event.hangover_ms if isinstance(event, ev.SpeechStopped) else 0
        self._turn = _Turn(self._span.open("turn", f"turn {number}", ago_ms=ago_ms), number)
        self._turn.span.note(turn=number, typed=isinstance(event, ev.TextTyped))
        self._turn.touch()

    def thinker(self, call: str) -> within:
        """A block whose tasks work for tool call `call`."""
        span = self._turn.span.open("thinker", "route_to_thinker")
        self._turn.works[call] = _Work(span)
        return within(span)

    def published(self, type_: str, data: dict[str, Any]) -> None:
        """The page is told this."""
        turn = self._turn
        match type_:
            case "thinker":
                self._worked(data)
            case "turn_metrics":
                turn.span.note(**data)
                turn.heard = True
                turn.touch()
            case "transcript" if data["role"] == "user":
                turn.span.asked(data["content"])
            case "transcript" if not turn.idle:
                turn.span.said(data["content"])
                turn.touch()
            case "transcript_interrupted" if not turn.idle:
                turn.span.said(data["heard"])
                turn.span.note(interrupted=True)
                turn.touch()
            case "audio_playback_finished" if not turn.idle:
                turn.touch()
            case "session_idle_nudge" | "session_idle_disconnect":
                turn.idle = True
            case "error":
                turn.failed = True

    def close(self, reason: str) -> None:
        """The call is over."""
        for turn in (*self._earlier, self._turn):
            turn.hand_over()
        self._earlier.clear()
        self._span.note(reason=reason, responder=self._session.responder, transport=self._session.transport)
        self._span.note(**self._session.counts)
        self._span.end("failed" if reason in FAULTS else "complete")

    def _worked(self, data: dict[str, Any]) -> None:
        turn = next((turn for turn in (self._turn, *self._earlier) if data["call_id"] in turn.works), None)
        if turn is None:
            return
        work, event = turn.works[data["call_id"]], data["event"]
        if event == "routed":
            work.span.rename(data["domain"])
            work.span.asked(data["query"])
        elif event in ("complete", "failed", "stale", "cancelled"):
            first = work.outcome is None
            work.outcome = event
            if first:
                work.at = work.span.now()
                turn.active_at = work.at
                _describe(work.span, data)

    def _hand_over_earlier(self) -> None:
        for turn in [turn for turn in self._earlier if not turn.working]:
            self._earlier.remove(turn)
            turn.hand_over()


def _describe(span: Span, data: dict[str, Any]) -> None:
    """What a Thinker came to. An error's text may repeat words, so it is treated as such."""
    span.note(source=data.get("source"), citations=len(data.get("citations", ())))
    if error := data.get("error"):
        span.said(error)

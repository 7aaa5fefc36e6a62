"""Where a call's Thinkers work: one owned task per tool call, each ending in exactly one event."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from backend.conversation.events import ThinkerFailed, ThinkerFinished
from backend.errors import BadRequest, NoAnswer, NotFound, TookTooLong, VoiceError
from backend.observability.call_metrics import Metrics
from backend.tasks.handoff import GOES_ON, STARTED, BackgroundHandoff
from backend.thinkers.base import Answer, LocalCheckpoints, Manifest, Question, ThinkerProgress
from backend.thinkers.registry import ThinkerRegistry
from backend.users.modes import Mode

log = logging.getLogger(__name__)

CALL_LIMIT = 16
"""Thinkers working for one call at the same time; more are refused with a word the model can act on."""

WORK_KEPT = 64
"""Pieces of work remembered of one call."""

STOP_WITHIN_S = 2.0
"""Seconds cancelled work gets to tidy up."""

NOT_WANTED = "The caller has moved on; this is no longer wanted. Do not mention it."

LATE = "The caller asks to hear this answer, which came too late before. Say it now, briefly."

ThinkerEvent = ThinkerFinished | ThinkerFailed
OUTCOMES = frozenset({"complete", "failed", "stale"})


@dataclass(slots=True)
class Work:
    """One tool call's work, as the page sees it. `turn` is the caller's turn it serves."""

    call: str
    domain: str
    label: str
    query: str
    since: float
    turn: int
    into_turn_ms: int = 0
    """From the caller's last sound of that turn to the tool call."""
    filler: str = ""
    answer: Answer | None = None
    error: str = ""
    measured: bool = False
    event: str = ""
    """How the turn machine took it, once it has."""
    question: Question | None = None
    steps: LocalCheckpoints = field(default_factory=LocalCheckpoints)
    task_id: str = ""
    """Of the background task it went on as."""

    def shown(self, event: str) -> dict[str, Any]:
        """The data of a `thinker` page event."""
        shown: dict[str, Any] = {
            "call_id": self.call,
            "event": event,
            "domain": self.domain,
            "label": self.label,
            "query": self.query,
            "elapsed_ms": round((time.monotonic() - self.since) * 1000),
            "turn": self.turn,
            "into_turn_ms": self.into_turn_ms,
        }
        if self.answer:
            shown |= {"source": self.answer.source, "citations": list(self.answer.citations)}
        if self.task_id:
            shown["task_id"] = self.task_id
        if self.error:
            shown["error"] = self.error
        return shown


class Desk:
    """Runs Thinkers for one call. `tell` takes their events, `publish` what the page should see.

    `turn` gives the number of the caller's latest turn: work that serves an earlier one is late. `turn_age_ms` tells
    how far into that turn we are, in milliseconds.
    """

    def __init__(
        self,
        thinkers: ThinkerRegistry,
        *,
        session_id: str,
        user_id: str,
        conversation_id: str,
        mode: Callable[[], Mode] = Mode,
        turn: Callable[[], int],
        tell: Callable[[ThinkerEvent], None],
        publish: Callable[[str, dict[str, Any]], None],
        metrics: Metrics,
        turn_age_ms: Callable[[], int] = lambda: 0,
        handover: BackgroundHandoff | None = None,
    ) -> None:
        """`handover` takes work that goes on in the background; None: none does."""
        self._handover = handover
        self._goes_on = False
        self._thinkers = thinkers
        self._session_id = session_id
        self._user_id = user_id
        self._conversation_id = conversation_id
        self._mode = mode
        self._turn = turn
        self._tell = tell
        self._publish = publish
        self._metrics = metrics
        self._turn_age_ms = turn_age_ms
        self._work: dict[str, Work] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def __repr__(self) -> str:
        return f"Desk({len(self._tasks)} at work)"

    def run(self, call: str, name: str, arguments: str) -> None:
        """Begin to work on a tool call."""
        work = Work(call, "", name[:64], "", time.monotonic(), self._turn(), self._turn_age_ms())
        while len(self._work) >= WORK_KEPT:
            del self._work[next(iter(self._work))]
        self._work[call] = work
        answering = self._answer(work, name, arguments, full=len(self._tasks) >= CALL_LIMIT)
        self._tasks[call] = asyncio.create_task(answering, name=f"thinker {call}")

    def cancel(self, call: str) -> None:
        """Nobody waits for it any more: stop the model and the tools."""
        if task := self._tasks.get(call):
            task.cancel()

    def dismissable(self, call: str) -> None:
        """Raises `NotFound` for work not done here, `BadRequest` for work that is over."""
        if self._known(call).event:
            raise BadRequest("This Thinker is not at work any more.", hint="There is nothing to cancel.")

    def late_answer(self, call: str) -> str:
        """The answer that came too late, for the Responder to speak after all.

        Raises `NotFound` for work not done here, `BadRequest` where no answer went unspoken.
        """
        work = self._known(call)
        if work.event != "stale" or work.answer is None:
            raise BadRequest("There is no unspoken answer.", hint="Only an answer that came too late can be asked for.")
        return _output(work.domain, work.answer, note=LATE)

    def filler(self) -> str:
        """The sentence of the Thinker that is at work, the newest of several, for the Responder to say; or nothing."""
        working = [work for call, work in self._work.items() if call in self._tasks]
        return working[-1].filler if working else ""

    def settled(self, call: str, event: str) -> dict[str, Any]:
        """How the turn machine took the result, for the page. An answer can be complete, and go stale unspoken."""
        work = self._work.get(call)
        if work is None:
            return {"call_id": call, "event": event}
        work.event = event
        if event in OUTCOMES and not work.measured:
            work.measured = True
            self._metrics.thinker_finished(work.domain, event, time.monotonic() - work.since)
        return work.shown(event)

    def _known(self, call: str) -> Work:
        try:
            return self._work[call]
        except KeyError:
            raise NotFound("No such Thinker call.", hint="It may be too long ago; ask the question again.") from None

    async def close(self, *, go_on: bool = False) -> None:
        """Cancel what still works, and wait until it has stopped; not for one that will not stop.

        With `go_on`, what may go on without its call goes on in the background.
        """
        self._goes_on = go_on
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_WITHIN_S)

    async def _answer(self, work: Work, name: str, arguments: str, *, full: bool) -> None:
        try:
            event = await self._think(work, name, arguments, full=full)
        except asyncio.CancelledError:
            self._metrics.thinker_finished(work.domain, "cancelled", time.monotonic() - work.since)
            self._left_behind(work)
            raise
        except VoiceError as error:
            work.error = str(error)
            event = ThinkerFailed(work.call, work.error)
        except Exception:
            log.exception("the work on a tool call failed")
            work.error = "The specialist had an internal fault."
            event = ThinkerFailed(work.call, work.error)
        finally:
            self._tasks.pop(work.call, None)
        self._tell(event)

    async def _think(self, work: Work, name: str, arguments: str, *, full: bool) -> ThinkerEvent:
        work.domain, work.query = self._thinkers.parse(name, arguments)
        manifest = self._thinkers.manifest_of(work.domain)
        work.label, work.filler = manifest.label, manifest.filler
        self._publish("thinker", work.shown("routed"))
        if full:
            raise NoAnswer("Too many questions at once. Ask again when one is answered.")

        def on_progress(progress: ThinkerProgress) -> None:
            self._publish("thinker", work.shown("working") | progress.shown())

        self._publish("thinker", work.shown("working"))
        mode = self._mode()
        question = Question(
            work.domain,
            work.query,
            self._session_id,
            self._user_id,
            mode=mode.name,
            steps=mode.steps,
            conversation_id=self._conversation_id,
        )
        work.question = question
        if self._thinkers.in_background(arguments) and self._takes(manifest):
            return await self._given(work, STARTED)
        try:
            answer = await self._thinkers.answer(question, on_progress, steps=work.steps)
        except TookTooLong:
            if not self._takes(manifest):
                raise
            return await self._given(work, GOES_ON)
        work.answer = answer
        return ThinkerFinished(work.call, self._submitted(work, manifest, answer))

    def _takes(self, manifest: Manifest) -> bool:
        """Whether this work can go on in the background."""
        return self._handover is not None and self._handover.takes(manifest, self._user_id)

    async def _given(self, work: Work, words: str) -> ThinkerEvent:
        """Give the work to the background. What the caller is told at once. Raises `VoiceError`."""
        assert self._handover is not None
        assert work.question is not None
        try:
            task = await self._handover.give(work.question, work.steps)
        except TimeoutError:
            raise NoAnswer("It could not be started in the background just now.") from None
        work.task_id = task.id
        output = {"domain": work.domain, "answer": words, "source": "model", "task_id": task.id}
        return ThinkerFinished(work.call, json.dumps(output))

    def _left_behind(self, work: Work) -> None:
        """The caller has hung up on work that may go on."""
        if self._goes_on and work.question is not None and self._takes(self._thinkers.manifest_of(work.domain)):
            assert self._handover is not None
            self._handover.give_later(work.question, work.steps)

    def _submitted(self, work: Work, manifest: Manifest, answer: Answer) -> str:
        """The answer; of one that is late, and that nobody wants then, only that it is not wanted any more."""
        if manifest.late == "drop" and work.turn != self._turn():
            return json.dumps({"domain": work.domain, "dropped": NOT_WANTED})
        return _output(work.domain, answer)


def _output(domain: str, answer: Answer, *, note: str = "") -> str:
    """What the Responder is given to put in its own words."""
    output: dict[str, Any] = {"domain": domain, "answer": answer.text, "source": answer.source}
    if answer.citations:
        output["citations"] = list(answer.citations)
    if note:
        output["note"] = note
    return json.dumps(output, ensure_ascii=False)

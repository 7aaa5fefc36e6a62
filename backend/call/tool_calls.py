"""The tool calls of one voice call: each goes to the Thinker dispatcher, and its outcome is one turn-machine event.

Two other runners with the same protocol, `ToolCallRunner`, carry out the remaining calls: the telephone line
(`phone.py`) and the caller's program (`client_calls.py`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Protocol

from msgspec import Struct

from backend.call.call_ledger import CallLedger
from backend.call.delegations import ALREADY, Delegations, read_task
from backend.citations import as_json
from backend.errors import BadRequest, NotFound
from backend.observability.call_metrics import CallMetrics
from backend.page_events import ThinkerChanged, ThinkerStage
from backend.responders.base import PastMessage
from backend.thinkers.base import Answer, Question
from backend.thinkers.dispatcher import ThinkerCall, ThinkerDispatcher
from backend.turns.commands import DELEGATE, RunThinker
from backend.turns.events import ThinkerFailed, ThinkerFinished

CALL_LIMIT = 16
"""The most Thinkers that work for one call at the same time; the model gets a sentence that refuses further ones."""
REMEMBERED_LIMIT = 64
"""The most Thinker calls of one voice call that are remembered."""
STOP_WITHIN_S = 2.0
"""Seconds in which cancelled Thinkers may clean up."""
TOO_MANY = "Too many questions at once. Ask again when one is answered."
LATE = "The caller asks to hear this answer, which came too late before. Say it now, briefly."

ThinkerEvent = ThinkerFinished | ThinkerFailed
OUTCOMES = frozenset({"complete", "failed", "stale"})


class ToolCallRunner(Protocol):
    """Carries out the calls of some tools; the outcome of each is dispatched once, unless it is cancelled."""

    def run(self, command: RunThinker) -> None:
        """Begin to carry out a tool call."""

    def cancel(self, call: str) -> None:
        """Stop the work on a tool call; do nothing for a call that this runner does not carry out."""


class CallView(Struct, frozen=True):
    """The parts of a voice call that its tool calls need."""

    question: Callable[[bool, bool], Question]
    """(untrusted, unsure) → a question of the caller, still without words; see `ToolRights` for the flags."""
    dispatch: Callable[[ThinkerEvent], None]
    """Gives an outcome to the turn machine."""
    publish: Callable[[ThinkerChanged], None]
    """Shows an event on the page."""
    ledger: CallLedger
    """Writes tool calls and their outcomes into the ledger."""
    history: Callable[[], Sequence[PastMessage]] = tuple
    """Returns the messages of the call so far."""
    traced: Callable[[str], AbstractContextManager[object]] = nullcontext
    """Returns a context manager: tasks that are started within it belong to the trace of a tool call."""


class ToolCallDispatcher:
    """Starts, cancels and remembers the Thinker calls of one voice call."""

    def __init__(self, thinkers: ThinkerDispatcher, call: CallView, metrics: CallMetrics) -> None:
        self._thinkers = thinkers
        self._call = call
        self._metrics = metrics
        self._delegations = Delegations(thinkers, call.history)
        self._delegated: dict[str, ThinkerCall] = {}
        """The delegated words of the latest turn → the call that works on them."""
        self._calls: dict[str, ThinkerCall] = {}
        self._states: dict[str, ThinkerStage] = {}
        """The stage that the turn machine reported for the outcome of each tool call."""
        self._dismissed: set[str] = set()

    @property
    def _working(self) -> list[ThinkerCall]:
        return [call for call in self._calls.values() if call.working]

    def run(self, command: RunThinker) -> None:
        """Begin to work on a tool call; for one that is unsure, the caller hears first what it would write."""
        with self._call.traced(command.call):
            self._run(command)

    def _run(self, command: RunThinker) -> None:
        name, arguments = command.name, command.arguments
        call = ThinkerCall(
            command.call,
            self._call.question(self._is_untrusted(command.turn), command.unsure),
            name[:64],
            self._call.publish,
            self._on_end,
            turn=command.turn,
            into_turn_ms=command.into_turn_ms,
        )
        is_full = len(self._working) >= CALL_LIMIT
        self._remember(call)
        self._call.ledger.on_tool_call(call.id, name, arguments)
        if name == DELEGATE:
            self._delegate(call, arguments, is_full=is_full)
            return
        try:
            route = self._thinkers.registry.parse(name, arguments)
        except BadRequest as error:
            self._refuse(call, str(error))
            return
        call.question = replace(call.question, domain=route.manifest.domain, query=route.query)
        call.label, call.background = route.manifest.label, route.background
        if is_full:
            self._call.publish(call.changed("routed"))
            self._refuse(call, TOO_MANY)
            return
        self._thinkers.start(call).add_done_callback(lambda task: self._count_cancelled(call, task))

    def _is_untrusted(self, turn: int) -> bool:
        """Return whether a Thinker's answer has brought other people's text into that turn of the caller."""
        return any(call.turn == turn and call.answer and call.answer.untrusted for call in self._calls.values())

    def _delegate(self, call: ThinkerCall, arguments: str, *, is_full: bool) -> None:
        """Work on a delegation of the model, unless the same was delegated in this turn already."""
        try:
            task = read_task(arguments)
        except BadRequest as error:
            self._refuse(call, str(error))
            return
        call.question = replace(call.question, query=task.said)
        of_turn = {said: each for said, each in self._delegated.items() if each.turn == call.turn and not each.error}
        if task.said in of_turn:
            self._call.dispatch(ThinkerFinished(call.id, ALREADY, silent=True))
        elif is_full:
            self._refuse(call, TOO_MANY)
        else:
            self._delegated = of_turn | {task.said: call}
            started = self._delegations.start(call, task)
            started.add_done_callback(lambda task: self._count_cancelled(call, task))

    def cancel(self, call_id: str) -> None:
        """Stop the model and the tools of a call with an answer that is no longer wanted."""
        if (call := self._calls.get(call_id)) and call.task:
            call.task.cancel()

    def dismiss(self, call_id: str) -> None:
        """Note that the caller does not want the answer, so that the work does not go on in the background either.

        Raises `NotFound` for an unknown call, `BadRequest` for a call that is over.
        """
        self._known(call_id)
        if call_id in self._states:
            raise BadRequest("This Thinker is no longer working.", hint="There is nothing to cancel.")
        self._dismissed.add(call_id)

    def late_answer(self, call_id: str) -> str:
        """Return a late answer, as JSON that the Responder is to speak.

        Raises `NotFound` for an unknown call, `BadRequest` if the call has no unspoken answer.
        """
        call = self._known(call_id)
        if self._states.get(call_id) != "stale" or call.answer is None or call.answer.task_id:
            raise BadRequest(  # it was spoken, never came, or became a background task, which reports by a notice
                "There is no answer left to say.",
                hint="Only an answer that came late and was not spoken can be asked for.",
            )
        return _output(call.question.domain, call.answer, note=LATE)

    def filler(self) -> str:
        """Return the filler sentence of the newest Thinker at work; empty if it has none, or none is at work."""
        domain = self._working[-1].question.domain if self._working else ""
        return self._thinkers.registry.manifest_of(domain).filler if domain else ""

    def settled(self, event: ThinkerChanged) -> ThinkerChanged:
        """Note the turn machine's verdict on an outcome; return its event with the details of the call.

        A complete answer can still become stale if it was not spoken. The event of an unknown call is unchanged.
        """
        call, stage = self._calls.get(event.call_id), event.stage
        if call is None:
            return event
        if stage in OUTCOMES and self._states.get(event.call_id) not in OUTCOMES:
            self._metrics.thinker_finished(call.question.domain, stage, call.elapsed_s)
        self._states[event.call_id] = stage
        return call.changed(stage)

    async def close(self, *, go_on: bool = False) -> None:
        """Cancel every call, and wait up to `STOP_WITHIN_S` until they have stopped.

        With `go_on`, work that may go on without its caller becomes a background task.
        """
        unfinished = [call for call in self._calls.values() if call.task and not call.has_outcome]
        tasks = [call.task for call in unfinished if call.task]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_WITHIN_S)
        for call in unfinished:
            if go_on and call.id not in self._dismissed and call.question.domain:
                self._thinkers.hand_off_later(call)  # the caller still wants it, and a Thinker was found for it

    def _known(self, call_id: str) -> ThinkerCall:
        try:
            return self._calls[call_id]
        except KeyError:
            raise NotFound("No such Thinker call.", hint="It may be too long ago. Ask the question again.") from None

    def _remember(self, call: ThinkerCall) -> None:
        while len(self._calls) >= REMEMBERED_LIMIT:
            oldest = next(id_ for id_, kept in self._calls.items() if not kept.working)
            del self._calls[oldest]
            self._states.pop(oldest, None)
        self._calls[call.id] = call

    def _refuse(self, call: ThinkerCall, error: str) -> None:
        call.error = error
        self._on_end(call)

    def _on_end(self, call: ThinkerCall) -> None:
        """Record and dispatch the outcome of a call."""
        self._call.ledger.on_outcome(call)
        if call.answer is None:
            self._call.dispatch(ThinkerFailed(call.id, call.error))
            return
        domain, answer = call.question.domain, call.answer
        late = "" if answer.task_id else f'About your question "{call.question.query}": {answer.text}'
        self._call.dispatch(ThinkerFinished(call.id, _output(domain, answer), answer.interruptible, late))

    def _count_cancelled(self, call: ThinkerCall, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            self._metrics.thinker_finished(call.question.domain, "cancelled", call.elapsed_s)


def _output(domain: str, answer: Answer, *, note: str = "") -> str:
    """Return the JSON that the Responder puts in its own words."""
    output: dict[str, object] = {"domain": domain, "answer": answer.text, "source": answer.source}
    if answer.citations:
        output["citations"] = as_json(answer.citations)
    if answer.task_id:
        output["task_id"] = answer.task_id
    if note:
        output["note"] = note
    return json.dumps(output, ensure_ascii=False)

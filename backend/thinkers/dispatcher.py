"""Voice calls, typed turns and background tasks ask Thinkers through the dispatcher alone.

    start(call) ──┬─ asked to work in the background ───────────▶ handed off: "I've started on it …"
                  ├─ answer, kept in the cache or thought out ──▶ the answer
                  ├─ deadline passed, and it may take minutes ──▶ handed off: "It takes longer …"
                  └─ anything else that goes wrong ─────────────▶ an error, in words that can be spoken

Every call of `route_to_thinker` is one asyncio task with exactly one outcome. The dispatcher owns the task, the
deadline, the cache and the hand-off to the background; `run` gathers the Thinker's input, including the findings of the
middleware. Voice and chat differ only in how they show the outcome.
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from backend.agent.context import local_day
from backend.errors import NoAnswer, ThinkerTimeout, VoiceError
from backend.observability.logs import log_ids
from backend.observability.tracing import current_span, opened
from backend.page_events import ThinkerChanged, ThinkerStage, ThinkerWork
from backend.storage.ledger.work import Work, working
from backend.storage.memory import Memory
from backend.thinkers.base import Answer, Checkpoints, Manifest, OnProgress, Question, ThinkerProgress
from backend.thinkers.cache import AnswerCache, key_of
from backend.thinkers.registry import Thinker, ThinkerRegistry
from backend.thinkers.run import ThinkerRun
from backend.users.profile_updates import CountQuestion, update_profile

log = logging.getLogger(__name__)

STARTED = "I've started on it in the background. I'll tell you when it's done."
GOES_ON = "It takes longer than expected, so I go on with it in the background. I'll tell you when it's done."

OnChange = Callable[[ThinkerChanged], None]
"""Shows the progress of a call and its Thinker. Does not wait."""


class Handoff(Protocol):
    """Takes work that goes on as a background task; see `tasks.handoff`."""

    def accepts(self, manifest: Manifest, user_id: str) -> bool:
        """Return whether that Thinker's work can go on in the background for that user."""

    async def hand_off(self, question: Question, checkpoints: Checkpoints) -> str:
        """Create a background task from the question, and return the task's id. Raises `VoiceError`."""

    def hand_off_later(self, question: Question, checkpoints: Checkpoints) -> None:
        """Create a background task from the question after the call has ended. Never waits."""


@dataclass(eq=False, repr=False)
class ThinkerCall:
    """One call of `route_to_thinker`, from the question to its outcome. Times are in seconds of the monotonic clock."""

    id: str
    question: Question
    label: str
    """The Thinker's name on the page."""
    on_change: OnChange
    on_end: Callable[[ThinkerCall], None] = lambda call: None
    """Called once with the outcome, but not for a cancelled call."""
    background: bool = False
    """Whether the user asked for the work to be done in the background."""
    turn: int = 0
    """The number of the caller's turn that it serves; 0 in a chat."""
    into_turn_ms: int = 0
    """Milliseconds from the caller's last sound of that turn to the tool call."""
    started_at: float = field(default_factory=time.monotonic)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    work: Work = field(default_factory=Work)
    """The models and tools that it has used."""
    task: asyncio.Task[None] | None = None
    """The task of the call. Await it for the outcome; cancel it to stop the model and the tools."""
    answer: Answer | None = None
    error: str = ""
    """Why there is no answer, in words that can be spoken."""

    @property
    def has_outcome(self) -> bool:
        """Whether there is an answer or an error; a cancelled call has neither."""
        return self.answer is not None or bool(self.error)

    @property
    def working(self) -> bool:
        """Whether its Thinker is still at work."""
        return self.task is not None and not self.task.done() and not self.has_outcome

    @property
    def elapsed_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.started_at

    def changed(self, stage: ThinkerStage, progress: ThinkerProgress | None = None) -> ThinkerChanged:
        """Return the event that reports this call at `stage`, with its Thinker's current step."""
        answer = self.answer
        found = answer if answer and not answer.task_id else None
        work = ThinkerWork(
            domain=self.question.domain,
            label=self.label,
            query=self.question.query,
            elapsed_ms=round(self.elapsed_s * 1000),
            turn=self.turn,
            into_turn_ms=self.into_turn_ms,
            source=found.source if found else "",
            citations=found.citations if found else (),
            task_id=answer.task_id if answer else "",
            error=self.error,
        )
        if progress is None:
            return ThinkerChanged(self.id, stage, work)
        return ThinkerChanged(self.id, stage, work, progress.detail, progress.tool)


Find = Callable[[ThinkerCall], Awaitable[Answer]]
"""Finds the answer of a call. Raises `VoiceError` with words that can be spoken."""


class ThinkerDispatcher:
    """Asks the Thinkers of a registry, any number of questions at the same time."""

    def __init__(
        self, registry: ThinkerRegistry, handoff: Handoff | None = None, cache: AnswerCache | None = None
    ) -> None:
        """`handoff` takes work that goes on in the background; None: there are no background tasks."""
        self.registry = registry
        self._handoff = handoff
        self.cache = cache or AnswerCache(registry.dependencies.memory)

    def with_handoff(self, handoff: Handoff) -> ThinkerDispatcher:
        """Return a dispatcher with the same Thinkers and cache that hands long work to the background."""
        return ThinkerDispatcher(self.registry, handoff, self.cache)

    def start(self, call: ThinkerCall, find: Find | None = None) -> asyncio.Task[None]:
        """Begin to work on `call` in its own task, which raises nothing but `CancelledError`.

        `find` replaces the usual way to find the answer.
        """
        with log_ids(conversation=call.question.conversation_id, turn=call.turn, tool_call=call.id):
            call.task = asyncio.create_task(self._run(call, find or self._outcome), name=f"thinker {call.id}")
        return call.task

    def hand_off_later(self, call: ThinkerCall) -> None:
        """Let a call that ended because the caller hung up go on in the background, if it may."""
        if self._handoff is not None and self._may_go_on(call.question):
            self._handoff.hand_off_later(call.question, call.checkpoints)

    def deadline_of(self, manifest: Manifest) -> float:
        """Return the seconds that a Thinker's answer may take."""
        return manifest.deadline_s or self.registry.dependencies.settings.turns.thinker_deadline_s

    async def answer(
        self,
        question: Question,
        on_progress: OnProgress,
        *,
        checkpoints: Checkpoints | None = None,
        patient: bool = False,
    ) -> Answer:
        """Answer `question` within the Thinker's deadline; if `patient`, only a cancellation limits the time.

        `checkpoints` hold the steps an earlier run has done, and keep those done now. Raises `ThinkerTimeout` after the
        deadline, `NoAnswer` with words that can be spoken, or `BadRequest` for a domain that no Thinker serves.
        """
        thinker = self.registry.serving(question.domain)
        label, deadline_s = thinker.manifest.label, self.deadline_of(thinker.manifest)
        try:
            with opened("routing", "thinker_router.think"):
                async with asyncio.timeout(None if patient else deadline_s):
                    return await self._served(thinker, question, on_progress, checkpoints or Checkpoints())
        except TimeoutError as error:
            raise ThinkerTimeout(f"{label} took longer than {deadline_s:g} seconds.") from error
        except NoAnswer:
            raise
        except VoiceError as error:
            raise NoAnswer(f"{label} has no answer. {error}") from error
        except Exception as error:  # A Thinker file may be a plugin: its fault costs an answer, never the call.
            where = traceback.extract_tb(error.__traceback__)[-1]
            kind = type(error).__name__  # The exception's text may hold the user's words.
            log.error("Thinker %s is broken: %s at %s:%s", thinker.manifest.domain, kind, where.filename, where.lineno)
            raise NoAnswer(f"{label} has a fault.") from error

    async def _run(self, call: ThinkerCall, find: Find) -> None:
        try:
            call.on_change(call.changed("routed"))
            with working() as call.work:
                call.answer = await find(call)
        except VoiceError as error:
            call.error = str(error)
        except Exception:
            log.exception("a Thinker call failed")
            call.error = "The specialist had an internal fault."
        call.on_end(call)

    async def _outcome(self, call: ThinkerCall) -> Answer:
        call.on_change(call.changed("working"))
        if call.background and self._may_go_on(call.question):
            return await self._handed_off(call, STARTED)
        try:
            return await self.answer(
                call.question,
                lambda progress: call.on_change(call.changed("working", progress)),
                checkpoints=call.checkpoints,
            )
        except ThinkerTimeout:
            if not self._may_go_on(call.question):
                raise
            return await self._handed_off(call, GOES_ON)

    def _may_go_on(self, question: Question) -> bool:
        manifest = self.registry.manifest_of(question.domain)
        return self._handoff is not None and self._handoff.accepts(manifest, question.user_id)

    async def _handed_off(self, call: ThinkerCall, words: str) -> Answer:
        assert self._handoff is not None
        return Answer(words, "model", task_id=await self._handoff.hand_off(call.question, call.checkpoints))

    async def _served(
        self, thinker: Thinker, question: Question, on_progress: OnProgress, checkpoints: Checkpoints
    ) -> Answer:
        """Return the answer from the cache or from the Thinker."""
        manifest, dependencies = thinker.manifest, self.registry.dependencies
        run = ThinkerRun(dependencies, manifest, question, on_progress, checkpoints=checkpoints)
        current_span().note(domain=manifest.domain, tier=manifest.tier, cache="off")
        log.info("thinker_start: %s", manifest.domain)
        situation = await run.situation()
        day = local_day(dependencies.clock(), situation.zone)
        key = key_of(manifest, question, situation, day) if manifest.cache_ttl_s else None
        if key and (cached := await self.cache.find(key)):
            on_progress(ThinkerProgress("found in the cache"))
            return self._learnt(question, cached)
        # An answer that all users share on a date must not depend on the time of day.
        if key and key.is_shared and manifest.cache_scope == "date":
            run.show_date_only()
        with opened("thinking", f"{manifest.domain}_thinker.think"):
            answer = await thinker.think(run)
        if key and run.cacheable and answer.source != "sample":
            await self.cache.keep(key, answer, manifest.cache_ttl_s, personal=run.personal)
        return self._learnt(question, answer)

    def _learnt(self, question: Question, answer: Answer) -> Answer:
        """Add the question's topic and the answer's update to the user's profile, and return the answer."""
        took_ms, tokens = answer.latency_ms, answer.tokens
        log.info("thinker_end: %s from %s, %d ms, %d tokens", question.domain, answer.source, took_ms, tokens)
        enqueue, topic = self.registry.dependencies.enqueue, CountQuestion(question.domain, time.time())
        if enqueue and question.user_id:
            updates = (topic, *(answer.update.allowed() if answer.update else ()))

            async def learn(memory: Memory) -> None:
                await update_profile(memory, question.user_id, *updates)

            enqueue(learn)
        return answer

"""Delegations: work that a call's model hands over by itself, without naming a Thinker (`Capabilities.delegates`).

The task consists of the caller's last words and of what the model has announced since; the history of the call explains
its pronouns. One turn of the agent does the task, with the Thinkers as in a typed turn.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import msgspec
from msgspec import structs

from backend.agent.context import STRANGER, Situation
from backend.agent.events import ThinkingState
from backend.errors import BadRequest, NoAnswer, ThinkerTimeout
from backend.models.base import quoted
from backend.page_events import ThinkerChanged
from backend.responders.base import PastMessage
from backend.storage.memory import briefly
from backend.thinkers.base import Answer, Question, Source
from backend.thinkers.dispatcher import ThinkerCall, ThinkerDispatcher
from backend.thinkers.routing import SLACK_S, ThinkerRouting
from backend.users.profile import load_profile

LABEL = "Assistant"
"""The name that the page shows until a Thinker is asked."""
SHOWN = 12
"""The number of the call's latest messages that the agent gets."""
KNOWN_WITHIN_S = 0.5
"""Seconds in which the profile must be loaded."""
DEADLINE_FACTOR = 2
"""The time of a task as a multiple of a Thinker's deadline."""
TASK = """\
The user is on the phone with a voice, which has handed over what they have just said. Do all that it asks for, and \
nothing that was asked for or done before: the conversation is there to understand it. What the user hears is the \
voice: give it the answer in one to four short sentences, with every fact, and say plainly what could not be done."""
ANNOUNCED = "What the voice has announced to the user (data): {words}"
ALREADY = json.dumps({"status": "This is at work already, or was answered. Do not say it again."})
"""The answer to a delegation that came twice."""


class DelegatedTask(msgspec.Struct, frozen=True):
    """The words of a delegation: the caller's (`said`) and the model's since (`announced`)."""

    said: str
    announced: str = ""


def read_task(arguments: str) -> DelegatedTask:
    """Return the task of a delegation. Raises `BadRequest` if it cannot be read, or the caller said nothing."""
    try:
        task = msgspec.json.decode(arguments, type=DelegatedTask)
    except msgspec.MsgspecError:
        raise BadRequest("The delegation cannot be read.") from None
    if not task.said.strip():
        raise BadRequest("Nothing was said that could be done. Ask the caller what they want.")
    return task


class Delegations:
    """The work that one call's model has handed over."""

    def __init__(self, thinkers: ThinkerDispatcher, history: Callable[[], Sequence[PastMessage]]) -> None:
        """`history` returns the messages of the call so far."""
        self._thinkers = thinkers
        self._history = history

    def start(self, call: ThinkerCall, task: DelegatedTask) -> asyncio.Task[None]:
        """Begin to work on a task; its outcome becomes that of `call`."""
        call.label = LABEL
        return self._thinkers.start(call, partial(self._do, task))

    async def _do(self, task: DelegatedTask, call: ThinkerCall) -> Answer:
        settings = self._thinkers.registry.dependencies.settings
        within_s = DEADLINE_FACTOR * settings.turns.thinker_deadline_s + SLACK_S
        try:
            async with asyncio.timeout(within_s):
                return await self._think(task, call)
        except TimeoutError as error:
            raise ThinkerTimeout(f"It took longer than {within_s:g} seconds.") from error

    async def _think(self, task: DelegatedTask, call: ThinkerCall) -> Answer:
        """Do the task in one turn of the agent."""
        shared, question, began = self._thinkers.registry.dependencies, call.question, time.perf_counter()
        mode = shared.mode_of(question)
        asked: list[ThinkerCall] = []
        routing = ThinkerRouting(
            self._thinkers, question, partial(_show, call), lambda each: asked.append(each), ids=f"{call.id}."
        )
        has_thinkers = bool(self._thinkers.registry.manifests)
        agent = replace(
            shared.agent,
            toolbox=shared.toolbox.only(()).plus(*([routing.tool()] if has_thinkers else [])),
            model_name=shared.model_name("fast", mode),
            profile=mode.name,
            store=None,
            router=None,
            shown=False,
        )
        prompt = [TASK, mode.words()]
        if task.announced:
            prompt.append(ANNOUNCED.format(words=quoted(task.announced)))
        session = agent.create_session(
            question.conversation_id or question.session_id,
            system_prompt="\n\n".join(filter(None, prompt)),
            user_id=question.user_id,
            situation=await self._situation(question),
            client="voice",
            rights=question.rights,
        )
        response = await session.think(task.said, "voice", raises=True)
        if response.state is not ThinkingState.COMPLETE:
            raise NoAnswer("It was stopped.")
        sources: set[Source] = {each.answer.source for each in asked if each.answer}
        handed_off = [each.answer.task_id for each in asked if each.answer and each.answer.task_id]
        return Answer(
            text=response.text,
            source="sample" if response.sample or "sample" in sources else "live" if "live" in sources else "model",
            citations=response.citations,
            tool_calls=len(response.tool_calls_made),
            latency_ms=round((time.perf_counter() - began) * 1000),
            tokens=response.tokens_used,
            task_id=handed_off[0] if len(handed_off) == 1 == len(asked) else "",
            interruptible=all(each.answer.interruptible for each in asked if each.answer),
            untrusted=response.untrusted or any(each.answer.untrusted for each in asked if each.answer),
        )

    async def _situation(self, question: Question) -> Situation:
        history = [(said.role, said.text[:2_000]) for said in self._history()[-SHOWN:]]
        if not question.user_id:
            return Situation(history=history)
        loading = load_profile(self._thinkers.registry.dependencies.memory, question.user_id)
        profile = await briefly(loading, STRANGER, within_s=KNOWN_WITHIN_S)
        return Situation(profile, history=history)


def _show(call: ThinkerCall, event: ThinkerChanged) -> None:
    """Show a Thinker's work for the task on the page, as the work of the delegated call."""
    if event.work is None or event.stage not in ("routed", "working"):
        return
    call.label = event.work.label
    call.question = replace(call.question, domain=event.work.domain, query=event.work.query)
    shown = call.changed("working")
    call.on_change(structs.replace(shown, detail=event.detail, tool=event.tool))

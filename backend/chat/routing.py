"""Thinkers for whoever types: the very tool the Responder has, offered to the chat's agent.

What a domain knows is thus one implementation, with its prompt, tools, cache and deadline, for voice and text alike.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from backend.call.tool_calls import Work
from backend.errors import NoAnswer, TookTooLong, VoiceError
from backend.observability.tracing import opened
from backend.tasks.handoff import GOES_ON, STARTED, BackgroundHandoff
from backend.thinkers.base import Answer, Question
from backend.thinkers.registry import ROUTE_TOOL, ThinkerRegistry
from backend.tools.base import Principal, Result, Tool
from backend.users.modes import Mode

SLACK_S = 5.0
"""Seconds the tool has beyond the slowest Thinker's deadline: it is the Thinker that says what took long."""
GUIDANCE = """For everything that needs facts, current data or thought, call {tool} with the fitting domain and the \
whole question; never guess what a specialist would know. Small talk, and what was said in this conversation, you \
answer yourself. The specialists:
{guide}"""
NOTE = "Give this in your own words, briefly; if it is sample data, say so."


@dataclass(frozen=True, slots=True)
class RouteArguments:
    """The tool's `Arguments`, read as those of a call's routing are."""

    thinkers: ThinkerRegistry

    def read(self, text: str) -> dict[str, Any]:
        """Raises `BadRequest` with a message the model can act on."""
        domain, query = self.thinkers.parse(ROUTE_TOOL, text)
        return {"domain": domain, "query": query, "background": self.thinkers.in_background(text)}


Publish = Callable[[str, dict[str, Any]], None]


class ThinkerRouting:
    """One turn's way to the Thinkers. `publish` shows their work as a call's page is shown it."""

    def __init__(
        self,
        thinkers: ThinkerRegistry,
        conversation_id: str,
        mode: Mode,
        publish: Publish,
        handover: BackgroundHandoff | None = None,
        *,
        platform: str = "",
    ) -> None:
        """`handover` takes work that goes on in the background; None: none does."""
        self._thinkers = thinkers
        self._handover = handover
        self._conversation_id = conversation_id
        self._mode = mode
        self._platform = platform
        self._publish = publish
        self._numbers = itertools.count(1)
        self.domains: list[str] = []
        """Those that were consulted, in order."""

    def __repr__(self) -> str:
        return f"ThinkerRouting({', '.join(self.domains) or 'nobody yet'})"

    def tool(self) -> Tool:
        """`route_to_thinker`, to be put into the agent's box."""
        route = self._thinkers.route_tool()
        slowest = max(self._thinkers.deadline_s(self._question(m.domain, "", "")) for m in self._thinkers.manifests)
        return Tool(
            name=ROUTE_TOOL,
            description=route["description"],
            function=self._consult,
            arguments=RouteArguments(self._thinkers),
            parameters=route["parameters"],
            services={"principal": Principal},
            cache=False,
            always=True,
            guidance=GUIDANCE.format(tool=ROUTE_TOOL, guide=self._thinkers.guide()),
            deadline_s=slowest + SLACK_S,
        )

    async def _consult(self, principal: Principal, domain: str, query: str, background: bool = False) -> Result:
        """Raises `NoAnswer`, which the runner tells the model."""
        label = self._thinkers.manifest_of(domain).label
        work = Work(f"thinker_{next(self._numbers)}", domain, label, query, time.monotonic(), 0)
        self.domains.append(domain)
        self._publish("thinker", work.shown("routed"))
        work.question = self._question(domain, query, principal.user_id)
        try:
            result = await self._worked_out(work, background=background)
        except (VoiceError, TimeoutError) as error:
            work.error = str(error) or "It could not be started in the background just now."
            self._publish("thinker", work.shown("failed"))
            raise NoAnswer(work.error) from error
        self._publish("thinker", work.shown("complete"))
        return result

    async def _worked_out(self, work: Work, *, background: bool) -> Result:
        """The answer, or word that it is worked on in the background. Raises `VoiceError` or `TimeoutError`."""
        question = work.question
        assert question is not None
        taken = self._handover is not None and self._handover.takes(
            self._thinkers.manifest_of(work.domain), question.user_id
        )
        if background and taken:
            return await self._given(work, STARTED)
        try:
            with opened("thinker", work.domain) as span:
                span.asked(work.query)
                work.answer = await self._thinkers.answer(
                    question,
                    lambda progress: self._publish("thinker", work.shown("working") | progress.shown()),
                    steps=work.steps,
                )
                span.note(source=work.answer.source, citations=len(work.answer.citations))
        except TookTooLong:
            if not taken:
                raise
            return await self._given(work, GOES_ON)
        return _result(work.domain, work.answer)

    async def _given(self, work: Work, words: str) -> Result:
        assert self._handover is not None
        assert work.question is not None
        task = await self._handover.give(work.question, work.steps)
        work.task_id = task.id
        return Result({"domain": work.domain, "answer": words, "source": "model", "task_id": task.id})

    def _question(self, domain: str, query: str, user_id: str) -> Question:
        return Question(
            domain,
            query,
            self._conversation_id,
            user_id,
            "chat",
            mode=self._mode.name,
            steps=self._mode.steps,
            conversation_id=self._conversation_id,
            platform=self._platform,
        )


def _result(domain: str, answer: Answer) -> Result:
    data = {"domain": domain, "answer": answer.text, "source": answer.source}
    return Result(data, sample=answer.source == "sample", note=NOTE, citations=answer.citations)

"""The two reasoners by their documented names: a task in, its deliverable out as text.

text = await DualModelReasoner(reasoner).infer("Three tickets cost twelve dollars each …")

`Reasoner.infer` does the work, and returns more: the state, the citations, the figures.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from backend.reasoning import metacognitive
from backend.reasoning.base import ReasoningRequest, Strategy
from backend.reasoning.metacognitive import ModelMessage, ReasonerMemory
from backend.reasoning.reasoner import Reasoner


class MonoModelReasoner:
    """Thinks with one model, by the metacognitive framework."""

    strategy: ClassVar[Strategy] = "mono"

    def __init__(self, reasoner: Reasoner) -> None:
        self._reasoner = reasoner

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._reasoner!r})"

    async def infer(self, task: str | ReasoningRequest) -> str:
        """Return the deliverable, or the best result so far, which says that it is unfinished. Raises as `Reasoner`."""
        if isinstance(task, str):
            task = ReasoningRequest(task, tools=self._reasoner.tools)
        return (await self._reasoner.infer(replace(task, strategy=self.strategy))).text

    async def conclude(self, reasoner_memory: ReasonerMemory) -> str:
        """Return the deliverable in the last message, else what that says without thoughts and tags."""
        return metacognitive.conclude(reasoner_memory)

    @staticmethod
    def stopped(message: ModelMessage) -> bool:
        """Return whether the message ends the work, since it holds a deliverable from tag to tag."""
        return metacognitive.stopped(message)


class DualModelReasoner(MonoModelReasoner):
    """Thinks with two models, Thinker and Actor, by the metacognitive framework."""

    strategy: ClassVar[Strategy] = "dual"

"""The two documented reasoners take a task, and return its deliverable as text.

text = await DualModelReasoner(reasoner).infer("Three tickets cost twelve dollars each …")

`Reasoner.infer` does the work, and returns more: the state, the citations, the figures. The other names of the document
are here, too; the import of one that stands for something else says what to use.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, NoReturn

from backend.models.tagged import GUIDE as FUNC_CALLING_PROMPT
from backend.reasoning import metacognitive
from backend.reasoning.base import ReasoningRequest, Strategy
from backend.reasoning.metacognitive import ModelMessage, ReasonerMemory
from backend.reasoning.reasoner import Reasoner

__all__ = ["FUNC_CALLING_PROMPT", "DualModelReasoner", "ModelMessage", "MonoModelReasoner", "ReasonerMemory", "Task"]

Task = ReasoningRequest
ELSEWHERE = {
    "ModelService": "Use the functions generate and call_function of backend.reasoning.generate.",
    "MONO_PROMPT_TEMPLATE": "The prompt is the file backend/reasoning/prompts/mono.md.",
    "injection_mapping": "A tool gets services by the types of its parameters: see backend.tools.base.",
}
"""Documented name → what does its work here."""


def __getattr__(name: str) -> NoReturn:
    if name in ELSEWHERE:
        raise ImportError(f"{name} is not here. {ELSEWHERE[name]}")
    raise AttributeError(f"module {__name__} has no attribute {name}")


class MonoModelReasoner:
    """Reasons with one model, by the metacognitive framework."""

    strategy: ClassVar[Strategy] = "mono"

    def __init__(self, reasoner: Reasoner) -> None:
        self._reasoner = reasoner

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._reasoner!r})"

    async def infer(self, task: str | ReasoningRequest) -> str:
        """Return the deliverable, or the best result so far, marked as unfinished. Raises like `Reasoner`."""
        if isinstance(task, str):
            task = ReasoningRequest(task, tools=self._reasoner.tools)
        return (await self._reasoner.infer(replace(task, strategy=self.strategy))).text

    async def conclude(self, reasoner_memory: ReasonerMemory) -> str:
        """Return the deliverable of the last message, or its text without thoughts and tags."""
        return metacognitive.conclude(reasoner_memory)

    @staticmethod
    def stopped(message: ModelMessage) -> bool:
        """Return whether the message ends the work with a complete deliverable."""
        return metacognitive.stopped(message)


class DualModelReasoner(MonoModelReasoner):
    """Reasons with two models, Thinker and Actor, by the metacognitive framework."""

    strategy: ClassVar[Strategy] = "dual"

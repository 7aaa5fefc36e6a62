"""Reasoners over scripted models."""

from collections.abc import Callable, Sequence
from typing import Any

from backend.models.base import ChatModel
from backend.reasoning.reasoner import Reasoner
from backend.testing.model import Line, Scene, ScriptedModel
from tests.support.agents import agent


class Cast(ScriptedModel):
    """One script for each model, by name."""

    def __init__(self, **scenes: Sequence[Scene] | Callable[[list[dict[str, Any]]], Scene]) -> None:
        super().__init__(improvise=self._scene)
        self._scripts = {name: list(each) if isinstance(each, Sequence) else each for name, each in scenes.items()}

    def _scene(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Sequence[Line]:
        script = self._scripts[self.requests[-1]["model"]]
        scene = script(messages) if callable(script) else script.pop(0)
        assert isinstance(scene, Sequence), "a scene of a cast is a list"
        return scene

    def asked(self, name: str) -> list[dict[str, Any]]:
        """The requests to one model."""
        return [request for request in self.requests if request["model"] == name]


def reasoner(model: ChatModel, *functions: Any, **options: Any) -> Reasoner:
    """A reasoner with these `@tool` functions; its models are called `planner` and `executor`."""
    return Reasoner(agent(model, *functions), planner="planner", executor="executor", **options)

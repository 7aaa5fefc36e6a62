"""What reasoning is asked, what it gives back, and what may be told of it meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from backend.agent.prompt import Situation
from backend.tools.base import Principal

Strategy = Literal["mono", "dual"]
State = Literal["complete", "incomplete"]
ROUND_LIMIT = 20
"""Rounds of planner and executor, at most."""
REFLECTION_LIMIT = 3
"""Times a draft is looked through, at most."""
NOT_FINISHED = "I did not get to the end of this."


@dataclass(frozen=True, slots=True, repr=False)
class Task:
    """Something to think through."""

    text: str
    strategy: Strategy = "mono"
    principal: Principal = field(default_factory=lambda: Principal(""))
    """On whose behalf tools run."""
    source_mode: Literal["voice", "chat"] = "chat"
    """How the outcome is delivered."""
    tools: tuple[str, ...] | None = None
    """Names of the tools it may use; None: all there are."""
    situation: Situation | None = None
    guidance: str = ""
    """What whoever writes the outcome is told besides."""

    def __repr__(self) -> str:
        return f"Task({self.strategy}, {len(self.text)} characters)"


@dataclass(frozen=True, slots=True)
class Stage:
    """What is being done: 'drafting', 'planning', 'calling clock'. Never anybody's words, nor a thought."""

    detail: str
    round: int = 0


OnStage = Callable[[Stage], None]


@dataclass(frozen=True, slots=True, repr=False)
class Reasoned:
    """The outcome. Nothing of how it came about is in it but figures."""

    text: str
    state: State
    """`incomplete`: the rounds or the time ran out; `text` says so."""
    strategy: Strategy
    rounds: int = 0
    """Mono: how often the draft was looked through; dual: rounds of planner and executor."""
    tool_calls: int = 0
    tokens: int = 0
    citations: tuple[str, ...] = ()
    sample: bool = False
    """Some of it rests on labelled sample data: `text` says so."""
    live: bool = False
    """A tool supplied data."""
    cacheable: bool = True
    elapsed_ms: int = 0

    def __repr__(self) -> str:
        return f"Reasoned({self.state}, {self.strategy}, {self.rounds} rounds, {self.tokens} tokens)"

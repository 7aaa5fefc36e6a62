"""The types of reasoning: the request, its progress, the result, and the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from backend.agent.context import Situation, SourceMode
from backend.agent.events import AgentEvent, ThinkerResponse, ThinkingState
from backend.agent.session import Agent, ThinkerSession
from backend.agent.turn import say_sample
from backend.citations import Citation
from backend.errors import NoAnswer
from backend.models.tags import THINK, THINK_END
from backend.page_events import ToolCallEvent, ToolResultEvent
from backend.tools.base import ToolContext, ToolRights

Strategy = Literal["mono", "dual"]
ROUND_LIMIT = 20
"""The most turns of one model, or rounds of two."""
NOT_FINISHED = "I did not get to the end of this."


@dataclass(frozen=True, slots=True)
class ReasoningRequest:
    """A task to reason about."""

    text: str = field(repr=False)
    strategy: Strategy = "mono"
    context: ToolContext = field(default_factory=lambda: ToolContext(""), repr=False)
    """The context of its tool calls: the user and the turn."""
    source_mode: SourceMode = "chat"
    """How the result is delivered."""
    tools: tuple[str, ...] = ()
    """The names of the tools that it may use. Tools that need consent refuse, since no user can be asked."""
    situation: Situation | None = field(default=None, repr=False)
    guidance: str = ""
    """Further instructions for the model that words the result."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage to show: 'thinking', 'planning', 'calling clock'; never a user's words or a thought."""

    detail: str
    round: int = 0


OnStage = Callable[[Stage], None]


@dataclass(frozen=True, slots=True, repr=False)
class Reasoned:
    """The result. Of the work behind it, it holds only figures."""

    text: str
    state: Literal["complete", "incomplete"]
    """`incomplete`: the rounds or the time ran out; `text` says so."""
    strategy: Strategy
    rounds: int = 0
    """The number of turns of one model, or of rounds of two."""
    tool_calls: int = 0
    tokens: int = 0
    citations: tuple[Citation, ...] = ()
    sample: bool = False
    """Whether part of the result rests on labelled sample data; `text` says so."""
    live: bool = False
    """Whether a tool supplied data."""
    elapsed_ms: int = 0
    untrusted: bool = False
    """Whether text of others went into the result."""

    def __repr__(self) -> str:
        return f"Reasoned({self.state}, {self.strategy}, {self.rounds} rounds, {self.tokens} tokens)"


@dataclass(repr=False)
class ReasoningRun:
    """The run of one task. Its sessions are private: their words never leave the run."""

    agent: Agent
    task: ReasoningRequest
    on_stage: OnStage
    round: int = 0
    responses: list[ThinkerResponse] = field(default_factory=list)
    calls: list[ToolResultEvent] = field(default_factory=list)
    """The finished tool calls, in order."""
    best: str = ""
    """The best result so far, in case the time runs out."""

    def __repr__(self) -> str:
        return f"ReasoningRun({self.task!r}, round {self.round}, {self.tokens} tokens)"

    @property
    def tokens(self) -> int:
        """Tokens used so far."""
        return sum(response.tokens_used for response in self.responses)

    def session(self, part: str, prompt: str, *, tools: bool, model: str = "") -> ThinkerSession:
        """Open a conversation with one of the models, with the task's tools or none."""
        agent = replace(
            self.agent,
            toolbox=self.agent.toolbox.only(self.task.tools if tools else ()),
            model_name=model or self.agent.model_name,
            store=None,
        )
        return agent.create_session(
            f"{self.task.context.conversation_id}:{part}",
            system_prompt=prompt,
            user_id=self.task.context.user_id,
            on_event=self._on_agent_event,
            situation=self.task.situation,
            private=True,
            rights=self._rights,
        )

    async def think(self, session: ThinkerSession, text: str) -> ThinkerResponse:
        """Run one turn of `session`. Raises `NoAnswer` or `ModelUnavailable`."""
        response = await session.think(text, "chat", raises=True)
        response = replace(response, text=without_thoughts(response.text))
        self.responses.append(response)
        if response.state is not ThinkingState.COMPLETE or not response.text:
            raise NoAnswer("The reasoning was stopped.")
        return response

    @property
    def _rights(self) -> ToolRights:
        rights = self.task.context.rights.alone()
        return rights.tainted() if any(response.untrusted for response in self.responses) else rights

    def stage(self, detail: str) -> None:
        """Report the current stage."""
        self.on_stage(Stage(detail, self.round))

    def reasoned(self, text: str, *, complete: bool) -> Reasoned:
        """Return the result with the figures of all turns."""
        sample = any(response.sample for response in self.responses)
        text = text if complete else f"{NOT_FINISHED} {text}".strip()
        return Reasoned(
            text=say_sample(text) if sample else text,
            state="complete" if complete else "incomplete",
            strategy=self.task.strategy,
            rounds=self.round,
            tool_calls=sum(len(response.tool_calls_made) for response in self.responses),
            tokens=self.tokens,
            citations=tuple(dict.fromkeys(one for response in self.responses for one in response.citations)),
            sample=sample,
            live=any(response.live for response in self.responses),
            untrusted=self._rights.untrusted,
        )

    def _on_agent_event(self, event: AgentEvent) -> None:
        match event:
            case ToolCallEvent(_, name) if name in self.agent.toolbox.names:
                self.stage(f"calling {name}")
            case ToolResultEvent(_, name, error=error):
                self.calls.append(event)
                if error and name in self.agent.toolbox.names:
                    self.stage(f"{name}: {error.replace('_', ' ')}")


def without_thoughts(text: str) -> str:
    """Return `text` without the thoughts that some models write before it, even if their opening tag is missing."""
    behind = text.rpartition(THINK_END)[2]
    return behind.partition(THINK)[0].strip() if behind.strip() or THINK in text else text.strip()

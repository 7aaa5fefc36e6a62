"""The types of a Thinker: manifest, question, answer and checkpoints.

A Thinker is one file in this folder with a `MANIFEST` and, only if a single conversation between model and tools is not
enough, `async def think(run: ThinkerRun) -> Answer`. The registry finds it; the routing tool, the Responder's guide and
the page's labels are derived from the manifest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from backend.agent.context import SourceMode
from backend.citations import Citation
from backend.errors import BadPlugin
from backend.page_events import ToolProgress
from backend.tools.base import ToolRights
from backend.users.context_update import ContextUpdate
from backend.users.modes import Mode

Source = Literal["live", "cache", "sample", "model"]
"""The origin of an answer: a live service, the cache, labelled sample data, or the model's own knowledge."""


@dataclass(frozen=True, slots=True)
class Question:
    """The question of one `route_to_thinker` call. `user_id` is empty for an unknown caller."""

    domain: str
    query: str
    session_id: str
    user_id: str
    source_mode: SourceMode = "voice"
    mode: Mode | None = None
    """The mode that is on; None: the default."""
    conversation_id: str = ""
    """The conversation of the question; empty: none that is kept."""
    platform: str = ""
    """The platform of a typed question, as the client names it; empty for voice."""
    rights: ToolRights = ToolRights()  # noqa: RUF009 - nothing in it changes
    """The rights of its tool calls; by default public tools alone."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a Thinker. `text` is ready to be spoken: no markup, links read as names."""

    text: str
    source: Source
    citations: tuple[Citation, ...] = ()
    tool_calls: int = 0
    latency_ms: int = 0
    tokens: int = 0
    task_id: str = ""
    """The id of the background task that goes on with the question; `text` then only says so."""
    interruptible: bool = True
    """Whether the caller's voice may interrupt the reply that speaks it. False: the caller must hear it to its end."""
    untrusted: bool = False
    """Whether text of others went into the answer."""
    update: ContextUpdate | None = None
    """What was learned about the user; the dispatcher adds it to their profile."""


@dataclass(frozen=True, slots=True)
class ThinkerProgress:
    """A step to show on the page, such as 'calling get_current_weather'. It never holds the user's words."""

    detail: str
    """The detail; empty: the last one still applies."""
    tool: ToolProgress | None = None


OnProgress = Callable[[ThinkerProgress], None]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that the rest of the server knows about a Thinker: its domain, and how it is served."""

    domain: str
    """The routing name: lower-case letters, digits and underscores."""
    label: str
    """The name the page shows."""
    description: str
    """When to route here, in a few words that complete 'Use it for …'."""
    example: str
    """A sentence that a caller might say."""
    prompt: str
    """The model's task; style, date and user data are added to it."""
    examples: tuple[str, ...] = ()
    """A few more examples, as different as possible, for every model that routes."""
    phrases: tuple[str, ...] = ()
    """Many more examples in callers' words, from which an extension that routes without a language model learns."""
    tier: Literal["fast", "advanced"] = "fast"
    """The model tier: which of the two configured models answers, `THINKER_MODEL` or `THINKER_MODEL_ADVANCED`."""
    tools: tuple[str, ...] = ()
    """The names of its tools. The Thinker is refused if one does not exist, and left out if none is set up."""
    cache_ttl_s: int = 120
    """Seconds an answer may be served again from the cache; 0: never."""
    cache_scope: Literal["user", "time", "date"] = "time"
    """The users who share cached answers: none, or those with the same time zone or date; never personal ones."""
    deadline_s: float | None = None
    """Seconds an answer may take; None: the setting `THINKER_DEADLINE_S`."""
    filler: str = ""
    """A sentence that the Responder may say while the answer takes long."""
    history_turns: int = 10
    """Turns of the conversation (a user's words and the reply) that it sees; 0, so that answers can be shared."""
    preferences: tuple[str, ...] = ()
    """The names of the user's preferences that it sees, such as 'default_location'."""
    summary: bool = False
    """Whether it sees the summary of the user's earlier conversations."""
    background: bool = False
    """Whether it may take minutes, and goes on as a background task when the caller does not wait."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]{1,31}", self.domain):
            raise BadPlugin(f"Domain {self.domain!r} is not a lower-case name of 2 to 32 letters, digits, underscores.")
        for name in ("label", "description", "example", "prompt"):
            if not getattr(self, name).strip():
                raise BadPlugin(f"The manifest of {self.domain} has no {name}.")
        if self.deadline_s is not None and self.deadline_s <= 0:
            raise BadPlugin(f"The manifest of {self.domain} has a deadline that is not positive.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """Tools and prompt sentences that a module, such as an extension's, adds to an existing Thinker.

    A manifest lists what its Thinker needs. Optional tools join through the `ADDITIONS` of their module instead:
    without the extension, neither its tools nor words about them reach the Thinker.
    """

    domain: str
    tools: tuple[str, ...] = ()
    """The tools to add. If none of them is set up, nothing is added."""
    description: str = ""
    prompt: str = ""
    """Sentences that are added to the Thinker's prompt."""
    examples: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()

    def to(self, manifest: Manifest) -> Manifest:
        """Return the manifest with the additions."""
        return replace(
            manifest,
            tools=(*manifest.tools, *self.tools),
            description="; ".join(filter(None, (self.description, manifest.description))),
            prompt=f"{manifest.prompt} {self.prompt}".strip(),
            examples=(*manifest.examples, *self.examples),
            phrases=(*manifest.phrases, *self.phrases),
        )


@dataclass(eq=False)
class Checkpoints:
    """The results of a run's finished steps, so that a later run need not begin again. Values are JSON data.

    They live as long as the object, and go with the question when it becomes a background task. The task's run stores
    them, so that they outlive its worker.
    """

    values: dict[str, object] = field(default_factory=dict, repr=False)
    """Name of a step → its result."""
    hurried: bool = field(default=False, init=False)
    """Whether time is short, so that the Thinker should answer from what it has."""

    def load(self, name: str) -> Any | None:
        """Return the last result of the step, or None."""
        return self.values.get(name)

    async def save(self, name: str, value: Any) -> None:
        """Save the result of a step."""
        self.values[name] = value

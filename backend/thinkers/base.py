"""The types of a Thinker: its manifest, the question it is asked, the answer it gives, the checkpoints it keeps.

A Thinker is one file in this folder that holds `MANIFEST` and, only where a single conversation between model
and tools is not enough, `async def think(run: ThinkerRun) -> Answer`. The registry finds it; the routing tool,
the Responder's guide and the page's labels are derived from the manifest.
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
"""Where an answer comes from: a service just asked, our cache, labelled sample data, or the model's own knowledge."""


@dataclass(frozen=True, slots=True)
class Question:
    """The question of one `route_to_thinker` call. `user_id` is empty for a caller we do not know."""

    domain: str
    query: str
    session_id: str
    user_id: str
    source_mode: SourceMode = "voice"
    mode: Mode | None = None
    """The mode that is on; None: the default."""
    conversation_id: str = ""
    """The conversation it was asked in; empty: none that is kept."""
    platform: str = ""
    """Where it was typed, as the client names it; empty by voice."""
    rights: ToolRights = ToolRights()  # noqa: RUF009 - nothing in it changes
    """The rights of the tool calls made for it; by default public tools alone."""


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
    """The background task that goes on with the question; then `text` only says so."""
    interruptible: bool = True
    """False for what the caller must hear to its end: their voice does not interrupt the reply that speaks it."""
    untrusted: bool = False
    """Text of others went into it."""
    update: ContextUpdate | None = None
    """What the question and its tools teach about the user: the dispatcher adds it to their profile."""


@dataclass(frozen=True, slots=True)
class ThinkerProgress:
    """A step worth showing on the page, e.g. 'calling get_current_weather'. It never holds the user's words."""

    detail: str
    """Empty: the detail shown last still holds."""
    tool: ToolProgress | None = None


OnProgress = Callable[[ThinkerProgress], None]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a domain and of how it is served: everything the rest of the server knows of a Thinker."""

    domain: str
    """The routing name: lower-case letters, digits and underscores."""
    label: str
    """The name the page shows."""
    description: str
    """When to route here, in a few words that complete 'Use it for …'."""
    example: str
    """A sentence a caller might say."""
    prompt: str
    """The model's task; style, date and user data are added to it."""
    examples: tuple[str, ...] = ()
    """A few more such sentences, as different from each other as they come: every model that routes is shown them."""
    phrases: tuple[str, ...] = ()
    """Many more, in the words callers use: what routes without a language model learns from them. An extension that
    routes so has them for the server's own domains."""
    tier: Literal["fast", "advanced"] = "fast"
    """Which of the two configured models thinks."""
    tools: tuple[str, ...] = ()
    """Names of the tools it may call. A Thinker is refused if one does not exist, and left out if none is set up."""
    cache_ttl_s: int = 120
    """Seconds an answer may be served again; 0: never."""
    cache_scope: Literal["user", "time", "date"] = "time"
    """Who may be served a cached answer: its user alone, or all users of the same time zone, or with the same date.
    Personalised answers are always kept to their user."""
    deadline_s: float | None = None
    """Seconds to answer in; None: the setting `THINKER_DEADLINE_S`."""
    filler: str = ""
    """A sentence the Responder may say while this takes long."""
    history_turns: int = 10
    """Turns of the conversation (a user's words and the reply) it is shown; 0 where answers are shared between users,
    for one that rests on a conversation is kept to it."""
    preferences: tuple[str, ...] = ()
    """Names of the user's preferences it is shown, e.g. 'default_location'."""
    summary: bool = False
    """Whether it is shown the summary of the user's earlier conversations."""
    background: bool = False
    """Whether it may take minutes, and goes on as a background task when its caller does not wait for it."""

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
    """The additions of an extension to a Thinker of another: tools, and the words that go with them.

    A manifest lists what its Thinker cannot do without. What can be missing joins by one of the `ADDITIONS` of a module
    instead: without the extension neither its tools nor a word about them reach the Thinker.
    """

    domain: str
    tools: tuple[str, ...] = ()
    """Where none of these is set up, nothing is added."""
    description: str = ""
    prompt: str = ""
    """A few sentences that are added to the Thinker's task."""
    examples: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()

    def to(self, manifest: Manifest) -> Manifest:
        """Return the manifest with what is added."""
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
    """The results of a run's finished steps, kept so that a later run need not begin again. Values are JSON data.

    These last as long as the object, and go with the question when it becomes a background task; the task's run keeps
    them where they outlive its worker.
    """

    values: dict[str, object] = field(default_factory=dict, repr=False)
    """Name of a step → its result."""
    hurried: bool = field(default=False, init=False)
    """Whether time is short, so that the Thinker should answer from what it has."""

    def load(self, name: str) -> Any | None:
        """Return the result the step had when it was last done, or None."""
        return self.values.get(name)

    async def save(self, name: str, value: Any) -> None:
        """Save the result of a step."""
        self.values[name] = value

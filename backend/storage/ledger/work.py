"""A piece of work has a usage, for the ledger: its models with tokens and cost, and its tool calls.

A Thinker's run and a typed turn are such pieces. Code that runs within one finds it in `current_work`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from backend.storage.ledger.entries import Entry

TOOLS_LIMIT = 100
"""The most tool calls that are noted of one piece of work."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of a tool, and its result."""

    name: str
    arguments: str
    output: str
    took_ms: int
    error: str | None
    """The kind of failure; None: the call succeeded."""
    at: float
    """The Unix time of its end."""


@dataclass(repr=False)
class Work:
    """The models and tools that one piece of work has used so far."""

    models: dict[str, None] = field(default_factory=dict)
    """The models that answered, in order."""
    tokens: int = 0
    micro_usd: int | None = None
    """The cost of the models in millionths of a dollar; None: no price is known."""
    tools: list[ToolUse] = field(default_factory=list)

    def model_answered(self, model: str, tokens: int, micro_usd: int | None) -> None:
        """Add the usage of one answer of a model."""
        self.models[model] = None
        self.tokens += tokens
        if micro_usd is not None:
            self.micro_usd = (self.micro_usd or 0) + micro_usd

    def tool_called(self, name: str, arguments: str, output: str, error: str | None, seconds: float) -> None:
        """Add a call of a tool."""
        if len(self.tools) < TOOLS_LIMIT:
            self.tools.append(ToolUse(name, arguments, output, round(seconds * 1000), error, time.time()))

    def add_to(self, entry: Entry) -> Entry:
        """Return the entry of this work's outcome, with models, tokens and cost."""
        if not self.models:
            return entry
        cost = None if self.micro_usd is None else self.micro_usd / 1e6
        return replace(entry, model=", ".join(self.models), tokens=self.tokens, cost_usd=cost)

    def entries(self, of: Entry) -> Iterator[Entry]:
        """Yield the entries of each tool call and its result; `of` is the entry of the outcome."""
        for number, use in enumerate(self.tools, 1):
            id_ = f"{of.entry_id[:100]}:tool{number}"
            details = {"for": of.entry_id} | ({"error": use.error} if use.error else {})
            entry = replace(of, entry_id=id_, at=use.at, role="", name=use.name, call_id=id_, details=details)
            entry = replace(entry, model="", tokens=None, cost_usd=None, took_ms=None)
            yield replace(entry, kind="tool_call", text=use.arguments)
            output = replace(entry, entry_id=f"{id_}:output", kind="tool_output", text=use.output)
            yield replace(output, took_ms=use.took_ms)


current_work: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def working() -> Iterator[Work]:
    """Note the models and tools of the block in a new piece of work."""
    work = Work()
    token = current_work.set(work)
    try:
        yield work
    finally:
        current_work.reset(token)

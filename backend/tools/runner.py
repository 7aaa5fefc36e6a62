"""The one place where tool calls are made: every rule about them is enforced here and nowhere else.

In order: the tool exists for this kind of client, the caller may use it, its arguments fit the schema, a confirmation
was given where one is needed, it answers within its deadline, and its output stays under its cap. Whatever goes wrong
comes back as a structured result the model can act on; only cancellation passes through.

A box may also hold tools that come and go: those of other servers, from a `ToolSource`. They keep the same rules.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from backend.errors import BadPlugin, BadRequest, PeerError, VoiceError
from backend.tools.base import Client, Principal, Result, Tool
from backend.tools.confirmations import Confirmations
from backend.tools.injection import injected, provided

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to. `content` is valid JSON, for the model."""

    name: str
    content: str
    error: str | None = None
    """None, or the kind of failure: unknown_tool, not_allowed, invalid_arguments, needs_confirmation, timeout,
    failed, too_many_calls, repeated."""
    retryable: bool = False
    """Whether the same call may succeed if made again."""
    sample: bool = False
    cacheable: bool = True
    """Whether an answer that rests on it may be served again: not if it is a sample, nor if it is one user's own."""
    persistent: bool = False
    """Whether the call and this stay in the conversation for later turns. A call that waits for the user's yes does,
    whatever its tool says: else nobody would know what was agreed to."""
    citations: tuple[str, ...] = ()
    elapsed_ms: int = 0


class ToolSource(Protocol):
    """Tools that come and go while the server runs."""

    def owns(self, name: str) -> bool:
        """Whether a tool of this name would be its, be it there now or not."""
        ...

    def tools(self) -> Mapping[str, Tool]:
        """Those that are there now, by name."""
        ...


class Toolbox:
    """Some tools, with the services they are given. `remote` are the names it takes from `sources`; None: all."""

    def __init__(
        self,
        tools: Iterable[Tool],
        services: Mapping[Any, Any],
        confirmations: Confirmations | None = None,
        *,
        sources: tuple[ToolSource, ...] = (),
        remote: frozenset[str] | None = None,
    ) -> None:
        self._own = {tool.name: tool for tool in tools}
        self._services = services
        self._confirmations = confirmations or Confirmations()
        self._sources = sources
        self._remote = remote
        for tool in self._own.values():
            self._check_services(tool)

    def __repr__(self) -> str:
        return f"Toolbox({', '.join(self.names)})"

    def __contains__(self, name: object) -> bool:
        """Whether it holds a tool of this name, or another server might bring one."""
        return name in self._own or (isinstance(name, str) and any(source.owns(name) for source in self._sources))

    @property
    def names(self) -> tuple[str, ...]:
        """The tools that are in it now."""
        return tuple(self._tools())

    def only(self, names: Iterable[str]) -> Toolbox:
        """A box with just these. Raises `BadPlugin` when one does not exist, nor could come from another server."""
        names = tuple(names)
        own = [self._own[name] for name in names if name in self._own]
        others = [name for name in names if name not in self._own]
        if missing := [name for name in others if name not in self]:
            raise BadPlugin(
                f"No such tool: {', '.join(missing)}.",
                hint="Tools are files in backend/tools; another server's are called {server}__{tool}.",
            )
        wanted = frozenset(others) if self._remote is None else self._remote.intersection(others)
        return Toolbox(own, self._services, self._confirmations, sources=self._sources, remote=wanted)

    def plus(self, *tools: Tool) -> Toolbox:
        """A box with these, too. Raises `BadPlugin` for a service nobody provides."""
        own = (*self._own.values(), *tools)
        return Toolbox(own, self._services, self._confirmations, sources=self._sources, remote=self._remote)

    def offered(self, client: Client | None = None) -> list[Tool]:
        """The tools that `client` may see; all of them for None."""
        return [tool for tool in self._tools().values() if client is None or client in tool.clients]

    def schemas(self, client: Client | None = None) -> list[dict[str, Any]]:
        """Those that `client` may see, in the chat completions API's JSON form."""
        return [tool.schema() for tool in self.offered(client)]

    def guidance(self, client: Client | None = None) -> list[str]:
        """What the model is told of the tools in play."""
        return [tool.guidance for tool in self.offered(client) if tool.guidance]

    async def run(self, name: str, arguments: str, principal: Principal) -> ToolResult:
        """Make one call; `arguments` is the model's JSON. Raises nothing but `CancelledError`."""
        started = time.perf_counter()
        tool = self._tools().get(name)
        if tool is None or principal.client not in tool.clients:
            known = ", ".join(tool.name for tool in self.offered(principal.client)) or "none"
            return failure(name, "unknown_tool", f"There is no tool {name!r}. The tools are: {known}.")
        outcome = await self._checked(tool, arguments, principal)
        if isinstance(outcome, ToolResult):
            return outcome
        try:
            return _packed(tool, outcome, elapsed_ms=round((time.perf_counter() - started) * 1000))
        except (AttributeError, TypeError, ValueError, RecursionError) as error:
            return _broken(tool, error)  # no `Result`, or data that JSON cannot hold

    async def _checked(self, tool: Tool, arguments: str, principal: Principal) -> Result | ToolResult:
        if tool.requires_auth and not principal.authenticated:
            return failure(tool.name, "not_allowed", "This needs a user we know. Tell the user to sign in first.")
        try:
            values = tool.arguments.read(arguments)
        except BadRequest as error:
            return failure(tool.name, "invalid_arguments", str(error))
        if tool.needs_consent(values) and not self._confirmations.given(principal, tool.name, values):
            return failure(
                tool.name,
                "needs_confirmation",
                "Not done yet. Say to the user exactly what would be done and ask whether to go on. "
                "When they agree, make the same call again.",
                persistent=True,
            )
        return await self._called(tool, values, principal)

    async def _called(self, tool: Tool, values: dict[str, Any], principal: Principal) -> Result | ToolResult:
        services = {
            name: principal if kind is Principal else injected(kind, self._services)
            for name, kind in tool.services.items()
        }
        try:
            async with asyncio.timeout(tool.deadline_s):
                return await tool.function(**services, **values)
        except TimeoutError:
            log.warning("tool %s took longer than %.1f s", tool.name, tool.deadline_s)
            message = f"No answer within {tool.deadline_s:g} seconds."
            return failure(tool.name, "timeout", message, retryable=True)
        except VoiceError as error:
            retryable = isinstance(error, PeerError) and error.retryable
            return failure(tool.name, "failed", " ".join(filter(None, (str(error), error.hint))), retryable=retryable)
        except Exception as error:  # noqa: BLE001 - a tool file is a plugin: its fault costs a result, not the turn
            return _broken(tool, error)

    def _tools(self) -> dict[str, Tool]:
        """Our own, and those of other servers that are there now; a name of ours is never theirs."""
        tools = dict(self._own)
        for source in self._sources:
            for name, tool in source.tools().items():
                if self._remote is None or name in self._remote:
                    tools.setdefault(name, tool)
        return tools

    def _check_services(self, tool: Tool) -> None:
        for parameter, kind in tool.services.items():
            if kind is not Principal and not provided(kind, self._services):
                raise BadPlugin(
                    f"Tool {tool.name} asks for {parameter}: {getattr(kind, '__name__', kind)}, which is no service.",
                    hint="An argument must have a JSON type; services are injected by their exact type.",
                )


def failure(name: str, kind: str, message: str, *, retryable: bool = False, persistent: bool = False) -> ToolResult:
    """A structured result that says what went wrong and whether trying again can help."""
    content = _json({"error": {"type": kind, "message": message, "retryable": retryable}})
    return ToolResult(name, content, error=kind, retryable=retryable, cacheable=False, persistent=persistent)


def _packed(tool: Tool, result: Result, *, elapsed_ms: int) -> ToolResult:
    data: dict[str, Any] = {"sample": True} if result.sample else {}
    if result.note:
        data["note"] = result.note
    data |= result.data
    if result.citations:
        data["citations"] = list(result.citations)
    return ToolResult(
        name=tool.name,
        content=_capped(_json(data), tool.output_cap),
        sample=result.sample,
        cacheable=tool.cache and not result.sample and Principal not in tool.services.values(),
        persistent=tool.persistent,
        citations=result.citations,
        elapsed_ms=elapsed_ms,
    )


def _capped(content: str, cap: int) -> str:
    """`content`, or its beginning inside JSON that says it is one."""
    if len(content) <= cap:
        return content
    note = f"Only the first part of {len(content)} characters."
    room = max(0, cap - len(_json({"truncated": True, "note": note, "beginning": ""})))
    while True:
        shortened = _json({"truncated": True, "note": note, "beginning": content[:room]})
        if len(shortened) <= cap or room == 0:
            return shortened
        room = max(0, room - (len(shortened) - cap))  # quoting made it longer again


def _json(value: Any) -> str:
    """Raises `ValueError` for NaN and infinities, which JSON does not have."""
    return json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)


def _broken(tool: Tool, error: Exception) -> ToolResult:
    log.error("tool %s is broken: %s", tool.name, _where(error))
    return failure(tool.name, "failed", "The tool is broken. Answer without it and say so.")


def _where(error: Exception) -> str:
    """The line that broke. The exception's text stays out of the log: it may hold the user's words."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"

"""The runner makes all calls of tools, and alone enforces the rules for calls.

In order: the tool exists for this kind of client, it is within the caller's scope, its arguments fit the schema, the
user has agreed where that is needed, the tool answers within its deadline, and its output stays under its limit. Every
failure becomes a structured result the model can act on; only cancellation is raised.

The first call of a tool that needs consent is not made: the question is recorded (`confirmations`), and the model has
to ask it. Only the user answers, with a message that agrees or with a click; the same call after that is made once. A
call that the model merely repeats is no answer.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import textwrap
import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from backend.access.principal import EVERYTHING, CallerScope
from backend.citations import Citation, as_json
from backend.errors import BadPlugin, BadRequest, MemoryUnavailable, PeerError, VoiceError
from backend.observability.security_log import SecurityEvent, hashed, security_event
from backend.observability.work_metrics import WorkMetrics
from backend.runtime.json_objects import Json
from backend.storage.ledger.work import current_work
from backend.storage.memory import Memory
from backend.tools.base import SPOKEN_CAP, Client, Handler, Result, Tool, ToolContext, by_schema, injected, provided
from backend.tools.confirmations import Confirmations, Consent
from backend.tools.own_profile import OwnProfile
from backend.users.context_update import ContextUpdate

log = logging.getLogger(__name__)

ASK_FIRST = (
    "Not done yet. Tell the user exactly what would be done and ask whether to go ahead. When they have agreed in a "
    "message of their own, make the same call again, with the same arguments."
)
ANOTHER_FIRST = (
    "Not done. The user is being asked about another act: let them answer that first, then make this call, which asks "
    "in its turn."
)
NOBODY_THERE = (
    "Not done. This needs the user's agreement, and nobody can be asked here. Say what would have to be done, so that "
    "the user can ask for it in a conversation."
)
NOT_NOW = "Not done: the user cannot be asked just now."
HEARD_WITHIN_S = 1.5
"""Seconds to wait for the words of a spoken answer, which may be transcribed after the reply has begun."""
LOOK_S = 0.25
"""Seconds between two checks for a spoken answer."""
OF_THE_CALL = frozenset({ToolContext, OwnProfile})
"""The services that are created for each call."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call. `content` is valid JSON, for the model."""

    name: str
    content: str
    error: str | None = None
    """The kind of failure, such as unknown_tool or needs_confirmation; None: the call succeeded."""
    retryable: bool = False
    """Whether the same call may succeed if repeated."""
    sample: bool = False
    cacheable: bool = True
    """Whether an answer based on it may be cached: not for a sample or one user's own data."""
    persistent: bool = False
    """Whether the call stays in the conversation for later turns, as one that waits for the user's yes must."""
    citations: tuple[Citation, ...] = ()
    elapsed_ms: int = 0
    untrusted: bool = False
    """Whether it holds text of others, after which every writing tool of the turn needs consent."""
    empty: bool = False
    """Whether a search found nothing."""
    personal: bool = False
    """Whether it rests on the user's own data, so that an answer with it is cached for that user alone."""
    update: ContextUpdate | None = None
    """What was learned about the user."""

    @property
    def is_live(self) -> bool:
        """Return whether an answer can rest on it: it is no failure, sample or empty search."""
        return self.error is None and not self.sample and not self.empty


class ToolSource(Protocol):
    """A provider of tools that come and go while the server runs."""

    def owns(self, name: str) -> bool:
        """Return whether a tool of this name would belong to this source, even if it is not available now."""
        ...

    def tools(self) -> Mapping[str, Tool]:
        """Return the tools that are available now, by name."""
        ...


class Toolbox:
    """A set of tools with their services. `remote` are the names taken from `sources`; None: all.

    Without `confirmations`, calls that need the user's agreement are not made. `untrusted` are the names of tools, in
    this box or not, with results that hold text of others.
    """

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        services: Mapping[Any, Any] = MappingProxyType({}),
        confirmations: Confirmations | None = None,
        *,
        sources: tuple[ToolSource, ...] = (),
        remote: frozenset[str] | None = None,
        untrusted: frozenset[str] = frozenset(),
        left_out: frozenset[str] = frozenset(),
    ) -> None:
        self._own = {tool.name: tool for tool in tools}
        self._services = services
        self._confirmations = confirmations
        self._sources = sources
        self._remote = remote
        self.left_out = left_out
        """The names of tools that are not set up."""
        self._untrusted = untrusted | {tool.name for tool in self._own.values() if tool.untrusted}
        for tool in self._own.values():
            for parameter, kind in tool.services.items():
                if kind not in OF_THE_CALL and not provided(kind, services):
                    wanted = getattr(kind, "__name__", kind)
                    raise BadPlugin(
                        f"Tool {tool.name} asks for {parameter}: {wanted}, which is no service.",
                        hint="An argument must have a JSON type; services are injected by their exact type.",
                    )

    def __contains__(self, name: object) -> bool:
        """Return whether the box holds a tool of this name, or a source could provide one."""
        if not isinstance(name, str):
            return False
        return name in self._own or any(source.owns(name) for source in self._sources)

    def knows(self, name: str) -> bool:
        """Return whether a tool of this name exists or could, even if it is not set up."""
        return name in self or name in self.left_out

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools that are available now."""
        return tuple(self._tools())

    def only(self, names: Iterable[str]) -> Toolbox:
        """Return a box with only these tools. Raises `BadPlugin` for one that no source could provide."""
        names = tuple(name for name in names if name not in self.left_out)
        own = [self._own[name] for name in names if name in self._own]
        others = [name for name in names if name not in self._own]
        if missing := [name for name in others if name not in self]:
            raise BadPlugin(
                f"No such tool: {', '.join(missing)}.",
                hint="Tools are files in backend/tools; another server's are called {server}__{tool}.",
            )
        wanted = frozenset(others) if self._remote is None else self._remote.intersection(others)
        return self._with(own, wanted)

    def plus(self, *tools: Tool) -> Toolbox:
        """Return a box with these tools added. Raises `BadPlugin` for a service that is not provided."""
        own = (*self._own.values(), *tools)
        return self._with(own, self._remote)

    def register(self, name: str, description: str, parameters: Json, handler: Handler, **options: Any) -> None:
        """Add a tool to this box. `handler` gets the arguments, checked by their JSON Schema, and returns JSON.

        `options` are those of `Tool`, such as `scope` and `writes`. Boxes made of this one before do not have it. Raise
        `BadPlugin` for a name that is taken, or a schema that is none.
        """
        if name in self:
            raise BadPlugin(f"Two tools are called {name}.")
        function, read, schema, _ = by_schema(name, handler, parameters)
        self._own[name] = Tool(name, description, function, read, schema, **options)

    def take_over(self, newer: Toolbox) -> None:
        """Hold the tools of `newer`. Running calls, and boxes that were derived before, keep theirs."""
        self._own, self._services = newer._own, newer._services
        self._untrusted, self.left_out = newer._untrusted, newer.left_out

    def offered(self, client: Client | None = None, caller_scope: CallerScope = EVERYTHING) -> list[Tool]:
        """Return the tools that `client` (None: any) may see and that are within `caller_scope`."""
        return [
            tool
            for tool in self._tools().values()
            if (client is None or client in tool.clients) and tool.is_within(caller_scope)
        ]

    def schemas(self, client: Client | None = None, caller_scope: CallerScope = EVERYTHING) -> list[Json]:
        """Return the tools that are `offered`, as JSON in the form of the chat completions API."""
        return [tool.schema() for tool in self.offered(client, caller_scope)]

    def brings_untrusted(self, name: str) -> bool:
        """Return whether results of that tool, which need not be in this box, hold text of others."""
        return name in self._untrusted or any(source.owns(name) for source in self._sources)

    def is_client_tool(self, name: str) -> bool:
        """Return whether the client carries out the tool of that name."""
        tool = self._own.get(name)
        return tool is not None and tool.client_side

    async def run(self, name: str, arguments: str, context: ToolContext) -> ToolResult:
        """Make one call; `arguments` is the model's JSON. Raises nothing but `CancelledError`."""
        started = time.perf_counter()
        tool = self._tools().get(name)
        if tool is None or context.client not in tool.clients:
            known = ", ".join(tool.name for tool in self.offered(context.client, context.rights.caller_scope)) or "none"
            return failure(name, "unknown_tool", f"There is no tool {name!r}. The tools are: {known}.")
        own = OwnProfile(context.user_id, self._services.get(Memory))
        outcome: Any = await self._checked(tool, arguments, context, own)
        seconds = time.perf_counter() - started
        if not isinstance(outcome, Result | ToolResult):
            outcome = _no_result(tool, outcome)
        if not isinstance(outcome, ToolResult):
            try:
                outcome = _packed(tool, outcome, elapsed_ms=round(seconds * 1000))
            except (AttributeError, TypeError, ValueError, RecursionError) as error:
                outcome = _broken(tool, error)  # JSON cannot hold the data.
        if metrics := self._services.get(WorkMetrics):
            metrics.tool_called(tool.name, outcome.error, seconds)
        if work := current_work.get():
            work.tool_called(tool.name, arguments, outcome.content, outcome.error, seconds)
        result: ToolResult = replace(outcome, personal=own.used)
        return result

    async def _checked(self, tool: Tool, arguments: str, context: ToolContext, own: OwnProfile) -> Result | ToolResult:
        if not tool.is_within(context.rights.caller_scope):
            who = hashed(context.user_id)
            security_event(SecurityEvent.TOOL_REFUSED, None, "out of the caller's scope", tool=tool.name, user=who)
            return failure(tool.name, "not_allowed", "This caller may not use it. Tell the user to sign in first.")
        if tool.requires_auth and not context.user_id:
            return failure(tool.name, "not_allowed", "This needs a known user. Tell the user to sign in first.")
        try:
            values = tool.read_arguments(arguments)
        except BadRequest as error:
            return failure(tool.name, "invalid_arguments", str(error))
        if tool.needs_consent(values, context.rights) and (
            refusal := await self._without_consent(tool, values, context)
        ):
            return refusal
        return await self._called(tool, values, {ToolContext: context, OwnProfile: own})

    async def _without_consent(self, tool: Tool, values: Json, context: ToolContext) -> ToolResult | None:
        """Return why the call is not made yet; None once the user has agreed."""
        # Without a store, a present user or an identity, no one can agree.
        if self._confirmations is None or not context.rights.attended or not context.user_id:
            return failure(tool.name, "not_allowed", NOBODY_THERE)
        try:
            outcome, id_ = await _asked(self._confirmations, context, tool.name, values)
        except MemoryUnavailable:
            return failure(tool.name, "failed", NOT_NOW, retryable=True)
        if outcome is Consent.GRANTED:
            return None
        message = ANOTHER_FIRST if outcome is Consent.BUSY else ASK_FIRST
        return failure(tool.name, "needs_confirmation", message, persistent=True, confirmation_id=id_)

    async def _called(self, tool: Tool, values: Json, own: Mapping[Any, Any]) -> Result | ToolResult:
        """Call the tool with its arguments and services; `own` are the services of this call."""
        services = {
            name: own[kind] if kind in OF_THE_CALL else injected(kind, self._services)
            for name, kind in tool.services.items()
        }
        deadline_s = tool.limits.deadline_s
        try:
            async with asyncio.timeout(deadline_s):
                return await tool.function(**services, **values)
        except TimeoutError:
            log.warning("tool %s took longer than %.1f s", tool.name, deadline_s)
            return failure(tool.name, "timeout", f"No answer within {deadline_s:g} seconds.", retryable=True)
        except VoiceError as error:
            retryable = isinstance(error, PeerError) and error.retryable
            return failure(tool.name, "failed", " ".join(filter(None, (str(error), error.hint))), retryable=retryable)
        except Exception as error:  # noqa: BLE001 - a tool file is a plugin: its fault costs a result, not the turn
            return _broken(tool, error)

    def _with(self, own: Iterable[Tool], remote: frozenset[str] | None) -> Toolbox:
        return Toolbox(
            own,
            self._services,
            self._confirmations,
            sources=self._sources,
            remote=remote,
            untrusted=self._untrusted,
            left_out=self.left_out,
        )

    def _tools(self) -> dict[str, Tool]:
        """Return the own tools and those of the sources now; own tools take precedence."""
        tools = dict(self._own)
        for source in self._sources:
            for name, tool in source.tools().items():
                if self._remote is None or name in self._remote:
                    tools.setdefault(name, tool)
        return tools


async def _asked(confirmations: Confirmations, context: ToolContext, tool: str, values: Json) -> tuple[Consent, str]:
    """Ask for the user's agreement, and wait for an answer that was just spoken."""
    outcome, id_ = await confirmations.ask(context, tool, values)
    until = time.monotonic() + HEARD_WITHIN_S
    while outcome in (Consent.REPEATED, Consent.BUSY) and context.client == "voice" and time.monotonic() < until:
        await asyncio.sleep(LOOK_S)
        outcome, id_ = await confirmations.ask(context, tool, values)
    return outcome, id_


def failure(
    name: str, kind: str, message: str, *, retryable: bool = False, persistent: bool = False, **more: str
) -> ToolResult:
    """Return a structured result that reports what went wrong and whether another attempt can help."""
    content = _json({"error": {"type": kind, "message": message, "retryable": retryable, **more}})
    return ToolResult(name, content, error=kind, retryable=retryable, cacheable=False, persistent=persistent)


def _packed(tool: Tool, result: Result, *, elapsed_ms: int) -> ToolResult:
    data: Json = {
        **({"sample": True} if result.sample else {}),
        **({"note": result.note} if result.note else {}),
        **result.data,
        **({"spoken": textwrap.shorten(result.spoken, SPOKEN_CAP, placeholder=" …")} if result.spoken else {}),
        **({"citations": as_json(result.citations)} if result.citations else {}),
    }
    # A tool that gets the context may answer for its caller alone.
    return ToolResult(
        name=tool.name,
        content=_capped(_json(data), tool.limits.output_cap),
        sample=result.sample,
        cacheable=tool.cache and not result.sample and ToolContext not in tool.services.values(),
        persistent=tool.persistent,
        citations=result.citations,
        elapsed_ms=elapsed_ms,
        untrusted=tool.untrusted or result.untrusted,
        empty=result.empty,
        update=None if result.sample else result.update,
    )


def _capped(content: str, cap: int) -> str:
    """Return `content`, or its beginning in JSON that marks it as cut."""
    if len(content) <= cap:
        return content
    note = f"Only the first part of {len(content)} characters."
    room = max(0, cap - len(_json({"truncated": True, "note": note, "beginning": ""})))
    while True:
        shortened = _json({"truncated": True, "note": note, "beginning": content[:room]})
        if len(shortened) <= cap or room == 0:
            return shortened
        room = max(0, room - (len(shortened) - cap))  # Quoting made it longer again.


def _json(value: Any) -> str:
    """Return JSON text. Raises `ValueError` for NaN and infinities, which JSON does not have."""
    return json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)


def _no_result(tool: Tool, returned: object) -> ToolResult:
    """Log the place of a function that returned something else."""
    code = inspect.unwrap(tool.function).__code__
    kind = type(returned).__name__
    log.error("tool %s must return a Result, not a %s: %s:%s", tool.name, kind, code.co_filename, code.co_firstlineno)
    return failure(tool.name, "failed", "The tool is broken. Answer without it and say so.")


def _broken(tool: Tool, error: Exception) -> ToolResult:
    """Log the line that failed, but not the exception's text, since it may hold the user's words."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"
    log.error("tool %s is broken: %s", tool.name, where)
    return failure(tool.name, "failed", "The tool is broken. Answer without it and say so.")

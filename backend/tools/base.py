"""A tool is an async function that its signature describes.

    @tool("get_current_weather", "The weather now and in the coming days.")
    async def get_current_weather(
        http: AsyncClient,                                     # a service: injected by type
        location: Annotated[str, "A city, e.g. 'Seattle'."],   # an argument: the model fills it in
        days: Annotated[int, Field(ge=1, le=7)] = 3,
    ) -> Result: ...

A parameter of a JSON type (str, int, float, bool, Literal, Enum, list, dict, unions of these) is an argument and
goes into the schema; a parameter of any other class is a service the runner supplies: the HTTP client, the
settings, memory, the `ToolContext` of the call. One annotated `Service | None` receives None where it is not provided.

The decorator's options declare who may see and call the tool, whether the user must agree first, and whether its result
is remembered. `runner` enforces all of them, and nothing else does.

With `parameters=`, a JSON Schema, the function takes all arguments as one dict, and returns a `ToolResponse` or JSON.
"""

from __future__ import annotations

import enum
import inspect
import json
import re
import textwrap
import time
import types
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial, wraps
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError

from backend.access.principal import PUBLIC, CallerScope, ToolScope
from backend.citations import Citation
from backend.errors import BadPlugin, BadRequest
from backend.runtime.json_objects import Json as Json
from backend.settings.settings import Settings
from backend.tools.schema_arguments import ReadArguments, argument_reader, schema_problem, without_keywords
from backend.users.context_update import ContextUpdate

DEADLINE_S = 8.0
"""Seconds a tool may take by default."""
LIST_CAP = 4_500
"""The most characters of JSON in a list within a result."""
SPOKEN_CAP = 800
"""The most spoken characters of a result."""
PAGE_CHARS = 240
"""The most spoken characters of a page."""
OUTPUT_CAP = 6_000
"""The most characters of JSON that a tool may return by default."""

Client = Literal["voice", "chat", "internal", "copilot", "external"]
"""The kind of client that calls a tool: a call, a typed conversation, the server's own work and its operator's
programs, a program the user works in, or a third party's program. The last two come over MCP only."""
CLIENTS: tuple[Client, ...] = get_args(Client)
OURS: frozenset[Client] = frozenset({"voice", "chat", "internal"})
"""The default clients of a tool: those of this server, none from outside."""
EVERYONE: frozenset[Client] = frozenset(CLIENTS)
LOCAL = "local"
"""The source of this server's own tools; the source of another server's tool is that server's name."""


@dataclass(frozen=True, slots=True)
class ToolRights:
    """The rights of a turn's tool calls; they travel with a question to the Thinkers and into background tasks."""

    caller_scope: CallerScope = PUBLIC
    """The tools within the caller's scope; others are neither offered nor run."""
    attended: bool = True
    """Whether a user can be asked. In reasoning and background work, calls that need consent are not made."""
    untrusted: bool = False
    """Whether text of others (a web page, an issue) has entered the turn; then all writing calls need consent."""
    unsure: bool = False
    """Whether the user's words may have been misheard; then writing calls are read back first."""
    message: str = ""
    """The id of the user's typed message. If it is sent again, it does not agree to questions asked since."""

    def tainted(self) -> ToolRights:
        """Return the rights after text of others has entered the turn."""
        return replace(self, untrusted=True)

    def alone(self) -> ToolRights:
        """Return the rights of unattended work."""
        return replace(self, attended=False)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of a tool call: its user and turn. `user_id` is empty for an unknown caller."""

    user_id: str
    conversation_id: str = ""
    turn: str = ""
    """The id of the user's turn. A confirmation counts only in a later one."""
    client: Client = "internal"
    """The kind of client of the call. Tools that are not for it do not exist for it."""
    mode: str = ""
    """The name of the active mode; empty: the one the user has chosen."""
    rights: ToolRights = ToolRights()
    """The rights of the call; by default public tools alone."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a tool. `data` can be serialised as JSON, and goes to the model with labels added."""

    data: Json
    sample: bool = False
    """Whether it is made-up demonstration data, which is always labelled and never cached."""
    note: str = ""
    """A remark for the model about the data, such as why it is a sample."""
    citations: tuple[Citation, ...] = ()
    """The sources of the data, for the user to follow."""
    untrusted: bool = False
    """Whether it holds text of others although its tool usually returns none."""
    empty: bool = False
    """Whether a search found nothing. An answer that rests on nothing else is the model's own knowledge."""
    update: ContextUpdate | None = None
    """What was learned about the user who asked; a sample teaches nothing."""
    spoken: str = ""
    """The data in spoken words (`SPOKEN_CAP`). A model may use them; without a model, the user hears them."""


class ToolResponse(Result):
    """The result of a tool as any JSON: an object as it is, other data under the name `result`."""

    def __init__(self, result: Any) -> None:
        super().__init__(result if isinstance(result, dict) else {"result": result})


Function = Callable[..., Awaitable[Result]]
Handler = Callable[[Json], Awaitable[Any]]
"""A tool's function that takes its arguments as one dict, and returns a `Result` or JSON."""
SetUp = Callable[[Settings], bool]
"""Checks the settings: returns True if everything that the tool needs is configured."""
ScopeFor = Callable[[Settings], ToolScope]
"""The scope of a tool, where its credentials depend on the settings."""
Actions = bool | frozenset[str]
"""Selects calls of a tool: all, none, or those with one of these values of the argument `action`."""


async def left_to_client(**_values: object) -> NoReturn:
    """Stand in for the function of a tool that the client carries out. The turn ends with its call."""
    raise RuntimeError("a client's function is called by the client")


class Arguments(NamedTuple):
    """How a tool is called: its function, and what fills the parameters."""

    function: Function
    read: ReadArguments
    schema: Json
    services: Mapping[str, Any] = {}
    """Parameter name → the type to inject."""


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """The bounds of one call of a tool."""

    deadline_s: float = DEADLINE_S
    """Seconds the call may take."""
    output_cap: int = OUTPUT_CAP
    """The most characters of JSON that it may return."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool that a model can be offered."""

    name: str
    description: str
    function: Function
    read_arguments: ReadArguments
    parameters: Json
    """The arguments' JSON Schema."""
    services: Mapping[str, Any] = field(default_factory=dict)
    """Parameter name → the type to inject."""
    scope: ToolScope = ToolScope.ANONYMOUS
    """The lowest scope that may see and call the tool."""
    scope_with: Callable[[Settings], ToolScope | None] | None = None
    """Returns the scope with certain settings, and None where it is not set up; the registry asks once."""
    confirm: Actions = False
    """The calls to which the user must agree first, in a separate turn."""
    writes: Actions = False
    """The calls that change something."""
    untrusted: bool = False
    """Whether its results hold text of others: pages, issues, documents, another server's data."""
    cache: bool = True
    """Whether an answer that used this tool may be cached."""
    guidance: str = ""
    """Instructions for the model while the tool is offered."""
    persistent: bool = False
    """Whether its calls and results stay in the conversation for later turns, beside the answer."""
    always: bool = False
    """Whether the tool is offered in every turn, independently of the router."""
    clients: frozenset[Client] = OURS
    """The kinds of client that may see and call the tool."""
    searches: str = ""
    """The source that it searches, such as "the web", for research; empty: it is no search tool."""
    source: str = LOCAL
    limits: ToolLimits = ToolLimits()

    @property
    def requires_auth(self) -> bool:
        """Whether the tool is not for anonymous callers."""
        return self.scope > ToolScope.ANONYMOUS

    @property
    def client_side(self) -> bool:
        """Whether the client of the turn carries the tool out."""
        return self.function is left_to_client

    def is_within(self, caller_scope: CallerScope) -> bool:
        """Return True if a caller of that scope may see and call the tool."""
        if self.client_side:
            return True
        return self.scope <= caller_scope.scope if caller_scope.tools is None else self.name in caller_scope.tools

    def needs_consent(self, values: Mapping[str, Any], rights: ToolRights = ToolRights()) -> bool:
        """Return whether the user must agree to a call with these arguments in a turn with these rights."""
        doubtful = rights.untrusted or rights.unsure
        return _among(self.confirm, values) or (doubtful and _among(self.writes, values))

    def schema(self) -> Json:
        """Return the tool as JSON in the form of the chat completions API."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }


def _among(actions: Actions, values: Mapping[str, Any]) -> bool:
    return actions if isinstance(actions, bool) else values.get("action") in actions


F = TypeVar("F", bound=Function)
T = TypeVar("T")


def tool(
    name: str,
    description: str,
    *,
    parameters: Json | None = None,
    requires_auth: bool = False,
    scope: ToolScope | ScopeFor = ToolScope.ANONYMOUS,
    confirm: bool | Collection[str] = False,
    writes: bool | Collection[str] = False,
    untrusted: bool = False,
    set_up: SetUp = lambda settings: True,
    cache: bool = True,
    guidance: str = "",
    persistent: bool = False,
    always: bool = False,
    clients: Iterable[Client] = OURS,
    searches: str = "",
    deadline_s: float = DEADLINE_S,
    output_cap: int = OUTPUT_CAP,
) -> Callable[[F], F]:
    """Declare the decorated function as a tool. Raises `BadPlugin` when it cannot be one.

    `parameters` is the JSON Schema of a function that takes one dict; None: the signature describes the arguments.
    `requires_auth` is short for the scope `SIGNED_IN`. `confirm` may list the values of an argument `action` that need
    the user's agreement, and `writes` those that change something; true applies to all calls. What needs agreement
    counts as writing. The function itself is unchanged and can be called directly in tests.
    """

    allowed = frozenset(clients)
    least = max(scope, ToolScope(int(requires_auth))) if isinstance(scope, ToolScope) else ToolScope(int(requires_auth))

    def scope_with(settings: Settings) -> ToolScope | None:
        if not set_up(settings):
            return None
        return least if isinstance(scope, ToolScope) else scope(settings)

    def declare(function: F) -> F:
        if not re.fullmatch(r"[a-z][a-z0-9_]{1,63}", name):
            raise BadPlugin(f"Tool name {name!r} is not a lower-case name of letters, digits, underscores.")
        asynchronous: bool = inspect.iscoroutinefunction(function)
        if not asynchronous:
            raise BadPlugin(f"Tool {name} is not an async function.")
        if unknown := sorted(allowed - EVERYONE):
            raise BadPlugin(
                f"Tool {name} names unknown clients: {', '.join(unknown)}.", hint=f"There are: {', '.join(CLIENTS)}."
            )
        made = by_signature(name, function) if parameters is None else by_schema(name, function, parameters)
        named = frozenset[str]().union(*(each for each in (confirm, writes) if not isinstance(each, bool)))
        if named and "action" not in made.schema.get("properties", {}):
            raise BadPlugin(f"Tool {name} names some of its actions, but has no argument called action.")
        declared = Tool(
            name=name,
            description=description,
            function=made.function,
            read_arguments=made.read,
            parameters=made.schema,
            services=made.services,
            scope=least if isinstance(scope, ToolScope) else ToolScope.OPERATOR,
            scope_with=scope_with,
            confirm=confirm if isinstance(confirm, bool) else frozenset(confirm),
            writes=writes is True or confirm is True or named,
            untrusted=untrusted,
            cache=cache,
            guidance=guidance,
            persistent=persistent,
            always=always,
            clients=allowed,
            searches=searches,
            limits=ToolLimits(deadline_s, output_cap),
        )
        function.__tool__ = declared  # type: ignore[attr-defined]
        return function

    return declare


def by_schema(name: str, handler: Handler, schema: Json) -> Arguments:
    """Return the arguments of a handler that takes one dict. Raises `BadPlugin` for a wrong schema or handler."""
    if problem := schema_problem(schema):
        raise BadPlugin(f"The parameters of tool {name} are no JSON Schema of an object: {problem}")
    try:
        inspect.signature(handler).bind({})
    except TypeError as error:
        raise BadPlugin(f"Tool {name} has a JSON Schema, so its function takes one dict: {error}.") from None

    @wraps(handler)
    async def function(**values: Any) -> Result:
        data = await handler(values)
        return data if isinstance(data, Result) else ToolResponse(data)

    return Arguments(function, argument_reader(schema), schema)


def _read(model: type[BaseModel], text: str) -> Json:
    try:
        filled = model.model_validate_json(text.strip() or "{}")
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        lines = [f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}" for each in problems]
        raise BadRequest("; ".join(lines)) from None
    return {name: getattr(filled, name) for name in model.model_fields}


@dataclass(frozen=True, slots=True)
class Clock:
    """The time as a service: tools ask for it, and tests pass their own. `time` returns Unix time in seconds."""

    time: Callable[[], float] = time.time

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.fromtimestamp(self.time(), UTC)


def fitting(entries: Sequence[T]) -> list[T]:
    """Return as many of the first entries as fit into a result (`LIST_CAP`)."""
    room = LIST_CAP
    chosen = []
    for entry in entries:
        room -= len(json.dumps(entry, ensure_ascii=False))
        if room < 0:
            break
        chosen.append(entry)
    return chosen


def listed(things: Sequence[str], most: int = 5) -> str:
    """Return the first of several things as one spoken list, with the number of the others."""
    more = f"; and {len(things) - most} more" if len(things) > most else ""
    return "; ".join(things[:most]) + more


def matches(text: str, query: str) -> bool:
    """Return whether the text contains all words of the query."""
    return all(word in text.casefold() for word in query.casefold().split())


def first_page(pages: Sequence[tuple[str, str]]) -> str:
    """Return the spoken words for found pages (title, text): the title and the beginning of the first."""
    if not pages:
        return "That search found nothing."
    title, text = pages[0]
    begun = textwrap.shorten(text, PAGE_CHARS, placeholder=" and so on.")
    return f"{title.rstrip('.')}: {begun}" if begun else f"I found: {title.rstrip('.')}."


def service_type(hint: Any) -> tuple[Any, bool]:
    """Return the service that an annotation names, and whether it is optional: `Memory | None` → (Memory, True)."""
    if get_origin(hint) in (Union, types.UnionType):
        wanted = [part for part in get_args(hint) if part is not types.NoneType]
        if len(wanted) == 1:
            return wanted[0], True
    return hint, False


def provided(hint: Any, services: Mapping[Any, Any]) -> bool:
    """Return whether `injected` can satisfy the annotation."""
    kind, optional = service_type(hint)
    return optional or kind in services


def injected(hint: Any, services: Mapping[Any, Any]) -> Any:
    """Return the service; None for a missing optional one. Raises `KeyError` for another missing one."""
    kind, optional = service_type(hint)
    return services.get(kind) if optional else services[kind]


def by_signature(name: str, function: Function) -> Arguments:
    """Return the arguments and services of a function. Raises `BadPlugin` for a parameter that is neither."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise BadPlugin(f"Tool {name} has an annotation that cannot be read: {error}.") from error
    fields: Json = {}
    services: Json = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in hints:
            raise BadPlugin(f"Parameter {parameter.name} of tool {name} has no type.")
        hint = hints[parameter.name]
        if _is_argument(hint):
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (_described(hint), default)
        else:
            services[parameter.name] = hint
    try:
        model = create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)
        # pydantic generates titles, and they only cost tokens
        schema = without_keywords(
            model.model_json_schema(), lambda keyword, value: keyword == "title" and isinstance(value, str)
        )
    except PydanticUserError as error:
        raise BadPlugin(f"Tool {name} has parameters without a JSON schema: {error}.") from error
    schema.setdefault("properties", {})
    schema["additionalProperties"] = False
    return Arguments(function, partial(_read, model), schema, services)


def _is_argument(hint: Any) -> bool:
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_argument(get_args(hint)[0])
    if origin in (Union, types.UnionType, list, dict, tuple):
        return all(_is_argument(part) for part in get_args(hint) if part is not Ellipsis)
    if origin is Literal or hint is Any:
        return True
    if isinstance(hint, type):
        return issubclass(hint, (str, int, float, bool, list, dict, types.NoneType, enum.Enum))
    return False


def _described(hint: Any) -> Any:
    """Return an annotation such as `Annotated[str, "words"]` with its words as the schema's description."""
    if get_origin(hint) is not Annotated:
        return hint
    base, *extras = get_args(hint)
    extras = [Field(description=extra) if isinstance(extra, str) else extra for extra in extras]
    return Annotated[(base, *extras)]

"""What a tool is: an async function, described by its signature.

    @tool("get_current_weather", "The weather now and in the coming days.")
    async def get_current_weather(
        http: AsyncClient,                                     # a service: injected by type
        location: Annotated[str, "A city, e.g. 'Seattle'."],   # an argument: the model fills it in
        days: Annotated[int, Field(ge=1, le=7)] = 3,
    ) -> Result: ...

A parameter of a JSON type (str, int, float, bool, Literal, Enum, list, dict, unions of these) is an argument and
goes into the schema; a parameter of any other class is a service the runner supplies: the HTTP client, the
settings, memory, the `Principal` who is asking.

Who may see and call it, whether the user must agree first, and whether its result is remembered are said beside its
name. `runner` enforces all of that, and nobody else does.
"""

from __future__ import annotations

import enum
import inspect
import re
import types
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError

from backend.errors import BadPlugin
from backend.settings.settings import Settings
from backend.tools.arguments import Arguments, ModelArguments

DEADLINE_S = 8.0
"""Seconds a tool has, unless it says otherwise."""
OUTPUT_CAP = 6_000
"""Characters of JSON a tool may hand to the model, unless it says otherwise."""

Client = Literal["voice", "chat", "internal", "copilot", "external"]
"""What kind of client asks: a call, a typed conversation, the server's own work and its operator's programs, a program
the user works in, or a stranger's program. The last two come over MCP only."""
CLIENTS: tuple[Client, ...] = get_args(Client)
OURS: frozenset[Client] = frozenset({"voice", "chat", "internal"})
"""Who may use a tool that does not say: everybody of this house, nobody from outside."""
EVERYONE: frozenset[Client] = frozenset(CLIENTS)
LOCAL = "local"
"""The source of a tool of our own; that of another server's tool is the server's name."""


@dataclass(frozen=True, slots=True)
class Principal:
    """On whose behalf a tool runs. `user_id` is empty for a caller we do not know."""

    user_id: str
    conversation_id: str = ""
    turn: str = ""
    """Names the user's turn; a confirmation counts only when it was given in a later one."""
    client: Client = "internal"
    """What kind of client it asks through; a tool that is not for it does not exist."""
    mode: str = ""
    """The name of the mode that is on; empty: what the user has chosen."""

    @property
    def authenticated(self) -> bool:
        """Whether we know who is asking."""
        return bool(self.user_id)


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool found. `data` is JSON-able and goes to the model as it is, with the labels added."""

    data: dict[str, Any]
    sample: bool = False
    """Made-up demonstration data: labelled wherever it goes, never cached."""
    note: str = ""
    """What the model must know about the data, e.g. why it is a sample."""
    citations: tuple[str, ...] = ()
    """Where it comes from, for the user to follow: 'Title (https://…)'."""


Function = Callable[..., Awaitable[Result]]
SetUp = Callable[[Settings], bool]
"""Whether what a tool needs has been set up."""


def always_set_up(settings: Settings) -> bool:
    """Of a tool that needs nothing."""
    return True


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool, ready to be offered to a model."""

    name: str
    description: str
    function: Function
    arguments: Arguments
    """Reads and checks what the model filled in."""
    parameters: dict[str, Any]
    """The arguments' JSON Schema."""
    services: dict[str, Any] = field(default_factory=dict)
    """Parameter name → the type to inject."""
    requires_auth: bool = False
    """Only for a caller we know."""
    confirm: bool = False
    """The user must agree first, in a turn of their own: to every call, or to those of `confirm_actions`."""
    confirm_actions: frozenset[str] = frozenset()
    """The values of its argument `action` that the user must agree to; empty: any."""
    set_up: SetUp = always_set_up
    """Whether it is there at all, with these settings."""
    cache: bool = True
    """Whether an answer that used this tool may be cached."""
    guidance: str = ""
    """Said to the model when the tool is in play."""
    persistent: bool = False
    """Whether its calls and results stay in the conversation for later turns. Those of other tools are dropped when
    their turn is over: the answer stands for them."""
    always: bool = False
    """Whether it is offered in every turn, without the router's choice."""
    clients: frozenset[Client] = OURS
    """Who may see and call it."""
    source: str = LOCAL
    deadline_s: float = DEADLINE_S
    output_cap: int = OUTPUT_CAP

    def needs_consent(self, values: Mapping[str, Any]) -> bool:
        """Whether the user must agree to a call with these arguments."""
        return self.confirm and (not self.confirm_actions or values.get("action") in self.confirm_actions)

    def schema(self) -> dict[str, Any]:
        """The tool in the chat completions API's JSON form."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }


F = TypeVar("F", bound=Function)


def tool(
    name: str,
    description: str,
    *,
    requires_auth: bool = False,
    confirm: bool | Collection[str] = False,
    set_up: SetUp = always_set_up,
    cache: bool = True,
    guidance: str = "",
    persistent: bool = False,
    always: bool = False,
    clients: Iterable[Client] = OURS,
    deadline_s: float = DEADLINE_S,
    output_cap: int = OUTPUT_CAP,
) -> Callable[[F], F]:
    """Declare the function below as a tool. Raises `BadPlugin` when it cannot be one.

    `confirm` may name the values of an argument `action` that the user must agree to; true is for all calls. The
    function itself is left as it is, to be called directly in tests.
    """

    for_whom = frozenset(clients)

    def declare(function: F) -> F:
        if not re.fullmatch(r"[a-z][a-z0-9_]{1,63}", name):
            raise BadPlugin(f"Tool name {name!r} is not a lower-case name of letters, digits, underscores.")
        asynchronous: bool = inspect.iscoroutinefunction(function)
        if not asynchronous:
            raise BadPlugin(f"Tool {name} is not an async function.")
        if strangers := sorted(set(for_whom) - EVERYONE):
            known = ", ".join(CLIENTS)
            raise BadPlugin(
                f"Tool {name} is for {', '.join(strangers)}, who do not exist.", hint=f"There are: {known}."
            )
        arguments, parameters, services = _split(name, function)
        actions = frozenset() if isinstance(confirm, bool) else frozenset(confirm)
        if actions and "action" not in parameters["properties"]:
            raise BadPlugin(f"Tool {name} asks for consent to some actions, and has no argument called action.")
        declared = Tool(
            name=name,
            description=description,
            function=function,
            arguments=ModelArguments(arguments),
            parameters=parameters,
            services=services,
            requires_auth=requires_auth,
            confirm=bool(confirm),
            confirm_actions=actions,
            set_up=set_up,
            cache=cache,
            guidance=guidance,
            persistent=persistent,
            always=always,
            clients=for_whom,
            deadline_s=deadline_s,
            output_cap=output_cap,
        )
        function.__tool__ = declared  # type: ignore[attr-defined]
        return function

    return declare


def _split(name: str, function: Function) -> tuple[type[BaseModel], dict[str, Any], dict[str, Any]]:
    """The model of the arguments, its JSON Schema, and the services by parameter name."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise BadPlugin(f"Tool {name} has an annotation that cannot be read: {error}.") from error
    fields: dict[str, Any] = {}
    services: dict[str, Any] = {}
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
        schema = _without_titles(model.model_json_schema())
    except PydanticUserError as error:
        raise BadPlugin(f"Tool {name} has parameters without a JSON schema: {error}.") from error
    schema.setdefault("properties", {})
    schema["additionalProperties"] = False
    return model, schema, services


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
    """`Annotated[str, "words"]` with the words as the schema's description."""
    if get_origin(hint) is not Annotated:
        return hint
    base, *extras = get_args(hint)
    extras = [Field(description=extra) if isinstance(extra, str) else extra for extra in extras]
    return Annotated[(base, *extras)]


def _without_titles(schema: Any) -> Any:
    """pydantic's generated titles only cost tokens. A property that is *called* title stays."""
    if isinstance(schema, list):
        return [_without_titles(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    cleaned = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs"):
            cleaned[key] = {name: _without_titles(part) for name, part in value.items()}
        else:
            cleaned[key] = _without_titles(value)
    return cleaned

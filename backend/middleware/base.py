"""The types of middleware: a step is an async function before or after a turn, described by its signature.

    @step("speaker_facts", stage="pre")
    async def speaker_facts(asked: Asked, memory: Memory) -> Note | None:
        ...

A pre-step sees the question and the outputs of the steps before it; it returns a `Note` (data for the system prompt),
an `Exchange` (a tool call with its result), an `Aside` (for later steps only), or None. A post-step sees the whole
turn; it returns an `Amended` answer, an `Aside`, or None when it ran for its effects only.

Parameters are filled by their types: `Asked` or `WholeTurn`, `StepOptions`, and services, exactly as tools' are.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_type_hints

from backend.agent.context import Exchange, Note, SourceMode
from backend.citations import Citation
from backend.errors import BadPlugin

Stage = Literal["pre", "post"]
PRE_DEADLINE_S = 1.0
"""Seconds a pre-step has, unless it says otherwise: the user is waiting for the answer."""
POST_DEADLINE_S = 10.0
"""Seconds a post-step has, unless it says otherwise."""


@dataclass(frozen=True, slots=True, repr=False)
class Aside:
    """Data for the steps that depend on this one; the model never sees it."""

    data: Any


@dataclass(frozen=True, slots=True, repr=False)
class Amended:
    """The answer in other words. In voice, where it was spoken already, this is only what is kept of it."""

    text: str


Output = Note | Exchange | Aside | Amended


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn as it begins. `user_id` is empty for a user we do not know."""

    text: str = field(repr=False)
    user_id: str = field(default="", repr=False)
    conversation_id: str = ""
    source_mode: SourceMode = "chat"
    mode: str = ""
    """The name of the mode that is on; empty: none."""
    domain: str = ""
    """The domain of the Thinker that is asked, by voice; empty in a chat."""
    platform: str = ""
    """The place where it was typed, as the caller names it ("terminal", "phone"); empty by voice, or if not named."""
    earlier: Mapping[str, Output] = field(default_factory=dict, repr=False)
    """The outputs of the steps this one depends on, by name. A step that failed or returned None is missing."""


@dataclass(frozen=True, slots=True)
class WholeTurn:
    """A turn that is over: the question, the answer, and what was used for it."""

    asked: Asked
    answer: str = field(repr=False)
    """The answer; in voice, the part of it that was heard."""
    message_id: str = ""
    tools: tuple[str, ...] = ()
    """Names of the tools that were used."""
    thinkers: tuple[str, ...] = ()
    """Domains of the Thinkers that were asked."""
    citations: tuple[Citation, ...] = field(default=(), repr=False)
    earlier: Mapping[str, Output] = field(default_factory=dict, repr=False)
    """The outputs of the steps this one depends on, pre-steps of the same turn included."""


@dataclass(frozen=True, slots=True)
class StepOptions:
    """The options of a step: the declared ones, overridden by the operator's, and the name of its model."""

    values: Mapping[str, Any]
    model: str = ""
    """The model it may ask; empty: none was declared."""


Function = Callable[..., Awaitable[Output | None]]


@dataclass(frozen=True, slots=True)
class MiddlewareStep:
    """One step, ready to be run."""

    name: str
    stage: Stage
    function: Function
    depends_on: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    """The modes it runs in; empty: all, and where none is on."""
    domains: tuple[str, ...] | None = None
    """The Thinkers it runs for; None: all. A chat is not affected."""
    platforms: tuple[str, ...] = ()
    """The platforms it runs on; empty: all, and where none is named."""
    model: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    deadline_s: float = PRE_DEADLINE_S
    detached: bool = False
    """Whether it runs after the answer is sent: nothing waits for it, and it cannot amend the answer."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameter name → the type to inject."""


F = TypeVar("F", bound=Function)


def step(
    name: str,
    *,
    stage: Stage,
    depends_on: Sequence[str] = (),
    modes: Sequence[str] = (),
    domains: Sequence[str] | None = None,
    platforms: Sequence[str] = (),
    model: str = "",
    options: Mapping[str, Any] | None = None,
    deadline_s: float | None = None,
    detached: bool = False,
) -> Callable[[F], F]:
    """Declare the function below as a step. Raises `BadPlugin` when it cannot be one.

    `model` is 'fast', 'advanced', or a model's name; a `detached` post-step is only for its effects. The
    function is left as it is, to be called directly in tests.
    """

    def declare(function: F) -> F:
        if not re.fullmatch(r"[a-z][a-z0-9_]{1,63}", name):
            raise BadPlugin(f"Step name {name!r} is not a lower-case name of letters, digits, underscores.")
        asynchronous: bool = inspect.iscoroutinefunction(function)
        if not asynchronous:
            raise BadPlugin(f"Step {name} is not an async function.")
        if stage not in ("pre", "post"):
            raise BadPlugin(f"Step {name} has the stage {stage!r}.", hint="A stage is 'pre' or 'post'.")
        usual_s = PRE_DEADLINE_S if stage == "pre" else POST_DEADLINE_S
        declared = MiddlewareStep(
            name=name,
            stage=stage,
            function=function,
            depends_on=tuple(dict.fromkeys(depends_on)),
            modes=tuple(modes),
            domains=None if domains is None else tuple(domains),
            platforms=tuple(platforms),
            model=model,
            options=dict(options or {}),
            deadline_s=usual_s if deadline_s is None else deadline_s,
            detached=detached,
            parameters=_parameters(name, stage, function),
        )
        if detached and stage == "pre":
            raise BadPlugin(f"Step {name} runs before the turn, which waits for it: it cannot be detached.")
        if declared.deadline_s <= 0:
            raise BadPlugin(f"Step {name} has a deadline that is not positive.")
        function.__step__ = declared  # type: ignore[attr-defined]
        return function

    return declare


def _parameters(name: str, stage: Stage, function: Function) -> dict[str, object]:
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError) as error:
        raise BadPlugin(f"Step {name} has an annotation that cannot be read: {error}.") from error
    parameters = list(inspect.signature(function).parameters)
    if untyped := [parameter for parameter in parameters if parameter not in hints]:
        raise BadPlugin(f"Parameter {untyped[0]} of step {name} has no type.")
    wrong, right = (WholeTurn, Asked) if stage == "pre" else (Asked, WholeTurn)
    if wrong in (hints[parameter] for parameter in parameters):
        raise BadPlugin(f"A {stage}-step sees {right.__name__}, not {wrong.__name__}: mend step {name}.")
    return {parameter: hints[parameter] for parameter in parameters}

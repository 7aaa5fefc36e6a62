"""Middleware steps are async functions that run before or after a turn. Their signatures describe them.

    @step("speaker_facts", stage="pre")
    async def speaker_facts(asked: Asked, memory: Memory) -> Note | None:
        ...

A pre-step sees the question and the outputs of the steps before it. It returns a `Note` (data for the system prompt),
an `Exchange` (a tool call with its result), an `Aside` (for later steps only), or None. A post-step sees the whole
turn. It returns an `Amended` answer, an `Aside`, or None if it ran for its effects only.

Parameters are injected by type, as in tools: `Asked` or `WholeTurn`, `StepOptions`, and services.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_type_hints

from backend.agent.context import Exchange, Note, SourceMode
from backend.citations import Citation
from backend.errors import BadPlugin, SettingsError
from backend.models.options import OPTION_NAMES, USUAL, ModelOptions, read_options

Stage = Literal["pre", "post"]
PRE_DEADLINE_S = 1.0
"""Seconds a pre-step may take by default. It is short, because the user waits for the answer."""
POST_DEADLINE_S = 10.0
"""Seconds a post-step may take by default."""


@dataclass(frozen=True, slots=True, repr=False)
class Aside:
    """Data for the steps that depend on this one; the model never sees it."""

    data: Any


@dataclass(frozen=True, slots=True, repr=False)
class Amended:
    """The answer in other words. A spoken answer was already heard, so this changes only the text that is kept."""

    text: str


Output = Note | Exchange | Aside | Amended


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn at its beginning. `user_id` is empty for an unknown user."""

    text: str = field(repr=False)
    user_id: str = field(default="", repr=False)
    conversation_id: str = ""
    source_mode: SourceMode = "chat"
    mode: str = ""
    """The name of the mode that is on; empty: none."""
    domain: str = ""
    """The domain of the Thinker that a voice turn asks; empty in a chat."""
    platform: str = ""
    """The platform that a typed turn names ("terminal", "phone"); empty for voice, or if not named."""
    earlier: Mapping[str, Output] = field(default_factory=dict, repr=False)
    """The outputs of the steps on which this one depends, by name. Steps that failed or returned None are missing."""


@dataclass(frozen=True, slots=True)
class WholeTurn:
    """A finished turn: the question, the answer, and the tools and Thinkers that it used."""

    asked: Asked
    answer: str = field(repr=False)
    """The answer; in voice, the part that was heard."""
    message_id: str = ""
    tools: tuple[str, ...] = ()
    """The names of the tools that were used."""
    thinkers: tuple[str, ...] = ()
    """The domains of the Thinkers that were asked."""
    citations: tuple[Citation, ...] = field(default=(), repr=False)
    earlier: Mapping[str, Output] = field(default_factory=dict, repr=False)
    """The outputs of the steps on which this one depends, including pre-steps of the same turn."""


@dataclass(frozen=True, slots=True)
class StepOptions:
    """The options of a step: its declared ones, overridden by the operator's, and its model."""

    values: Mapping[str, Any]
    model: str = ""
    """The model that the step may ask; empty: it declares none."""
    of_model: ModelOptions = USUAL
    """The options of the step's requests to that model."""


Function = Callable[..., Awaitable[Output | None]]


@dataclass(frozen=True, slots=True)
class MiddlewareStep:
    """One step, ready to run."""

    name: str
    stage: Stage
    function: Function
    depends_on: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    """The modes in which the step runs; empty: every turn, with or without a mode."""
    domains: tuple[str, ...] | None = None
    """The Thinkers for which the step runs; None: all. This does not affect chats."""
    platforms: tuple[str, ...] = ()
    """The platforms on which the step runs; empty: every turn, with or without a platform."""
    model: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    deadline_s: float = PRE_DEADLINE_S
    detached: bool = False
    """Whether the step runs after the answer is sent. Nothing waits for it, and it cannot amend the answer."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameter name → the type to inject."""

    def configured(self, given: Mapping[str, Any] = {}, models: Mapping[str, str] = {}) -> StepOptions:
        """Return the options with those `given` by the operator. `models` names 'fast' and 'advanced'.

        A step with a model has the options of its requests and `model` beside its own. Raises `SettingsError`.
        """
        of_requests = ("model", *OPTION_NAMES) if self.model else ()
        known = (*self.options, *of_requests)
        if unknown := [name for name in given if name not in known]:
            hint = f"Correct PIPELINE__OPTIONS. Its options are: {', '.join(known) or 'none'}."
            raise SettingsError(f"Step {self.name} has no option {', '.join(unknown)}.", hint=hint)
        values = {**self.options, **given}
        asked = {name: values.pop(name) for name in of_requests if name in values}
        model = str(asked.pop("model", self.model))
        return StepOptions(values, models.get(model, model), read_options(f"Step {self.name}", asked))


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
    """Declare the decorated function as a step. Raises `BadPlugin` when it cannot be one.

    `model` is 'fast', 'advanced', or a model's name; `options` may hold those of its requests. A `detached` post-step
    runs only for its effects. The function itself stays unchanged, so tests can call it directly.
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
        declared.configured()
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

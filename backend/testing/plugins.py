"""Runs one Thinker, tool or step as the server would, without a key, a network or a Redis."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeVar

from backend.access.principal import EVERYTHING
from backend.agent.session import Agent
from backend.errors import BadPlugin
from backend.middleware.base import Asked, MiddlewareStep, Output, StepOptions, WholeTurn
from backend.middleware.pipeline import Pipeline
from backend.middleware.run import output_fault
from backend.models.base import ChatModel
from backend.settings.settings import Settings, load_settings
from backend.storage.memory import Memory
from backend.testing.memory import FakeMemory
from backend.thinkers.base import Answer, OnProgress, Question
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.thinkers.registry import ThinkerRegistry, thinker_of
from backend.thinkers.run import ThinkerDependencies
from backend.tools.base import Client, Clock, Tool, ToolContext, ToolRights, injected
from backend.tools.registry import Registry
from backend.tools.runner import ToolResult

T = TypeVar("T")
Function = Callable[..., Any]
"""A function declared with `@tool` or `@step`."""


@dataclass(frozen=True, kw_only=True)
class World:
    """The surroundings of a plugin. Each default is harmless; a test replaces what it needs."""

    user_id: str = ""
    """The id of the user who asks; empty: an unknown caller."""
    memory: Memory = field(default_factory=FakeMemory)
    settings: Settings = field(default_factory=lambda: load_settings(_env_file=None))
    clock: Callable[[], float] = time.time
    """Returns Unix time in seconds."""
    rights: ToolRights = ToolRights(EVERYTHING)  # noqa: RUF009 - nothing in it changes
    """The rights of the tool calls: by default the operator's."""
    services: Mapping[Any, Any] = field(default_factory=dict)
    """Further services by type, e.g. `{httpx2.AsyncClient: client}`."""

    @property
    def known(self) -> dict[Any, Any]:
        """Return the services, each by the type with which a signature asks for it."""
        usual = {Memory: self.memory, Settings: self.settings, Clock: Clock(self.clock)}
        return usual | dict(self.services)


async def run_thinker(
    thinker: ModuleType,
    query: str,
    *,
    model: ChatModel,
    tools: Iterable[Function] = (),
    steps: Iterable[Function] = (),
    progress: OnProgress = lambda progress: None,
    world: World | None = None,
) -> Answer:
    """Return the answer of the Thinker in the module `thinker` to `query`.

    `tools` are the `@tool` functions that its manifest names, `steps` the `@step` functions around its turn. Raises
    `BadPlugin` for a module that is no Thinker or names a missing tool, `ThinkerTimeout` after its deadline,
    and `NoAnswer` where the server would have no answer.
    """
    world = world or World()
    declared = thinker_of(thinker)
    toolbox = Registry([_declared(function, "tool", Tool) for function in tools], world.known)
    pipeline = Pipeline([_declared(function, "step", MiddlewareStep) for function in steps], world.known)
    agent = Agent(model, toolbox, world.settings.models.thinker_model, clock=world.clock)
    dependencies = ThinkerDependencies(agent, toolbox, world.memory, world.settings, pipeline, clock=world.clock)
    thinkers = ThinkerRegistry([declared], dependencies)
    question = Question(declared.manifest.domain, query, "test", world.user_id, rights=world.rights)
    try:
        return await ThinkerDispatcher(thinkers).answer(question, progress)
    finally:
        await pipeline.close()


async def run_tool(
    function: Function,
    arguments: Mapping[str, Any] | None = None,
    *,
    client: Client = "voice",
    world: World | None = None,
) -> ToolResult:
    """Call a `@tool` function under every rule of the server: schema, sign-in, consent, deadline and size.

    Raises `BadPlugin` for a service that `world` does not have; every other failure is a result with an `error`.
    To test the bare function, call it directly.
    """
    world = world or World()
    tool = _declared(function, "tool", Tool)
    return await Registry([tool], world.known).call_tool(
        tool.name, arguments or {}, ToolContext(world.user_id, "test", "turn-1", client, rights=world.rights)
    )


async def run_step(
    function: Function,
    turn: Asked | WholeTurn,
    *,
    options: Mapping[str, Any] | None = None,
    world: World | None = None,
) -> Output | None:
    """Run a `@step` function around `turn` (`Asked` before it, `WholeTurn` after) and return its output.

    Raises `BadPlugin` for a missing service or an output the server would refuse, `TimeoutError` after the step's
    deadline, and whatever the step itself raises; in the server each of these costs the output of this step only.
    """
    world = world or World()
    step = _declared(function, "step", MiddlewareStep)
    given = {type(turn): turn, StepOptions: step.configured(options or {})}
    Pipeline([step], world.known)  # checks its services
    services = world.known | given
    async with asyncio.timeout(step.deadline_s):
        output: Output | None = await function(
            **{name: injected(hint, services) for name, hint in step.parameters.items()}
        )
    if output is not None and (fault := output_fault(step, output)):
        raise BadPlugin(f"Step {step.name}: {fault}.")
    return output


def _declared(function: Function, mark: str, kind: type[T]) -> T:
    declared = getattr(function, f"__{mark}__", None)
    if not isinstance(declared, kind):
        raise BadPlugin(f"{function.__name__} is not declared with @{mark}.")
    return declared

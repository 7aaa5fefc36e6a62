"""The pipeline runs the steps around a turn, for chat and voice alike.

    asked = Asked(text, user_id, conversation_id, source_mode="chat", mode="work")
    prepared = await pipeline.before(asked, names=profile.steps)
    session = agent.create_session(…, situation=prepared.add_to(situation))
    …                                                  # the turn itself, voice or chat
    turn = await pipeline.after(prepared.turn(answer), names=profile.steps)
    turn.answer                                        # as amended

The pre-steps of a voice turn run when a Thinker is asked, which is not on the audio path. Its post-steps run after it
in a task of the pipeline: the call never waits for `later`.

The order of all steps is fixed at the start: a cycle, a repeated name, or an unknown dependency stops the server. Steps
that a turn leaves out (another stage, another mode, not named) only leave gaps in that order.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from types import ModuleType
from typing import Any

from backend.agent.context import Exchange, Note, Situation
from backend.errors import BadPlugin, SettingsError
from backend.middleware.base import Amended, Asked, MiddlewareStep, Output, Stage, StepOptions, WholeTurn
from backend.middleware.run import StepMetrics, StepOutcome, run_steps
from backend.runtime.supervisor import cancel_all
from backend.tools.base import injected, provided, service_type
from backend.tools.discovery import declared_in, package_modules

log = logging.getLogger(__name__)

PACKAGE = "backend.middleware.steps"
HINT = "Steps are files in backend/middleware/steps and in PLUGIN_FOLDERS; depends_on names other steps."
PRE_WITHIN_S = 2.0
"""Seconds all pre-steps of a turn may take together."""
POST_WITHIN_S = 10.0
"""Seconds the post-steps before the answer may take together."""
DETACHED_WITHIN_S = 60.0
"""Seconds detached post-steps may take together."""
LATER_LIMIT = 200
"""The most turns that wait for their post-steps; beyond that, the oldest is dropped."""
LATER_AT_ONCE = 4
"""The most turns that run their post-steps at the same time."""
STOP_WITHIN_S = 2.0
"""Seconds cancelled post-steps may take to clean up."""


@dataclass(frozen=True, slots=True, repr=False)
class Prepared:
    """The outputs of the pre-steps of a turn."""

    asked: Asked
    outputs: Mapping[str, Output] = field(default_factory=dict)
    outcomes: tuple[StepOutcome, ...] = ()

    def __repr__(self) -> str:
        return f"Prepared({', '.join(self.outputs) or 'nothing'})"

    def add_to(self, situation: Situation) -> Situation:
        """Return `situation` with the outputs added."""
        notes = [output for output in self.outputs.values() if isinstance(output, Note)]
        exchanges = [output for output in self.outputs.values() if isinstance(output, Exchange)]
        return replace(situation, notes=(*situation.notes, *notes), exchanges=(*situation.exchanges, *exchanges))

    def turn(self, answer: str, **facts: Any) -> WholeTurn:
        """Return the finished turn; `facts` are further fields of `WholeTurn`."""
        return WholeTurn(self.asked, answer, earlier=self.outputs, **facts)


@dataclass(frozen=True, slots=True)
class _Later:
    """A turn that waits for its post-steps; `detached`: for the detached ones only."""

    turn: WholeTurn
    names: Collection[str] | None
    detached: bool = False


class Pipeline:
    """All steps, checked and in order, until `close`."""

    def __init__(
        self,
        steps: Iterable[MiddlewareStep],
        services: Mapping[Any, Any] | None = None,
        *,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        models: Mapping[str, str] | None = None,
    ) -> None:
        """`options` are the operator's options by step; `models` names 'fast' and 'advanced'.

        Raises `BadPlugin`, or `SettingsError` for an option of no step.
        """
        self._order = ordered(steps)
        self._services = dict(services or {})
        options, models = options or {}, models or {}
        self.check_names(options)
        self._options = {step.name: step.configured(options.get(step.name, {}), models) for step in self._order}
        for step in self._order:
            self._check_services(step)
        self.counts = StepMetrics()
        self._waiting: deque[_Later] = deque()
        self._working: dict[asyncio.Task[None], str] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"Pipeline({', '.join(self.names) or 'no steps'}; {self.depth} turns waiting)"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the steps, in the order in which they run."""
        return tuple(step.name for step in self._order)

    @property
    def depth(self) -> int:
        """The number of turns that wait for their post-steps."""
        return len(self._waiting)

    def check_names(self, names: Iterable[str]) -> None:
        """Raise `SettingsError` when one of the names, which an operator's file lists, is no step."""
        if missing := [name for name in names if name not in self.names]:
            known = ", ".join(self.names) or "none"
            raise SettingsError(f"There is no step called {', '.join(missing)}. There are: {known}.", hint=HINT)

    async def before(self, asked: Asked, *, names: Collection[str] | None = None) -> Prepared:
        """Run the pre-steps: all that fit the turn, or only `names` and their dependencies. Never raises."""
        steps = chosen(self._order, "pre", asked, names)
        if not steps:
            return Prepared(asked)

        def call(step: MiddlewareStep, earlier: Mapping[str, Output]) -> Any:
            return step.function(**self._arguments(step, replace(asked, earlier=earlier)))

        outcomes = await run_steps(steps, call, within_s=PRE_WITHIN_S)
        self.counts.ran(outcomes)
        return Prepared(asked, _outputs(steps, outcomes), tuple(outcomes))

    async def after(self, turn: WholeTurn, *, names: Collection[str] | None = None) -> WholeTurn:
        """Run the post-steps, and return the turn with its amended answer. Never raises.

        Amending steps that depend on each other run one after another, and see each other's words. Of independent ones,
        the last in order wins. Detached steps run later, with the amended turn.
        """
        amended = await self._run_post(turn, names, detached=False)
        self._queue(_Later(amended, names, detached=True))
        return amended

    def later(self, turn: WholeTurn, *, names: Collection[str] | None = None) -> None:
        """Queue all post-steps of a turn, and return immediately. Detached steps see the amended turn.

        When too many turns wait, the one that has waited longest is dropped and counted.
        """
        self._queue(_Later(turn, names))

    async def forget(self, user_id: str) -> None:
        """Drop and stop the post-steps of a user, before that user's data is erased."""
        self._waiting = deque(later for later in self._waiting if later.turn.asked.user_id != user_id)
        await cancel_all([task for task, owner in self._working.items() if owner == user_id], within_s=STOP_WITHIN_S)

    async def close(self, within_s: float = 2.0) -> None:
        """Finish the running and waiting post-steps within `within_s` seconds; the rest is dropped."""
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self._working:
                    await asyncio.wait(list(self._working))
        for _ in self._waiting:
            self.counts.dropped()
        self._waiting.clear()
        await cancel_all(list(self._working), within_s=STOP_WITHIN_S)

    async def _run_post(self, turn: WholeTurn, names: Collection[str] | None, *, detached: bool) -> WholeTurn:
        """Run the turn's detached post-steps, or the others, and return the turn as amended."""
        steps = [step for step in chosen(self._order, "post", turn.asked, names) if step.detached is detached]
        if not steps:
            return turn

        def call(step: MiddlewareStep, earlier: Mapping[str, Output]) -> Any:
            seen = _amended(turn, (earlier.get(name) for name in step.depends_on), earlier)
            return step.function(**self._arguments(step, seen))

        within_s = DETACHED_WITHIN_S if detached else POST_WITHIN_S
        outcomes = await run_steps(steps, call, within_s=within_s, given=turn.earlier)
        self.counts.ran(outcomes)
        outputs = _outputs(steps, outcomes)
        return _amended(turn, outputs.values(), {**turn.earlier, **outputs})

    def _queue(self, later: _Later) -> None:
        wanted = chosen(self._order, "post", later.turn.asked, later.names)
        if self._closed or not any(step.detached or not later.detached for step in wanted):
            return
        if len(self._waiting) >= LATER_LIMIT:
            self._waiting.popleft()
            self.counts.dropped()
        self._waiting.append(later)
        self._work_on()

    def _arguments(self, step: MiddlewareStep, turn: Asked | WholeTurn) -> dict[str, object]:
        services = {**self._services, type(turn): turn, StepOptions: self._options[step.name]}
        return {name: injected(hint, services) for name, hint in step.parameters.items()}

    def _check_services(self, step: MiddlewareStep) -> None:
        there = {**self._services, Asked: None, WholeTurn: None, StepOptions: None}
        for parameter, hint in step.parameters.items():
            if not provided(hint, there):
                kind = service_type(hint)[0]
                raise BadPlugin(
                    f"Step {step.name} asks for {parameter}: {getattr(kind, '__name__', kind)}, which is no service.",
                    hint="Services are injected by their exact type; write `Service | None` for an optional one.",
                )

    def _work_on(self) -> None:
        while self._waiting and len(self._working) < LATER_AT_ONCE:
            later = self._waiting.popleft()
            task = asyncio.create_task(self._afterwards(later), name="post-steps")
            self._working[task] = later.turn.asked.user_id
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        del self._working[task]
        self._work_on()

    async def _afterwards(self, later: _Later) -> None:
        try:
            turn = later.turn
            if not later.detached:
                turn = await self._run_post(turn, later.names, detached=False)
            await self._run_post(turn, later.names, detached=True)
        except Exception as error:  # noqa: BLE001 - one turn's fault must not end the next's; its text may hold words
            log.error("the post-steps of a turn failed: %s", type(error).__name__)


def _outputs(steps: Sequence[MiddlewareStep], outcomes: Iterable[StepOutcome]) -> dict[str, Output]:
    """Return the outputs in the steps' order, so that timing does not change a turn."""
    by_name = {outcome.name: outcome.output for outcome in outcomes}
    return {step.name: output for step in steps if (output := by_name.get(step.name)) is not None}


def _amended(turn: WholeTurn, outputs: Iterable[Output | None], earlier: Mapping[str, Output]) -> WholeTurn:
    """Return the turn with `earlier`, and with the answer of the last of `outputs` that amends it."""
    texts = [output.text for output in outputs if isinstance(output, Amended) and output.text.strip()]
    return replace(turn, answer=texts[-1] if texts else turn.answer, earlier=earlier)


def ordered(steps: Iterable[MiddlewareStep]) -> tuple[MiddlewareStep, ...]:
    """Sort the steps so that each comes after its dependencies, otherwise by name. Raises `BadPlugin`."""
    steps = sorted(steps, key=lambda step: step.name)
    by_name: dict[str, MiddlewareStep] = {}
    for step in steps:
        if step.name in by_name:
            raise BadPlugin(f"Two steps are called {step.name}.", hint=HINT)
        by_name[step.name] = step
    for step in steps:
        for name in step.depends_on:
            if fault := _dependency_fault(step, name, by_name.get(name)):
                raise BadPlugin(f"Step {step.name} {fault}: {step.name} → {name}.", hint=HINT)
    sorter = TopologicalSorter({step.name: step.depends_on for step in steps})
    try:
        return tuple(by_name[name] for name in sorter.static_order())
    except CycleError as error:
        path = " → ".join(reversed(error.args[1]))
        raise BadPlugin(f"Steps depend on each other in a circle: {path}.", hint=HINT) from None


def chosen(
    order: Sequence[MiddlewareStep], stage: Stage, asked: Asked, names: Collection[str] | None
) -> tuple[MiddlewareStep, ...]:
    """Return the steps of one stage that run in the turn of `asked`, in order.

    With `names`, only those and their dependencies run. A step's own `modes`, `domains` and `platforms` always apply.
    """
    wanted = None if names is None else set(names)
    for step in reversed(order):
        if wanted is not None and step.name in wanted:
            wanted |= set(step.depends_on)
    return tuple(
        step
        for step in order
        if step.stage == stage
        and (wanted is None or step.name in wanted)
        and (not step.modes or asked.mode in step.modes)
        and (not step.platforms or asked.platform in step.platforms)
        and (not asked.domain or step.domains is None or asked.domain in step.domains)
    )


def _dependency_fault(step: MiddlewareStep, name: str, needed: MiddlewareStep | None) -> str:
    if needed is None:
        return f"depends on {name}, which does not exist"
    if step.stage == "pre" and needed.stage == "post":
        return f"runs before the turn and depends on {name}, which runs after it"
    if needed.detached and not step.detached:
        return f"is waited for and depends on {name}, which is detached"
    return ""


def discover(further: Iterable[ModuleType] = ()) -> list[MiddlewareStep]:
    """Return all steps, including those of `further` modules, in no particular order. Raises `BadPlugin`."""
    return [step for module in (*package_modules(PACKAGE), *further) for step in steps_of(module)]


def steps_of(module: ModuleType) -> list[MiddlewareStep]:
    """Return the steps declared in `module` itself, not those it imports."""
    return declared_in(module, "__step__", MiddlewareStep)


NO_STEPS = Pipeline(())
"""A pipeline without steps."""

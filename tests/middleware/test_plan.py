"""The order of steps, and which of them run: properties of any set of steps."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import BadPlugin
from backend.middleware.base import Asked, MiddlewareStep, Stage
from backend.middleware.pipeline import chosen, ordered
from tests.middleware.world import bare

NAMES = [f"step_{letter}" for letter in "abcdefgh"]


@st.composite
def acyclic(draw: st.DrawFn) -> list[MiddlewareStep]:
    """Steps in a random order. Each depends only on earlier steps of a hidden order."""
    hidden = draw(st.permutations(NAMES))[: draw(st.integers(1, len(NAMES)))]
    steps: list[MiddlewareStep] = []
    for index, name in enumerate(hidden):
        needs = draw(st.lists(st.sampled_from(hidden[:index]), unique=True, max_size=3)) if index else []
        stage = "post" if any(step.stage == "post" for step in steps if step.name in needs) else None
        stage = stage or draw(st.sampled_from(["pre", "post"]))
        modes = draw(st.lists(st.sampled_from(["work", "home"]), unique=True))
        steps.append(bare(name, needs, stage, modes=modes))
    return list(draw(st.permutations(steps)))


@pytest.mark.document("002", "brainlets")
@given(acyclic())
def test_every_step_comes_after_its_dependencies(steps: list[MiddlewareStep]) -> None:
    names = [step.name for step in ordered(steps)]
    assert sorted(names) == sorted(step.name for step in steps)
    for step in steps:
        assert all(names.index(needed) < names.index(step.name) for needed in step.depends_on)


@given(acyclic(), st.randoms())
def test_the_order_of_discovery_does_not_change_the_order_of_steps(steps: list[MiddlewareStep], random: object) -> None:
    again = list(steps)
    random.shuffle(again)  # type: ignore[attr-defined]
    assert [step.name for step in ordered(steps)] == [step.name for step in ordered(again)]


@given(acyclic(), st.data())
def test_a_cycle_is_refused_with_its_path(steps: list[MiddlewareStep], data: st.DataObject) -> None:
    order = [step.name for step in ordered(steps)]
    circle = order[: data.draw(st.integers(1, len(order)))]
    turned = [bare(name, [circle[index - 1]], "post") for index, name in enumerate(circle)]
    rest = [bare(step.name, step.depends_on, "post") for step in steps if step.name not in circle]
    with pytest.raises(BadPlugin, match="in a circle") as refused:
        ordered([*turned, *rest])
    path = str(refused.value).partition(": ")[2].rstrip(".").split(" → ")
    assert path[0] == path[-1] and set(path) == set(circle)
    needs = {step.name: step.depends_on for step in [*turned, *rest]}
    assert all(after in needs[before] for before, after in pairwise(path))


@given(acyclic(), st.sampled_from(["", "work", "away"]), st.none() | st.lists(st.sampled_from(NAMES), unique=True))
def test_the_chosen_steps_fit_the_turn(steps: list[MiddlewareStep], mode: str, names: list[str] | None) -> None:
    order = ordered(steps)
    stages: tuple[Stage, ...] = ("pre", "post")
    for stage in stages:
        run = chosen(order, stage, Asked("", mode=mode), names)
        assert [step for step in order if step in run] == list(run)
        there = {step.name for step in run}
        fitting = {step.name for step in steps if step.stage == stage and (not step.modes or mode in step.modes)}
        wanted = {step.name for step in steps} if names is None else set(names)
        while more := {n for step in steps if step.name in wanted for n in step.depends_on} - wanted:
            wanted |= more
        assert there == fitting & wanted


def test_an_unknown_dependency_is_refused_with_its_path() -> None:
    with pytest.raises(BadPlugin, match="tidy → sweep") as refused:
        ordered([bare("tidy", ["sweep"])])
    assert "depends_on" in refused.value.hint


def test_a_pre_step_cannot_depend_on_a_post_step() -> None:
    with pytest.raises(BadPlugin, match="early → late"):
        ordered([bare("early", ["late"]), bare("late", stage="post")])
    assert ordered([bare("late", ["early"], "post"), bare("early")])[0].name == "early"


def test_two_steps_cannot_have_one_name() -> None:
    with pytest.raises(BadPlugin, match="Two steps are called tidy"):
        ordered([bare("tidy"), bare("tidy", stage="post")])

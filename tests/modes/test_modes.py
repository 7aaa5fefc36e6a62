"""Modes: read from their file, refused with a reason, and passed to Thinkers and Responders."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.call.prompts import CallerBackground, brief
from backend.errors import NotFound, SettingsError
from backend.middleware.pipeline import NO_STEPS
from backend.settings.settings import load_settings
from backend.thinkers.base import Question
from backend.users.modes import Mode, Modes, load_modes
from backend.users.profile import UserProfile
from backend.users.profile_updates import SetMode
from tests.call.world import thinkers
from tests.thinkers.world import NOWHERE, world


def test_the_built_in_modes_are_valid() -> None:
    modes = load_modes(has_tool=lambda name: False, check_steps=NO_STEPS.check_names)
    assert modes.names[0] == "default" and {"concise", "expert"} < set(modes.names)
    assert (modes.get("expert").model, modes.get("default").model) == ("advanced", "")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[a\n", "not TOML"),
        ("a = 3\n", r"write \[a\]"),
        ("[A]\n", "mode A, name"),
        ('[a]\nmodle = "fast"\n', "modle"),
        ('[a]\ntools = ["nothing"]\n', "no tool nothing"),
        ('[a]\nsteps = ["nothing"]\n', "no step called nothing"),
    ],
)
def test_a_wrong_modes_file_is_refused_with_its_place_and_the_reason(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "modes.toml").write_text(content)
    with pytest.raises(SettingsError, match=said) as refused:
        load_modes(tmp_path / "modes.toml", has_tool="route_to_thinker".__eq__, check_steps=NO_STEPS.check_names)
    assert "modes.toml" in str(refused.value) and "MODES_FILE" in refused.value.hint


def test_a_missing_modes_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load_modes(tmp_path / "none.toml")


def test_a_stored_mode_that_no_longer_exists_is_the_default() -> None:
    modes = Modes([Mode(name="terse")])
    assert modes.chosen(UserProfile(mode="terse")).name == "terse"
    for stored in ({}, {"mode": "gone"}):
        assert modes.chosen(UserProfile.read(stored)).name == "default"
    with pytest.raises(NotFound, match="no such mode"):
        modes.get("gone")


def test_the_chosen_mode_is_stored_in_the_profile() -> None:
    chosen = SetMode("terse").apply(UserProfile(facts=("has a dog",)))
    assert UserProfile.read(chosen.stored()) == chosen and chosen.stored()["mode"] == "terse"


def test_the_briefing_contains_the_prompt_and_personality_of_the_mode() -> None:
    mode = Mode(name="terse", prompt="One sentence.", personality="A clerk.")
    instructions = brief(thinkers().registry, CallerBackground(), mode=mode, endpointing="local").instructions
    assert "One sentence." in instructions and "Your manner: A clerk." in instructions
    assert "manner" not in brief(thinkers().registry, CallerBackground(), mode=Mode(), endpointing="local").instructions


async def test_a_thinker_uses_the_modes_model_and_caches_its_answer_by_mode(tmp_path: Path) -> None:
    file = tmp_path / "modes.toml"
    file.write_text('[large]\nmodel = "big-one"\n')
    settings = load_settings(_env_file=None, modes_file=file, **NOWHERE)
    async with world(["One."], ["Two."], settings=settings) as w:
        modes = w.thinkers.registry.dependencies.modes
        for mode, text in (("", "One."), ("large", "Two.")):
            question = Question("knowledge", "Why?", "s1", "ada", mode=modes.named(mode))
            assert (await w.thinkers.answer(question, lambda _: None)).text == text
        assert [request["model"] for request in w.model.requests] == ["gpt-5.4", "big-one"]

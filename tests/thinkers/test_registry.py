"""Thinkers are found in folders, described by manifests, and asked through one registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backend.errors import BadPlugin, BadRequest, ModelUnavailable, NoAnswer
from backend.testing.model import ScriptedModel
from backend.thinkers.base import Manifest
from tests.support.agents import call
from tests.thinkers.world import world

MOON_THINKER = """
from backend.thinkers.base import Answer, Manifest

MANIFEST = Manifest(
    domain="moon",
    label="Moon",
    description="the phases of the moon",
    example="Is the moon full?",
    prompt="You know the moon.",
    tools=("moon_phase",),
    cache_ttl_s=0,
)
"""
MOON_TOOL = """
from typing import Annotated

from backend.settings.settings import Settings
from backend.tools.base import Result, tool


@tool("moon_phase", "The moon's phase.", guidance="Mention cheese.")
async def moon_phase(settings: Settings, day: Annotated[str, "ISO date."]) -> Result:
    return Result({"phase": "full", "day": day})
"""
OWN_CODE = """
from backend.thinkers.base import Answer, Manifest
from backend.thinkers.run import ThinkerRun

MANIFEST = Manifest(domain="dice", label="Dice", description="dice", example="Roll.", prompt="Roll.", cache_ttl_s=0)


async def think(run: ThinkerRun) -> Answer:
    run.progress("rolling")
    {body}
"""


def route(**arguments: Any) -> str:
    return json.dumps(arguments)


@pytest.mark.document("001", "routing and Thinkers")
async def test_the_tool_its_guide_and_the_domains_derive_from_the_manifests() -> None:
    async with world() as w:
        domains = [manifest.domain for manifest in w.thinkers.registry.manifests]
        assert {"weather", "knowledge"} <= set(domains)
        assert w.thinkers.registry.route_tool("chat")["parameters"]["properties"]["domain"]["enum"] == domains
        for manifest in w.thinkers.registry.manifests:
            assert f"- {manifest.domain}: for {manifest.description}" in w.thinkers.registry.guide()


@pytest.mark.document("001", "routing and Thinkers")
async def test_a_new_thinker_and_a_new_tool_are_two_files_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "moon.py").write_text(MOON_THINKER)
    (tmp_path / "moon_phase.py").write_text(MOON_TOOL)
    scenes = [call("moon_phase", '{"day": "2026-11-21"}')], ["The moon is full."]
    async with world(*scenes, folders=(tmp_path,)) as w:
        assert "moon" in w.thinkers.registry.route_tool("chat")["parameters"]["properties"]["domain"]["enum"]
        assert "the phases of the moon" in w.thinkers.registry.guide()
        assert "Moon" in [manifest.label for manifest in w.thinkers.registry.manifests]
        parsed = w.thinkers.registry.parse("route_to_thinker", route(domain="moon", query="Is it full?"))
        answer = await w.ask(parsed.manifest.domain, parsed.query)
        assert (answer.text, answer.source, answer.tool_calls) == ("The moon is full.", "live", 1)
        assert "You know the moon." in w.system()
        assert "Mention cheese." in w.system()
        assert w.progress == ["calling moon_phase", "putting the answer into words"]
        assert w.steps == [("moon_phase", "started"), ("moon_phase", "finished")]


async def test_a_thinker_with_code_of_its_own_runs_that_code(tmp_path: Path) -> None:
    (tmp_path / "dice.py").write_text(OWN_CODE.format(body='return Answer("Six.", "live")'))
    async with world(folders=(tmp_path,)) as w:
        assert (await w.ask("dice", "Roll.")).text == "Six."
        assert w.progress == ["rolling"]


@pytest.mark.document("002", "tools and their registry")
@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"moon.py": MOON_THINKER}, "moon_phase"),
        ({"a.py": MOON_THINKER, "b.py": MOON_THINKER, "t.py": MOON_TOOL}, "moon"),
        ({"a.py": MOON_TOOL, "b.py": MOON_TOOL}, "moon_phase"),
        ({"a.py": "MANIFEST = 3"}, "Manifest"),
        ({"a.py": "this is not Python"}, "a.py"),
        ({"a.py": "manifest = 3"}, "neither"),
    ],
    ids=["missing tool", "domain twice", "tool twice", "no manifest", "no python", "nothing"],
)
async def test_a_broken_file_is_named_in_the_log_and_keeps_no_other_out(
    tmp_path: Path, files: dict[str, str], complaint: str, caplog: pytest.LogCaptureFixture
) -> None:
    moon = {"good.py": MOON_THINKER.replace("moon", "sun"), "sun_phase.py": MOON_TOOL.replace("moon", "sun")}
    for name, text in (moon | files).items():
        (tmp_path / name).write_text(text)
    async with world(folders=(tmp_path,)) as w:
        assert "sun" in [manifest.domain for manifest in w.thinkers.registry.manifests]
    assert complaint in caplog.text


def test_a_manifest_is_checked_when_it_is_made() -> None:
    good: dict[str, Any] = {"domain": "moon", "label": "M", "description": "d", "example": "e", "prompt": "p"}
    for wrong in ({"domain": "The Moon"}, {"label": " "}, {"prompt": ""}, {"deadline_s": 0.0}):
        with pytest.raises(BadPlugin):
            Manifest(**{**good, **wrong})


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("fly", route(domain="weather", query="x"), "no tool"),
        *(("route_to_thinker", each, "do not fit") for each in ("{", '["weather"]', route(query="x"), route(domain=3))),
        ("route_to_thinker", route(domain="weather", query="  "), "query is missing"),
        ("route_to_thinker", route(domain="weather", query="x" * 2_001), "2,000"),
    ],
)
async def test_a_bad_call_is_answered_with_the_right_form(name: str, arguments: str, complaint: str) -> None:
    async with world() as w:
        with pytest.raises(BadRequest, match=complaint):
            w.thinkers.registry.parse(name, arguments)


@pytest.mark.document("001", "routing and Thinkers")
async def test_unknown_domains_go_to_knowledge() -> None:
    async with world(["Forty-two."]) as w:
        parsed = w.thinkers.registry.parse("route_to_thinker", route(domain="Sports", query=" x "))
        assert (parsed.manifest.domain, parsed.query, parsed.background) == ("knowledge", "x", False)
        assert (await w.ask("sports", "x")).text == "Forty-two."


async def test_a_deadline_is_kept_and_stops_the_work(tmp_path: Path) -> None:
    slow = OWN_CODE.replace('prompt="Roll.",', 'prompt="Roll.", deadline_s=0.05,')
    body = "answer = await run.ask('x', 'y'); return run.answer_from(answer)"
    (tmp_path / "dice.py").write_text(slow.format(body=body))
    model = ScriptedModel([30.0, "late"])
    async with world(model=model, folders=(tmp_path,)) as w:
        with pytest.raises(NoAnswer, match="took longer"):
            await w.ask("dice", "Roll.")
        assert model.open == 0


@pytest.mark.parametrize("trouble", [ModelUnavailable("gone"), RuntimeError("the user's secret")])
async def test_every_failure_is_a_no_answer_error_with_speakable_text(trouble: Exception) -> None:
    async with world([trouble]) as w:
        with pytest.raises(NoAnswer, match="Knowledge has") as caught:
            await w.ask("knowledge", "x")
        assert "secret" not in str(caught.value)


OWN_WEATHER = MOON_THINKER.replace('domain="moon"', 'domain="weather"').replace('tools=("moon_phase",),', "")


async def test_a_plugin_replaces_the_thinker_of_its_domain(tmp_path: Path) -> None:
    (tmp_path / "own_weather.py").write_text(OWN_WEATHER)
    async with world(["By the moon."], folders=(tmp_path,)) as w:
        assert (await w.ask("weather", "Is it cold?")).text == "By the moon."
        assert "You know the moon." in w.system()


async def test_a_tool_with_a_wrong_result_is_named_with_its_file_and_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "moon.py").write_text(MOON_THINKER)
    (tmp_path / "moon_phase.py").write_text(MOON_TOOL.replace('Result({"phase": "full", "day": day})', '{"day": day}'))
    async with world([call("moon_phase", '{"day": "2026-11-21"}')], ["No idea."], folders=(tmp_path,)) as w:
        assert (await w.ask("moon", "Is it full?")).source == "model"
    assert f"tool moon_phase must return a Result, not a dict: {tmp_path / 'moon_phase.py'}:8" in caplog.text

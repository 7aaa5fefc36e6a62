"""Two files in a folder add a Thinker and a tool, which answer a caller."""

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

from backend.app.extensions import installed
from backend.app.thinkers import build_thinkers
from backend.errors import SettingsError
from backend.settings.settings import load_settings
from backend.settings.unknown import unknown_settings
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.thinkers.base import Question
from backend.tools.base import Result, tool
from backend.tools.discovery import folder_modules
from tests.support.agents import toolbox
from tests.support.offline_peer import offline_peer
from tests.support.running_server import RunningServer, placed_call, running_server
from tests.support.waiting import until

THINKER = """
from backend.thinkers.base import Manifest
MANIFEST = Manifest(
    domain="moon", label="Moon", description="the phases of the moon", example="Is the moon full?",
    prompt="You know the moon.", tools=("moon_phase",),
)
"""
TOOL = """
from backend.tools.base import Result, tool
@tool("moon_phase", "The phase of the moon.", guidance="Mention cheese.")
async def moon_phase(day: str) -> Result:
    return Result({"phase": "full", "day": day})
"""
QUERY = "Is the moon full on Saturday?"
SCRIPT = {
    "turns": [
        {
            "hear": "",
            "reply": {
                "text": "Let me see.",
                "calls": [{"name": "route_to_thinker", "arguments": {"domain": "moon", "query": QUERY}}],
            },
            "after_results": ["It is full."],
        }
    ],
    "chat": [{"calls": [{"name": "moon_phase", "arguments": {"day": "Saturday"}}]}, {"text": "The moon is full."}],
}


def events_of(connection: dict[str, Any], type_: str) -> list[dict[str, Any]]:
    """Return the events of one type that the server sent over a Realtime connection."""
    return [entry["event"] for entry in connection["received"] if entry["type"] == type_]


async def contains(server: RunningServer, path: str, words: str) -> bool:
    """Return whether the server's answer contains the words."""
    async with httpx2.AsyncClient(base_url=server.url, trust_env=False) as http:
        return words in (await http.get(path)).text


@pytest.mark.document("002", "tools and their registry")
async def test_a_call_uses_the_latest_version_of_a_thinker_and_a_tool_in_a_folder(tmp_path: Path) -> None:
    thinker = tmp_path / "moon.py"
    thinker.write_text(THINKER.replace('"moon_phase",', "").replace("the phases of", "cheese on"))
    async with offline_peer(SCRIPT) as peer:
        with running_server(peer, PLUGIN_FOLDERS=str(tmp_path), RELOAD="true") as server:
            (tmp_path / "moon_phase.py").write_text(TOOL)
            await until(lambda: contains(server, "/api/tools", "moon_phase"), 30)
            thinker.write_text(THINKER)
            await until(lambda: contains(server, "/api/config", "the phases of the moon"), 30)
            thinker.write_text(THINKER + "broken = nowhere\n")
            fault = f"moon.py:{THINKER.count(chr(10)) + 1} cannot be loaded"
            await until(lambda: fault in (server.folder / "stderr.log").read_text(), 30)
            (tmp_path / "stars.py").write_text(TOOL.replace("moon", "stars"))
            await until(lambda: contains(server, "/api/tools", "stars_phase"), 30)
            async with placed_call(server, transport="ws") as call:
                config = (await call.http.get("/api/config")).json()
                headers = {"Authorization": f"Bearer {call.ticket.token}"}
                url = f"/api/sessions/{call.ticket.session_id}/messages"
                assert (await call.http.post(url, json={"text": QUERY}, headers=headers)).status_code == 202
                done = await call.event("thinker", event="complete")
                await until(lambda: any("full" in each["content"] for each in call.events_of("transcript_done")))
            (connection,) = await peer.connections()
    assert "moon" in server.printed
    shown = {"domain": "moon", "label": "Moon", "description": "the phases of the moon", "example": "Is the moon full?"}
    assert shown in config["thinkers"]
    assert (done.data["domain"], done.data["label"], done.data["source"]) == ("moon", "Moon", "live")
    session = events_of(connection, "session.update")[0]["session"]
    assert "moon" in session["tools"][0]["parameters"]["properties"]["domain"]["enum"]
    assert "the phases of the moon" in session["instructions"]
    outputs = [event["item"] for event in events_of(connection, "conversation.item.create")]
    (output,) = [json.loads(item["output"]) for item in outputs if item["type"] == "function_call_output"]
    assert output == {"domain": "moon", "answer": "The moon is full.", "source": "live"}


def test_a_missing_plugin_folder_is_named_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"PLUGIN_FOLDERS.*nowhere"):
        load_settings(_env_file=None, plugin_folders=f"{tmp_path}, {tmp_path}/nowhere")
    settings = load_settings(_env_file=None, plugin_folders=f"{tmp_path},{tmp_path}")
    assert settings.agent.plugin_folders == [tmp_path, tmp_path]


WITH_SETTINGS = """
from pydantic import Field, SecretStr
from backend.settings.plugin import PluginSettings, plugin_settings
from backend.thinkers.base import Answer, Manifest
from backend.tools.base import Result, tool

class MoonSettings(PluginSettings, env_prefix="MOON__"):
    api_key: SecretStr = Field(SecretStr(""), description="A key of the moon's service.")
    crater_km: int = Field(5, gt=0, description="Least width of a crater that is named, in kilometres.")

MANIFEST = Manifest(domain="moon", label="Moon", description="d", example="e", prompt="p", tools=("craters",))

async def think(run):
    return Answer(f"From {plugin_settings(MoonSettings).crater_km} km.", "model")

@tool("craters", "The craters of the moon.")
async def craters(settings: MoonSettings) -> Result:
    return Result({"from_km": settings.crater_km, "with_key": bool(settings.api_key.get_secret_value())})
"""


@pytest.fixture
def moon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with the plugin beside a place for `.env`."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "moon.py").write_text(WITH_SETTINGS)
    return folder


async def test_a_plugin_has_settings_of_its_own(moon: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (moon.parent / ".env").write_text("MOON__API_KEY=very-secret\n")
    monkeypatch.setenv("MOON__CRATER_KM", "12")
    dispatcher = build_thinkers(
        load_settings(plugin_folders=str(moon)),
        model=ScriptedModel(),
        memory=FakeMemory(),
        http=httpx2.AsyncClient(),
    )
    result = await dispatcher.registry.dependencies.toolbox.call_tool("craters", {})
    assert json.loads(result.content) == {"from_km": 12, "with_key": True}
    answer = await dispatcher.answer(Question("moon", "Which craters?", "s1", ""), lambda _: None)
    assert answer.text == "From 12 km."


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("", "MOON__CRATER_KM=none", r"MOON__CRATER_KM: .*integer.*moon\.py"),
        ('env_prefix="MOON__"', 'env_prefix="VAD__"', r"moon\.py: MoonSettings needs a prefix of its own, not VAD__"),
        (', env_prefix="MOON__"', "", r"needs a prefix of its own, not none"),
    ],
)
def test_a_wrong_setting_or_prefix_is_refused_with_the_file(moon: Path, before: str, after: str, message: str) -> None:
    if before:
        (moon / "moon.py").write_text(WITH_SETTINGS.replace(before, after))
    else:
        (moon.parent / ".env").write_text(after)
    [fault] = installed([moon]).faults
    assert re.search(message, str(fault))


def test_only_declared_settings_with_the_prefix_of_a_plugin_are_settings(moon: Path) -> None:
    plugins = installed([moon])
    found = {"MOON__CRATER_KM": "7", "MOON__CRATR_KM": "7"}
    assert unknown_settings(found, Path("nowhere"), plugins.plugin_settings) == [
        "MOON__CRATR_KM is not a setting. Did you mean MOON__CRATER_KM?"
    ]


def test_a_file_that_is_saved_twice_in_a_second_is_loaded_again(tmp_path: Path) -> None:
    file = tmp_path / "words.py"
    for words in ("first", "other"):
        file.write_text(f'WORDS = "{words}"')
        os.utime(file, (1, 1))  # the same time and the same size
        [module] = folder_modules(tmp_path)
        assert words == module.WORDS


async def test_a_running_tool_call_keeps_its_version_of_the_tool() -> None:
    may_end = asyncio.Event()

    @tool("waits", "Waits.")
    async def older() -> Result:
        await may_end.wait()
        return Result({"version": "old"})

    @tool("waits", "Waits no more.")
    async def newer() -> Result:
        may_end.set()
        return Result({"version": "new"})

    box = toolbox(older)
    under_way = asyncio.create_task(box.call_tool("waits", {}))
    await asyncio.sleep(0)
    box.take_over(toolbox(newer))
    results = [await box.call_tool("waits", {}), await under_way]
    assert [json.loads(each.content)["version"] for each in results] == ["new", "old"]

"""A new Thinker and a new tool: two files in a folder, no other file touched, and a caller is answered by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backend.errors import SettingsError
from backend.settings.settings import load_settings
from tests.support.offline_peer import offline_peer
from tests.support.running_server import placed_call, running_server
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
    """What the server sent over a Realtime connection, of one type."""
    return [entry["event"] for entry in connection["received"] if entry["type"] == type_]


async def test_two_files_in_a_folder_answer_a_call(tmp_path: Path) -> None:
    (tmp_path / "moon.py").write_text(THINKER)
    (tmp_path / "moon_phase.py").write_text(TOOL)
    async with offline_peer(SCRIPT) as peer:
        with running_server(peer, PLUGIN_FOLDERS=str(tmp_path)) as server:
            async with placed_call(server, transport="ws") as call:
                config = (await call.http.get("/api/config")).json()
                headers = {"Authorization": f"Bearer {call.ticket.token}"}
                url = f"/api/sessions/{call.ticket.session_id}/messages"
                assert (await call.http.post(url, json={"text": QUERY}, headers=headers)).status_code == 202
                done = await call.told("thinker", event="complete")
                await until(lambda: any("full" in each["content"] for each in call.all_told("transcript_done")))
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


def test_a_plugin_folder_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"PLUGIN_FOLDERS.*nowhere"):
        load_settings(_env_file=None, plugin_folders=f"{tmp_path}, {tmp_path}/nowhere")
    settings = load_settings(_env_file=None, plugin_folders=f"{tmp_path},{tmp_path}")
    assert settings.plugin_folders == [tmp_path, tmp_path]

"""MCP servers that the provider calls by itself, through the whole server to a strict peer of the Realtime API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.call import provider_calls
from backend.call.provider_calls import LATE, LOST, ProviderCalls
from backend.errors import SetupError
from backend.responders.mcp_items import read_servers
from backend.tools.confirmations import HEARD_AFTER_S
from backend.turns import events as ev
from backend.turns.commands import AnswerApproval, RunThinker
from tests.support.offline_peer import OfflinePeer, running_peer
from tests.support.running_server import PlacedCall, RunningServer, placed_call, running_server
from tests.support.waiting import until

FILES = {
    "server_label": "files",
    "server_url": "https://files.example.org/mcp",
    "authorization": "top-secret",
    "allowed_tools": {"tool_names": ["find", "delete"]},
    "require_approval": {"never": {"tool_names": ["find"]}},
}
FIND = {"server": "files", "name": "find", "arguments": {"name": "old"}, "output": "old.txt", "lasts_ms": 200}
DELETE = {"server": "files", "name": "delete", "arguments": {"name": "old.txt"}}


@pytest.fixture(scope="module")
def peer() -> Iterator[OfflinePeer]:
    with running_peer("--strict", "openai") as running:
        yield running


@pytest.fixture(scope="module")
def running(peer: OfflinePeer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    file = tmp_path_factory.mktemp("settings") / "mcp.json"
    file.write_text(json.dumps([FILES]))
    with running_server(peer, REALTIME_MCP_FILE=str(file)) as running:
        yield running


async def typed(call: PlacedCall, text: str) -> None:
    path = f"/api/sessions/{call.ticket.session_id}/messages"
    assert (await call.http.post(path, json={"text": text})).status_code == 202


async def said(call: PlacedCall, text: str) -> None:
    await call.told("transcript", within_s=15.0, role="assistant", content=text)


async def items(peer: OfflinePeer, kind: str) -> list[dict[str, Any]]:
    """The items of a type that the newest connection was sent."""
    received = [entry["event"] for entry in (await peer.connections())[-1]["received"]]
    return [event["item"] for event in received if event.get("item", {}).get("type") == kind]


async def test_the_servers_are_named_to_the_provider_and_not_to_the_page(
    peer: OfflinePeer, running: RunningServer
) -> None:
    await peer.follow({"turns": [{"reply": "Hello."}]})
    async with placed_call(running, transport="ws") as call:
        await typed(call, "Hello.")
        await said(call, "Hello.")
        session = (await peer.connections())[-1]["received"][0]["event"]["session"]
        assert session["tools"][-1] == {"type": "mcp", **FILES}
        assert "top-secret" not in json.dumps([event.data for event in call.events])


async def test_the_result_of_a_call_is_spoken_and_nothing_is_submitted(
    peer: OfflinePeer, running: RunningServer
) -> None:
    reply = {"text": "Let me look.", "server_calls": [FIND]}
    await peer.follow({"turns": [{"reply": reply, "after_results": ["There is one file."]}]})
    async with placed_call(running, transport="ws") as call:
        await typed(call, "Which files are old?")
        await said(call, "There is one file.")
    assert not await items(peer, "function_call_output") and not await items(peer, "mcp_approval_response")


async def test_a_call_that_needs_it_is_made_after_the_callers_yes(peer: OfflinePeer, running: RunningServer) -> None:
    asks, deletes = {"server_calls": [DELETE | {"asks": True}]}, {"server_calls": [DELETE | {"output": "gone"}]}
    turns = [
        {"reply": asks, "after_results": ["Shall I delete old.txt?"]},
        {"reply": asks, "after_results": [deletes, "It is deleted."]},
    ]
    await peer.follow({"turns": turns, "purposes": {"filler": "One moment."}})
    async with placed_call(running, transport="ws") as call:
        await typed(call, "Delete the old file.")
        asked = await call.told("confirmation.asked", tool="files.delete", arguments={"name": "old.txt"})
        await said(call, "Shall I delete old.txt?")
        [refused] = await items(peer, "mcp_approval_response")
        assert refused["approve"] is False and "ask whether to go ahead" in refused["reason"]
        await asyncio.sleep(HEARD_AFTER_S)
        await typed(call, "Yes.")
        await call.told("confirmation.answered", id=asked.data["id"], agreed=True)
        await said(call, "It is deleted.")
        assert [item["approve"] for item in await items(peer, "mcp_approval_response")] == [False, True]


async def test_a_call_is_over_once_however_early_its_end_comes_and_late_where_none_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def agree(tool: str, arguments: dict[str, Any]) -> str:
        return ""

    told: list[ev.Event] = []
    answers: list[AnswerApproval] = []
    calls = ProviderCalls(told.append, answers.append, agree, lambda: 1)
    calls.on_event(ev.ProviderToolEnded("early"))
    calls.run(RunThinker("early", "mcp:call:files.find", "{}"))
    calls.run(RunThinker("soon", "mcp:call:files.find", "{}"))
    calls.on_event(ev.ProviderToolEnded("soon", error="The disk is away."))
    calls.on_event(ev.ProviderToolEnded("soon", error="The disk is away."))
    assert told == [ev.ThinkerFinished("early", "{}"), ev.ThinkerFailed("soon", "The disk is away.")]
    assert calls.untrusted()
    monkeypatch.setattr(provider_calls, "BEGINS_WITHIN_S", 0.02)
    monkeypatch.setattr(provider_calls, "ENDS_WITHIN_S", 0.02)
    calls.run(RunThinker("never", "mcp:call:files.find", "{}"))
    calls.run(RunThinker("asked", "mcp:ask:files.delete", "not JSON"))
    await until(lambda: len(told) == 4)
    assert set(told[2:]) == {ev.ThinkerFailed("never", LATE), ev.ThinkerFinished("asked", "{}")}
    assert answers == [AnswerApproval("asked", approve=True)]
    monkeypatch.setattr(provider_calls, "ENDS_WITHIN_S", 60)
    calls.run(RunThinker("broken", "mcp:call:files.find", "{}"))
    calls.on_lost()
    assert told[-1] == ev.ThinkerFailed("broken", LOST)
    await calls.close()


def test_a_file_that_is_wrong_is_named_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    wrong = {
        "{": "JSON list",
        '[{"server_label": "a", "url": "x"}]': "JSON list",
        '[{"server_label": "a"}]': "server_url or a connector_id",
        '[{"server_label": "a", "server_url": "x"}, {"server_label": "a", "server_url": "y"}]': "label of its own",
    }
    for text, hint in wrong.items():
        file.write_text(text)
        with pytest.raises(SetupError) as refusal:
            read_servers(str(file))
        assert hint in refusal.value.hint
    with pytest.raises(SetupError):
        read_servers(str(tmp_path / "nowhere.json"))
    file.write_text('[{"server_label": "a", "connector_id": "connector_gmail", "authorization": "t"}]')
    [server] = read_servers(str(file))
    assert server.as_tool()["require_approval"] == "always" and "authorization" not in repr(server)

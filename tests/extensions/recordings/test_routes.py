"""Recordings belong to their owner, are sent in ranges, and go with the call, the conversation and the user."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from backend.extensions.recordings.store import RecordingStore
from tests.extensions.recordings.recorded import files_in, recorded, store_in
from tests.http.test_identity import user_of
from tests.http.world import World, message_of, place_call, world


@asynccontextmanager
async def recording_world(folder: Path, **more: Any) -> AsyncIterator[tuple[World, RecordingStore]]:
    """A server that records, unless `records` is false, over a store in `folder`."""
    store = store_in(folder / "recordings")
    services: dict[str, Any] = {"opened": {RecordingStore: store}, "user_data": {"recordings": store}}
    services["records"] = more.pop("records", True)
    try:
        async with world(folder, services_with=services, **more) as here:
            yield here, store
    finally:
        await store.writer.close()


async def own_recording(here: World, store: RecordingStore, browser: httpx2.AsyncClient) -> str:
    """Make a recording of this browser's, in the conversation of a call of theirs; returns its id."""
    placed = await place_call(browser)
    owner = user_of(here, placed["session_id"])
    return await recorded(store, owner, placed["conversation_id"])


async def test_an_owner_lists_reads_hears_downloads_and_deletes_a_recording(tmp_path: Path) -> None:
    async with recording_world(tmp_path) as (here, store), here.browser() as browser:
        recording_id = await own_recording(here, store, browser)
        listed = (await browser.get("/api/recordings")).json()
        assert listed["offered"] and [each["id"] for each in listed["recordings"]] == [recording_id]
        assert listed["recordings"][0]["duration_ms"] >= 600 and listed["recordings"][0]["state"] == "call_ended"
        shown = (await browser.get(f"/api/recordings/{recording_id}")).json()
        assert shown["utterances"][0]["words"] == [["good", 0, 150], ["morning", 150, 300]]
        audio = await browser.get(f"/api/recordings/{recording_id}/audio")
        assert audio.content.startswith(b"OggS") and audio.headers["content-type"] == "audio/ogg"
        assert audio.headers["cache-control"] == "no-store" and "content-disposition" not in audio.headers
        part = await browser.get(f"/api/recordings/{recording_id}/audio", headers={"range": "bytes=4-9"})
        assert part.status_code == 206 and part.content == audio.content[4:10]
        wav = await browser.get(f"/api/recordings/{recording_id}/audio?format=wav")
        assert wav.content.startswith(b"RIFF") and len(wav.content) >= 44 + 600 * 24 * 4
        assert 'attachment; filename="call-' in wav.headers["content-disposition"]
        assert (await browser.delete(f"/api/recordings/{recording_id}")).json() == {"ok": True}
        assert (await browser.get("/api/recordings")).json()["recordings"] == []
        assert (await browser.delete(f"/api/recordings/{recording_id}")).status_code == 404


async def test_a_stranger_gets_the_same_404_as_for_an_unknown_recording_on_every_route(tmp_path: Path) -> None:
    async with recording_world(tmp_path) as (here, store), here.browser() as owner, here.browser() as stranger:
        await place_call(stranger)
        recording_id = await own_recording(here, store, owner)
        assert (await stranger.get("/api/recordings")).json()["recordings"] == []
        for method, route in (("GET", ""), ("GET", "/audio"), ("DELETE", "")):
            foreign = await stranger.request(method, f"/api/recordings/{recording_id}{route}")
            unknown = await stranger.request(method, f"/api/recordings/{'A' * 16}{route}")
            odd = await stranger.request(method, f"/api/recordings/..%2F..%2Fsecret{route}")
            assert (method, route, foreign.status_code) == (method, route, 404)
            assert foreign.content == unknown.content and odd.status_code == 404
        assert len((await owner.get("/api/recordings")).json()["recordings"]) == 1


async def test_consent_is_given_by_the_owner_of_a_live_call_where_calls_are_recorded(tmp_path: Path) -> None:
    async with recording_world(tmp_path) as (here, _), here.browser() as browser:
        placed = await place_call(browser)
        route = f"/api/sessions/{placed['session_id']}/recording"
        assert (await browser.post(route, json={"on": True})).json() == {"on": True, "recording_id": "r" * 16}
        assert (await browser.post(route, json={"on": False})).json() == {"on": False}
        assert here.calls[placed["session_id"]].recorded == [True, False]
        for unclear in ({}, {"on": "yes"}, {"on": None}):
            assert (await browser.post(route, json=unclear)).status_code == 422
        async with here.browser(headers={"authorization": f"Bearer {placed['token']}"}) as shared:
            assert (await shared.post(route, json={"on": True})).status_code == 403
    async with recording_world(tmp_path, records=False) as (here, _), here.browser() as browser:
        route = f"/api/sessions/{(await place_call(browser))['session_id']}/recording"
        refused = await browser.post(route, json={"on": True})
        assert refused.status_code == 422 and message_of(refused) == "Calls are not recorded on this server."
        assert (await browser.get("/api/recordings")).json() == {"offered": False, "recordings": []}


async def test_a_call_may_start_with_consent_and_is_refused_on_a_server_without_recordings(tmp_path: Path) -> None:
    async with recording_world(tmp_path) as (here, _), here.browser() as browser:
        agreed, other = await place_call(browser, record=True), await place_call(browser)
        assert here.registry.find(agreed["session_id"]).record
        assert not here.registry.find(other["session_id"]).record
    async with world(tmp_path) as here, here.browser() as browser:
        for route, body in (("/api/rtc/offer", {"sdp": "v=0\r\n"}), ("/api/sessions", {})):
            refused = await browser.post(route, json=body | {"record": True})
            assert refused.status_code == 422 and message_of(refused) == "Calls are not recorded on this server."
        assert here.registry.live == 0


@pytest.mark.parametrize("route", ["/api/sessions/{session}", "/api/conversations/{conversation}", "/api/me"])
async def test_recordings_go_with_their_call_their_conversation_and_their_user(tmp_path: Path, route: str) -> None:
    async with recording_world(tmp_path) as (here, store), here.browser() as browser, here.browser() as other:
        placed = await place_call(browser)
        owner = user_of(here, placed["session_id"])
        await recorded(store, owner, placed["conversation_id"])
        await own_recording(here, store, other)
        exported = (await browser.get("/api/me/export")).json()["recordings"]
        assert [each["text"] for each in exported[0]["utterances"]] == ["good morning"]
        path = route.format(session=placed["session_id"], conversation=placed["conversation_id"])
        assert (await browser.delete(path)).json()["ok"]
        assert await store.all_of(owner) == []
        assert len(files_in(tmp_path / "recordings")) == 2  # the other's

"""The STUN and TURN servers that callers get over HTTP."""

import time
from pathlib import Path

import pytest
from aiortc import RTCIceServer

from backend.errors import SettingsError
from backend.settings.settings import load_settings
from backend.transports.webrtc.ice_servers import IceServers
from tests.http.world import settings_with, world
from tests.support.running_server import a_browser, running_server

SECRET = "a secret of at least 16 characters"
ICE_SERVERS = """[{"urls": "stun:stun.example:3478"}, {"urls": "turn:turn.example:3478"},
  {"urls": "turn:static.example:3478", "username": "u", "credential": "very-secret"}]"""


async def test_each_caller_gets_turn_credentials_that_expire_and_no_static_password() -> None:
    with running_server(ICE_SERVERS=ICE_SERVERS, TURN_SECRET=SECRET, TURN_TTL_MINUTES="5") as server:
        names = set()
        for _ in range(2):
            async with a_browser(server) as browser:
                config = await browser.get("/api/config")
                assert config.json()["ice_servers"] == [{"urls": ["stun:stun.example:3478"]}]
                assert config.json()["turn"] is True
                answer = await browser.post("/api/rtc/ice-servers")
                assert answer.headers["cache-control"] == "no-store"
                assert 200 < answer.json()["expires_at"] - time.time() <= 300
                stun, turn = answer.json()["ice_servers"]
                assert stun == {"urls": ["stun:stun.example:3478"]}
                assert turn["urls"] == ["turn:turn.example:3478"]
                names.add(turn["username"].partition(":")[2])
                assert not {"very-secret", SECRET} & {*config.text.split('"'), *answer.text.split('"')}
        assert len(names) == 2


async def test_without_a_secret_callers_get_no_turn_server(tmp_path: Path) -> None:
    only_static = IceServers([RTCIceServer("turn:turn.example", username="u", credential="very-secret")])
    async with world(tmp_path, services_with={"ice_servers": only_static}) as here, here.browser() as browser:
        assert (await browser.post("/api/rtc/ice-servers")).json()["ice_servers"] == []
        assert (await browser.get("/api/config")).json()["turn"] is False


async def test_a_caller_over_the_limit_of_offers_gets_no_credentials(tmp_path: Path) -> None:
    async with world(tmp_path, offers_per_minute=1) as here, here.browser() as browser:
        assert (await browser.post("/api/rtc/offer", json={"sdp": "v=0"})).status_code == 200
        assert (await browser.post("/api/rtc/ice-servers")).status_code == 429


def test_a_short_secret_is_refused_without_repeating_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURN_SECRET", "hunter2")
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert "hunter2" not in str(refused.value)
    assert SECRET not in repr(settings_with(turn_secret=SECRET))

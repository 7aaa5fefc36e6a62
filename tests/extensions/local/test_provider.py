"""The local Responder as a server's provider: what it answers, how many calls it takes, and what still loads."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

from backend.errors import MissingLibrary
from backend.extensions.local.provider import is_installed, open_local
from backend.settings.settings import load_settings
from tests.app.test_endpoints import PROVIDER, endpoints, models_of
from tests.support.offline_peer import offline_peer
from tests.support.running_server import RunningServer, running_server


async def test_without_a_key_the_local_responder_does_both() -> None:
    async with offline_peer({"turns": []}) as peer:
        chosen = await endpoints(offline_url=peer.url)
        assert [*models_of(chosen)] == ["local"] and chosen.models.base_url == peer.base_url


async def test_without_its_packages_it_is_not_begun_and_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_installed()
    installed = tmp_path / "responder_thinker-1.dist-info"
    installed.mkdir()
    extra = ["no-such-voice>=1; extra == 'local'", "rare; sys_platform == 'aix' and extra == 'local'", "other>=1"]
    needs = "".join(f"Requires-Dist: {each}\n" for each in extra)
    (installed / "METADATA").write_text(f"Metadata-Version: 2.4\nName: responder-thinker\nVersion: 1\n{needs}")
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_installed()
    with pytest.raises(MissingLibrary, match="needs no-such-voice, not") as caught:
        await open_local(load_settings(_env_file=None, offline_url=None), AsyncExitStack())
    assert "responder-thinker[local]" in caught.value.hint


async def test_the_local_responder_can_converse_while_the_provider_answers_the_thinkers() -> None:
    async with offline_peer({"turns": []}, "--require-key", "local") as peer:
        chosen = await endpoints(offline_url=peer.url, openai_api_key="sk-1", responders="local")
        assert [*models_of(chosen)] == ["local"] and chosen.models.base_url == PROVIDER
        assert chosen.models.api_key == "sk-1" and "sk-1" not in repr(chosen)
        assert await chosen.providers.readiness() == "ok", "the key goes to the provider only"


async def test_thinkers_ask_the_local_model_itself_and_no_other() -> None:
    async with offline_peer({"turns": []}) as peer:
        chosen = await endpoints(offline_url=peer.url, local_model_url="http://127.0.0.1:9/", local_model="llama3.2")
        assert (chosen.models.base_url, chosen.models.model) == ("http://127.0.0.1:9/v1", "llama3.2")
        assert chosen.without_model == frozenset()


async def test_a_call_over_the_limit_is_answered_503_with_a_hint() -> None:
    with running_server(LOCAL_CALLS="1") as server:
        async with httpx2.AsyncClient(base_url=server.url, trust_env=False) as http:
            first = await http.post("/api/sessions", json={})
            assert first.status_code == 200, first.text
            second = await http.post("/api/sessions", json={})
            assert second.status_code == 503 and "LOCAL_CALLS" in second.json()["error"]["hint"]
            assert second.headers["Retry-After"]
            responder = (await http.get("/api/config")).json()["responder"]
            assert responder["name"] == "local Responder" and responder["model"].count(",") == 2


def test_it_starts_from_any_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "backend.extensions.local", "--help"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=30, check=False).returncode == 0


@pytest.mark.slow
def test_the_server_serves_while_speech_loads_and_the_terminal_says_when_that_is_over() -> None:
    with running_server(OFFLINE_URL="") as server:
        assert "Warm-up    loading speech recognition" in server.printed
        ready = httpx2.get(f"{server.url}/readyz", trust_env=False)
        assert ready.status_code == 200
        printed = _printed_until(server, "done after", within_s=90)
        assert "Warm-up    done after" in printed
        assert "loading" not in httpx2.get(f"{server.url}/readyz", trust_env=False).json()
        assert httpx2.get(f"{server.url}/api/config", trust_env=False).json()["loading"] == []


def _printed_until(server: RunningServer, words: str, within_s: float) -> str:
    assert server.process.stdout
    printed, deadline = "", time.monotonic() + within_s
    while words not in printed:
        ready, _, _ = select.select([server.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(server.process.stdout.fileno(), 4096).decode() if ready else ""
        assert piece, f"not printed within {within_s:g} s: {printed!r}"
        printed += piece
    return printed

"""Who converses and who answers the Thinkers, for each way of setting it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import httpx2

from backend.app.endpoints import Endpoints, open_endpoints
from backend.settings.settings import Settings
from tests.support.offline_peer import offline_peer
from tests.support.running_server import running_server

PROVIDER = "http://127.0.0.1:9/v1"
"""Nobody listens there; nobody is asked."""


async def endpoints(**settings: Any) -> Endpoints:
    async with AsyncExitStack() as stack:
        return await open_endpoints(Settings.model_validate({"openai_base_url": PROVIDER, **settings}), stack)


async def test_with_a_key_the_provider_does_both() -> None:
    chosen = await endpoints(openai_api_key="sk-1")
    assert chosen.responder == chosen.models and chosen.models.base_url == PROVIDER
    assert chosen.responder.realtime_url == "ws://127.0.0.1:9/v1/realtime"
    assert (chosen.about, chosen.most_calls) == ("gpt-realtime-1.5", 0)


async def test_without_a_key_the_local_responder_does_both() -> None:
    async with offline_peer({"turns": []}) as peer:
        chosen = await endpoints(offline_url=peer.url)
        assert chosen.responder == chosen.models and chosen.models.base_url == peer.base_url


async def test_the_local_responder_can_converse_while_the_provider_answers_the_thinkers() -> None:
    async with offline_peer({"turns": []}) as peer:
        chosen = await endpoints(offline_url=peer.url, openai_api_key="sk-1", responder="local")
        assert (chosen.responder.base_url, chosen.models.base_url) == (peer.base_url, PROVIDER)
        assert chosen.models.api_key == "sk-1" and "sk-1" not in repr(chosen)
        assert chosen.responder.api_key != "sk-1", "the key goes to the provider alone"


async def test_a_call_more_than_the_local_responder_serves_is_answered_503_with_a_hint() -> None:
    with running_server(LOCAL_CALLS="1") as server:
        async with httpx2.AsyncClient(base_url=server.url, trust_env=False) as http:
            first = await http.post("/api/sessions", json={})
            assert first.status_code == 200, first.text
            second = await http.post("/api/sessions", json={})
            assert second.status_code == 503 and "LOCAL_CALLS" in second.json()["error"]["hint"]
            assert second.headers["Retry-After"]
            responder = (await http.get("/api/config")).json()["responder"]
            assert responder["name"] == "local Responder" and responder["model"].count(",") == 2

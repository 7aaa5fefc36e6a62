"""Who converses and who answers the Thinkers, for each way of setting it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from backend.app.endpoints import Endpoints, open_endpoints
from backend.app.extensions import Installed, installed
from backend.app.no_provider import HINT as NO_PROVIDER_HINT
from backend.app.no_provider import MESSAGE as NO_PROVIDER
from backend.errors import SetupError
from backend.settings.settings import load_settings
from tests.support.offline_peer import offline_peer
from tests.support.running_server import running_server

PROVIDER = "http://127.0.0.1:9/v1"
"""Nobody listens there; nobody is asked."""


async def endpoints(**settings: Any) -> Endpoints:
    async with AsyncExitStack() as stack:
        return await open_endpoints(load_settings(**{"openai_base_url": PROVIDER, **settings}), stack, installed())


def models_of(chosen: Endpoints) -> dict[str, str]:
    """The model of each provider, by its name, in order."""
    return {each.provider.name: each.provider.about.model for each in chosen.providers.monitored}


async def test_with_a_key_the_provider_does_both() -> None:
    chosen = await endpoints(openai_api_key="sk-1")
    assert models_of(chosen) == {"openai": "gpt-realtime-2"}
    assert (chosen.models.base_url, chosen.most_calls) == (PROVIDER, 0)


async def test_without_a_key_the_local_responder_does_both() -> None:
    async with offline_peer({"turns": []}) as peer:
        chosen = await endpoints(offline={"url": peer.url})
        assert [*models_of(chosen)] == ["local"] and chosen.models.base_url == peer.base_url


async def test_the_local_responder_can_converse_while_the_provider_answers_the_thinkers() -> None:
    async with offline_peer({"turns": []}, "--require-key", "local") as peer:
        chosen = await endpoints(offline={"url": peer.url}, openai_api_key="sk-1", responder="local")
        assert [*models_of(chosen)] == ["local"] and chosen.models.base_url == PROVIDER
        assert chosen.models.api_key == "sk-1" and "sk-1" not in repr(chosen)
        assert await chosen.providers.readiness() == "ok", "the key goes to the provider alone"


async def test_who_may_find_the_turns_is_what_all_providers_have_in_common() -> None:
    keys = {"xai": {"api_key": "k"}, "qwen": {"api_key": "k"}, "gemini": {"api_key": "k"}, "openai_api_key": "k"}
    for names, found in (
        ("openai", {"local", "provider"}),
        ("openai,qwen", {"local"}),
        ("xai,openai", {"provider"}),
        ("xai,qwen,gemini", set()),
    ):
        providers = (await endpoints(responders=names, **keys)).providers
        assert providers.endpointers == found
    assert providers.without("provider") == ["qwen", "gemini"]


def test_a_server_is_refused_where_nobody_would_find_the_turns() -> None:
    keys = {"XAI__API_KEY": "k", "QWEN__API_KEY": "k", "OPENAI_API_KEY": "k", "VAD__ENABLED": "false"}
    refused = pytest.raises(AssertionError, match="nobody finds the turns of calls with qwen")
    with refused, running_server(None, RESPONDERS="xai,qwen", **keys):
        pass


async def test_several_providers_are_kept_in_their_order_with_the_local_one_as_a_last_resort() -> None:
    azure = {"endpoint": "https://one.openai.azure.com/", "deployment": "ours", "api_key": "az-1"}
    async with offline_peer({"turns": []}) as peer:
        chosen = await endpoints(
            offline={"url": peer.url}, openai_api_key="sk-1", responders="openai,azure,local", azure_openai=azure
        )
        assert [*models_of(chosen)] == ["openai", "azure", "local"] and models_of(chosen)["azure"] == "ours"
        assert chosen.models.base_url == PROVIDER and chosen.most_calls == 0
        assert "az-1" not in repr(chosen)
        assert await chosen.providers.readiness() == "ok", "the last resort is there"
        states = chosen.providers.states()
        assert states["local"] == "ok" and "OPENAI_API_KEY" in states["openai"]


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"responders": "openai,nobody", "openai_api_key": "k"}, "azure, gemini, gpt_live, local, openai, qwen, self_"),
        ({"responders": "gemini"}, "GEMINI__API_KEY"),
        ({"responders": "gpt_live"}, "OPENAI_API_KEY"),
        ({"responders": "azure"}, "AZURE_OPENAI__ENDPOINT"),
        ({"responders": "xai", "openai_api_key": "k"}, "XAI__API_KEY"),
        ({"responders": "qwen", "openai_api_key": "k"}, "QWEN__API_KEY"),
        (
            {
                "responders": "azure",
                "azure_openai": {"endpoint": "https://a.example", "deployment": "d", "token_file": "/t"},
            },
            "OPENAI_API_KEY",
        ),
    ],
)
async def test_a_provider_that_cannot_serve_is_refused_when_the_server_starts(
    settings: dict[str, Any], hint: str
) -> None:
    with pytest.raises(SetupError) as refused:
        await endpoints(**settings)
    assert hint in refused.value.hint


class AzurePeer:
    """A WebSocket server that lets in as Azure OpenAI documents it, and refuses anything else."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def admit(self, _connection: ServerConnection, request: Request) -> Response | None:
        address = urlsplit(request.path)
        if address.path != "/openai/v1/realtime" or parse_qs(address.query) != {"model": ["ours"]}:
            return Response(404, "Not Found", Headers())
        key, bearer = request.headers.get("api-key"), request.headers.get("Authorization")
        if (key, bearer) not in (("right", None), (None, "Bearer entra")):
            return Response(401, "Unauthorized", Headers())
        self.keys.append(key or bearer or "")
        return None

    async def serve(self, connection: ServerConnection) -> None:
        await connection.send('{"type": "session.created", "session": {}}')
        await connection.wait_closed()


async def test_azure_is_addressed_and_authorised_as_its_documentation_says(tmp_path: Path) -> None:
    peer, token = AzurePeer(), tmp_path / "token"
    token.write_text("entra\n")
    async with serve(peer.serve, "127.0.0.1", 0, process_request=peer.admit) as server:
        base = f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        for azure in (
            {"endpoint": base, "api_key": "right"},
            {"endpoint": f"{base}/openai/v1/", "api_key": "right"},
            {"endpoint": base, "token_file": token},
        ):
            chosen = await endpoints(
                responders="azure", openai_api_key="k", azure_openai=azure | {"deployment": "ours"}
            )
            assert await chosen.providers.readiness() == "ok"
        assert peer.keys == ["right", "right", "Bearer entra"]
        for wrong in ({"deployment": "ours", "api_key": "wrong"}, {"deployment": "theirs", "api_key": "right"}):
            chosen = await endpoints(responders="azure", openai_api_key="k", azure_openai={"endpoint": base} | wrong)
            assert "AZURE_OPENAI__" in await chosen.providers.readiness()


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


async def test_where_nothing_converses_the_server_starts_and_each_call_says_what_to_set() -> None:
    async with AsyncExitStack() as stack:
        chosen = await open_endpoints(load_settings(), stack, Installed())
        assert "OPENAI_API_KEY" in NO_PROVIDER_HINT
        assert NO_PROVIDER in await chosen.providers.readiness()

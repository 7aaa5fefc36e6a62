"""Azure OpenAI among the providers: its address, its key, and the errors for missing settings."""

from urllib.parse import parse_qs, urlsplit

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from backend.errors import SetupError
from tests.app.test_endpoints import PROVIDER, endpoints, models_of


async def test_several_providers_are_kept_in_their_order() -> None:
    azure = {"endpoint": "https://one.openai.azure.com/", "deployment": "ours", "api_key": "az-1"}
    chosen = await endpoints(openai_api_key="sk-1", responders="azure,openai", azure_openai=azure)
    assert [*models_of(chosen)] == ["azure", "openai"] and models_of(chosen)["azure"] == "ours"
    assert chosen.models.base_url == PROVIDER and "az-1" not in repr(chosen)


@pytest.mark.parametrize(
    ("azure", "lacks"),
    [
        ({}, "AZURE_OPENAI__ENDPOINT"),
        ({"endpoint": "https://a.example", "deployment": "d", "managed_identity": "true"}, "OPENAI_API_KEY"),
    ],
)
async def test_a_missing_setting_stops_the_server_at_its_start(azure: dict[str, str], lacks: str) -> None:
    with pytest.raises(SetupError) as refused:
        await endpoints(responders="azure", **({"azure_openai": azure} if azure else {}))
    assert lacks in refused.value.hint


class AzurePeer:
    """A WebSocket server that authenticates as Azure OpenAI documents it."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def admit(self, _connection: ServerConnection, request: Request) -> Response | None:
        address = urlsplit(request.path)
        if address.path != "/openai/v1/realtime" or parse_qs(address.query) != {"model": ["ours"]}:
            return Response(404, "Not Found", Headers())
        if (key := request.headers.get("api-key")) != "right" or "Authorization" in request.headers:
            return Response(401, "Unauthorized", Headers())
        self.keys.append(key)
        return None

    async def serve(self, connection: ServerConnection) -> None:
        await connection.send('{"type": "session.created", "session": {}}')
        await connection.wait_closed()


async def test_azure_is_addressed_and_authorised_as_its_documentation_says() -> None:
    peer = AzurePeer()
    async with serve(peer.serve, "127.0.0.1", 0, process_request=peer.admit) as server:
        base = f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        for azure in (
            {"endpoint": base, "api_key": "right"},
            {"endpoint": f"{base}/openai/v1/", "api_key": "right"},
        ):
            chosen = await endpoints(
                responders="azure", openai_api_key="k", azure_openai=azure | {"deployment": "ours"}
            )
            assert await chosen.providers.readiness() == "ok"
        assert peer.keys == ["right", "right"]
        for wrong in ({"deployment": "ours", "api_key": "wrong"}, {"deployment": "theirs", "api_key": "right"}):
            chosen = await endpoints(responders="azure", openai_api_key="k", azure_openai={"endpoint": base} | wrong)
            assert "AZURE_OPENAI__" in await chosen.providers.readiness()

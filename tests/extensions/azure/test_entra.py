"""Microsoft Entra tokens for Azure OpenAI: each documented way, against a server that accepts nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request as Handshake
from websockets.http11 import Response as Refusal

from backend.app.doctor import CHECKS
from backend.app.endpoints import open_endpoints
from backend.app.extensions import installed
from backend.errors import ResponderRejected, ResponderUnavailable, SetupError
from backend.extensions.azure.entra import ASSERTION_TYPE, RENEW_BEFORE_S, EntraTokens, open_tokens
from backend.extensions.azure.settings import AzureOpenAISettings
from backend.settings.settings import load_settings
from tests.support.http_server import serve as serve_http

SCOPE = "https://cognitiveservices.azure.com/.default"
FORM = {"grant_type": "client_credentials", "client_id": "app", "scope": SCOPE}
SECRET = {"tenant_id": "tenant", "client_id": "app", "client_secret": "s3cret"}


class Entra:
    """Both services; they refuse every deviation from their documents."""

    def __init__(self) -> None:
        self.given = 0
        self.lasts_s = 3600
        self.fails: Response | None = None
        self.assertions: list[str] = []

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        routes = [
            Route("/tenant/oauth2/v2.0/token", self.credentials, methods=["POST"]),
            Route("/metadata/identity/oauth2/token", self.identity),
        ]
        async with serve_http(Starlette(routes=routes)) as url:
            yield url

    async def credentials(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        if "client_assertion" in form:
            self.assertions.append(form["client_assertion"])
            wanted = FORM | {"client_assertion_type": ASSERTION_TYPE, "client_assertion": "of the cluster"}
        else:
            wanted = FORM | {"client_secret": "s3cret"}
        if form != wanted:
            named = {"error": "invalid_client", "error_codes": [7000215], "error_description": "the tenant's name"}
            return JSONResponse(named, status_code=401)
        return self._grant(self.lasts_s)

    async def identity(self, request: Request) -> Response:
        query = dict(request.query_params)
        if request.headers.get("Metadata") != "true" or query.pop("api-version", "") != "2018-02-01":
            return JSONResponse({"error": "invalid_request"}, status_code=400)
        if query not in ({"resource": SCOPE.removesuffix("/.default")}, {"resource": SCOPE[:-9], "client_id": "mine"}):
            return JSONResponse({"error": "invalid_resource"}, status_code=400)
        return self._grant(str(self.lasts_s))

    def _grant(self, expires_in: int | str) -> Response:
        if self.fails:
            return self.fails
        self.given += 1
        return JSONResponse({"token_type": "Bearer", "expires_in": expires_in, "access_token": f"entra-{self.given}"})


@pytest.fixture
async def entra() -> AsyncIterator[Entra]:
    yield Entra()


@asynccontextmanager
async def tokens(entra: Entra, **settings: Any) -> AsyncIterator[tuple[EntraTokens, list[float]]]:
    """The source of tokens, and its clock, in seconds."""
    now = [1000.0]
    async with entra.serving() as url, AsyncExitStack() as stack:
        opened = await open_tokens(AzureOpenAISettings.model_validate({"authority_url": url} | settings), stack)
        assert opened is not None
        opened._clock, opened._identity_url = lambda: now[0], f"{url}/metadata/identity/oauth2/token"
        yield opened, now


async def test_an_application_gets_a_token_for_its_secret(entra: Entra) -> None:
    async with tokens(entra, **SECRET) as (given, _):
        assert await given.token() == "entra-1"
        assert "entra-1" not in repr(given) and "s3cret" not in repr(given._settings)


async def test_a_workload_gets_a_token_for_that_of_its_service_account_which_is_read_again(
    entra: Entra, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("too old\n")
    way = {"tenant_id": "tenant", "client_id": "app", "federated_token_file": file}
    async with tokens(entra, **way) as (given, _):
        with pytest.raises(ResponderRejected):
            await given.token()
        file.write_text("of the cluster\n")
        assert await given.token() == "entra-1"
        assert entra.assertions == ["too old", "of the cluster"]


@pytest.mark.parametrize("more", [{}, {"client_id": "mine"}])
async def test_a_machine_gets_a_token_for_its_managed_identity(entra: Entra, more: dict[str, str]) -> None:
    async with tokens(entra, managed_identity=True, **more) as (given, _):
        assert await given.token() == "entra-1"


async def test_a_token_is_kept_and_renewed_before_it_expires(entra: Entra) -> None:
    async with tokens(entra, **SECRET) as (given, now):
        assert {await given.token() for _ in range(3)} == {"entra-1"}
        now[0] += 3600 - RENEW_BEFORE_S - 1
        assert await given.token() == "entra-1"
        now[0] += 2
        assert await given.token() == "entra-2"


async def test_connections_made_together_ask_once(entra: Entra) -> None:
    async with tokens(entra, **SECRET) as (given, _):
        assert set(await asyncio.gather(*(given.token() for _ in range(8)))) == {"entra-1"}
        assert entra.given == 1


async def test_without_a_new_token_the_old_one_serves_while_it_is_valid(entra: Entra) -> None:
    async with tokens(entra, **SECRET) as (given, now):
        await given.token()
        entra.fails = Response("busy", status_code=503)
        now[0] += 3600 - RENEW_BEFORE_S + 1
        assert await given.token() == "entra-1"
        now[0] += RENEW_BEFORE_S
        with pytest.raises(ResponderUnavailable) as refused:
            await given.token()
        assert not isinstance(refused.value, ResponderRejected) and "503" in str(refused.value)


async def test_a_refusal_names_entras_codes_and_neither_secret_nor_tenant(entra: Entra) -> None:
    async with tokens(entra, **SECRET | {"client_secret": "wr0ng"}) as (given, _):
        with pytest.raises(ResponderRejected) as refused:
            await given.token()
        message = f"{refused.value} {refused.value.hint}"
        assert "invalid_client, AADSTS7000215" in message
        assert "wr0ng" not in message and "tenant's name" not in message


@pytest.mark.parametrize(
    "answer",
    [
        JSONResponse({"token_type": "Bearer"}),
        JSONResponse({"access_token": "t", "expires_in": "soon"}),
        Response("<html>"),
        Response("wait", status_code=429),
        Response("updating", status_code=410),
    ],
)
async def test_an_answer_without_a_token_is_a_temporary_error(entra: Entra, answer: Response) -> None:
    async with tokens(entra, managed_identity=True) as (given, _):
        entra.fails = answer
        with pytest.raises(ResponderUnavailable) as refused:
            await given.token()
        assert not isinstance(refused.value, ResponderRejected)
        entra.fails = None
        assert await given.token() == "entra-1"


async def test_a_missing_service_is_known_within_the_time_of_a_connection() -> None:
    settings = AzureOpenAISettings.model_validate({"managed_identity": True})
    async with AsyncExitStack() as stack:
        given = await open_tokens(settings, stack)
        assert given is not None
        given._identity_url = "http://127.0.0.1:9/token"
        with pytest.raises(ResponderUnavailable, match="ConnectError"):
            await given.token()


@pytest.mark.parametrize("settings", [{"client_secret": "s"}, SECRET | {"managed_identity": True}])
async def test_incomplete_settings_stop_the_server_at_its_start(settings: dict[str, Any]) -> None:
    async with AsyncExitStack() as stack:
        with pytest.raises(SetupError, match="incomplete"):
            await open_tokens(AzureOpenAISettings.model_validate(settings), stack)


async def test_the_server_and_the_doctor_authenticate_at_azure_with_the_token(entra: Entra) -> None:
    bearers: list[str | None] = []

    def admit(_connection: ServerConnection, request: Handshake) -> Refusal | None:
        bearers.append(request.headers.get("Authorization"))
        return None if bearers[-1] == "Bearer entra-1" else Refusal(401, "Unauthorized", Headers())

    async def session(connection: ServerConnection) -> None:
        await connection.send('{"type": "session.created", "session": {}}')
        async for _ in connection:
            await connection.send('{"type": "session.updated", "session": {}}')

    async with entra.serving() as url, serve(session, "127.0.0.1", 0, process_request=admit) as azure:
        base = f"http://127.0.0.1:{next(iter(azure.sockets)).getsockname()[1]}"
        ours = SECRET | {"endpoint": base, "deployment": "ours", "authority_url": url}
        settings = load_settings(responders="azure", openai_api_key="k", azure_openai=ours)
        async with AsyncExitStack() as stack:
            chosen = await open_endpoints(settings, stack, installed())
            assert await chosen.providers.readiness() == "ok"
        bearers.clear()
        entra.given = 0
        finding = await CHECKS["Provider"](settings)
        assert "azure: ours in" in finding.message and bearers == ["Bearer entra-1"]

"""The official MCP client sees and calls only the tools that its token grants."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from fakeredis import FakeAsyncRedis, FakeServer

from backend.access.principal import ToolScope
from backend.mcp.endpoint import PATHS
from backend.tools.base import EVERYONE, OURS, Result, ToolContext, tool
from backend.tools.confirmations import Confirmations
from backend.tools.registry import Registry
from tests.http.world import message_of
from tests.mcp.world import ADA, COPILOT, INNER, STRANGERS, client, content_of, token, world
from tests.support.agents import echo, toolbox


@tool("add", "Adds two numbers.", clients=EVERYONE)
async def add(a: int, b: int) -> Result:
    """Return the sum."""
    return Result({"sum": a + b})


@tool("whoami", "Says on whose behalf.", requires_auth=True, clients=OURS | {"copilot"})
async def whoami(context: ToolContext) -> Result:
    """Return the id of the user."""
    return Result({"user": context.user_id})


@tool("erase", "Erases.", confirm=True, clients=OURS | {"copilot"})
async def erase(what: str) -> Result:
    """Pretend to erase."""
    return Result({"erased": what})


@tool("deploy", "Deploys.", clients=EVERYONE, scope=ToolScope.OPERATOR)
async def deploy() -> Result:
    """Act with the credentials of the operator."""
    return Result({"deployed": True})


@tool("fail", "Does not work.", clients=EVERYONE)
async def fail() -> Result:
    """Fail as a plugin might."""
    raise RuntimeError("the user's secret")


CONFIRMATIONS = Confirmations(FakeAsyncRedis(server=FakeServer()))


def registry() -> Registry:
    functions: tuple[Any, ...] = (add, whoami, erase, fail, echo)
    tools = [each.__tool__ for each in functions]
    return Registry(tools, {}, CONFIRMATIONS)


EXPECTED = {
    ("/mcp/", INNER): {"add", "whoami", "erase", "fail", "echo"},
    ("/mcp/copilot/", COPILOT): {"add", "whoami", "erase", "fail"},
    ("/mcp/external/", STRANGERS): {"add", "fail"},
    ("/mcp/external/", token(tools=["add", "echo"])): {"add"},
}


@pytest.mark.document("002", "MCP doors")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(("path", "token"), EXPECTED)
async def test_a_token_lists_and_calls_only_its_own_tools(tmp_path: Path, path: str, token: str, mode: str) -> None:
    async with world(tmp_path, registry()) as here, client(here.url + path, token, mode) as mcp:
        shown = {each.name: each for each in (await mcp.list_tools()).tools}
        assert set(shown) == EXPECTED[(path, token)]
        assert shown["add"].description == "Adds two numbers."
        assert shown["add"].input_schema["required"] == ["a", "b"]
        sum_ = await mcp.call_tool("add", {"a": 2, "b": 3})
        assert not sum_.is_error and content_of(sum_) == {"sum": 5}
        if "echo" not in shown:
            hidden = await mcp.call_tool("echo", {"text": "hi"})
            assert hidden.is_error and content_of(hidden)["error"]["type"] == "unknown_tool"
        failed = await mcp.call_tool("fail", {})
        assert failed.is_error and "secret" not in str(failed)


@pytest.mark.parametrize(("path", "grant"), [("/mcp/", "mcp"), ("/mcp/copilot/", "mcp_copilot")])
async def test_programs_of_the_operator_may_call_the_tools_of_the_operator(
    tmp_path: Path, path: str, grant: str
) -> None:
    async with world(tmp_path, toolbox(deploy)) as here:
        async with client(here.url + path, token(grant)) as mcp:
            assert content_of(await mcp.call_tool("deploy")) == {"deployed": True}
        async with client(f"{here.url}/mcp/external/", STRANGERS) as mcp:
            assert (await mcp.list_tools()).tools == []


async def test_only_an_internal_program_may_act_for_another_user(tmp_path: Path) -> None:
    async with world(tmp_path, registry()) as here:
        async with client(f"{here.url}/mcp/copilot/", COPILOT) as mcp:
            assert content_of(await mcp.call_tool("whoami")) == {"user": ADA}
        async with client(f"{here.url}/mcp/", INNER, **{"x-on-behalf-of": "bob"}) as mcp:
            assert content_of(await mcp.call_tool("whoami")) == {"user": "shop.bob"}
        async with client(f"{here.url}/mcp/", INNER) as mcp:
            assert content_of(await mcp.call_tool("whoami")) == {"user": "shop.desk"}


async def test_a_repeated_call_is_no_consent_of_the_user(tmp_path: Path) -> None:
    async with world(tmp_path, registry()) as here, client(f"{here.url}/mcp/copilot/", COPILOT) as mcp:
        for _ in range(3):
            asked = await mcp.call_tool("erase", {"what": "all"})
            assert asked.is_error and content_of(asked)["error"]["type"] == "needs_confirmation"
        id_ = content_of(asked)["error"]["confirmation_id"]
        assert [(each.id, each.arguments) for each in await CONFIRMATIONS.of(ADA)] == [(id_, {"what": "all"})]
        await CONFIRMATIONS.answer(ADA, id_, agreed=True)
        assert (await mcp.call_tool("erase", {"what": "more"})).is_error
        assert content_of(await mcp.call_tool("erase", {"what": "all"})) == {"erased": "all"}
        assert (await mcp.call_tool("erase", {"what": "all"})).is_error, "one consent allowed two acts"
        await CONFIRMATIONS.erase(ADA)


BODY = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.mark.document("002", "MCP doors")
@pytest.mark.parametrize(
    ("path", "headers", "status", "hint"),
    [
        ("/mcp/", {}, 401, "API_KEYS"),
        ("/mcp/", {"authorization": "Bearer wrong"}, 401, "API_KEYS"),
        ("/mcp/", {"authorization": f"Basic {INNER}"}, 401, "API_KEYS"),
        ("/mcp/", {"authorization": f"Bearer {STRANGERS}"}, 403, "grant mcp"),
        ("/mcp/external/", {"authorization": f"Bearer {INNER}"}, 403, "grant mcp_external"),
        ("/mcp/", {"authorization": f"Bearer {token('mcp_copilot', 'admin')}"}, 403, "grant mcp"),
        ("/mcp/copilot/", {"authorization": f"Bearer {INNER}"}, 403, "grant mcp_copilot"),
        ("/mcp/external/", {"authorization": f"Bearer {token('call')}"}, 403, "mcp_external"),
        ("/mcp/", {"authorization": f"Bearer {token('mcp')}", "x-on-behalf-of": "bob"}, 403, "x-on-behalf-of"),
        ("/mcp/external/", {"authorization": f"Bearer {STRANGERS}", "x-on-behalf-of": "ada"}, 403, "x-on-behalf-of"),
        ("/mcp/copilot/", {"authorization": f"Bearer {COPILOT}", "x-on-behalf-of": "bob"}, 403, "x-on-behalf-of"),
        ("/mcp/", {"authorization": f"Bearer {INNER}", "x-on-behalf-of": "a b"}, 422, "user ID"),
    ],
)
async def test_an_endpoint_refuses_requests_without_its_token(
    tmp_path: Path, path: str, headers: dict[str, str], status: int, hint: str
) -> None:
    async with world(tmp_path, registry()) as here, here.browser() as browser:
        for each in (path, path.rstrip("/")):
            response = await browser.post(each, json=BODY, headers=ACCEPT | headers)
            assert response.status_code == status
            said = f"{message_of(response)} {response.json()['error']['hint']}"
            assert message_of(response) and hint.lower() in said.lower()


async def test_a_server_without_api_keys_serves_no_tools_and_says_what_to_set(tmp_path: Path) -> None:
    async with world(tmp_path, registry(), "open") as here, here.browser() as browser:
        for path in PATHS.values():
            response = await browser.post(path, json=BODY, headers=ACCEPT | {"authorization": f"Bearer {STRANGERS}"})
            assert response.status_code == 404
            assert "API_KEYS" in response.json()["error"]["hint"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "voice.example.com", "origin": "https://voice.example.com"}, 200),
        ({"origin": "https://evil.example"}, 403),
    ],
)
async def test_foreign_hosts_and_origins_are_refused(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    async with world(tmp_path, registry()) as here, here.browser() as browser:
        response = await browser.post(
            "/mcp/", json=BODY, headers=ACCEPT | {"authorization": f"Bearer {INNER}"} | headers
        )
        assert response.status_code == status


async def test_garbage_is_refused_without_harm(tmp_path: Path) -> None:
    async with world(tmp_path, registry()) as here:
        async with here.browser() as browser:
            headers = ACCEPT | {"authorization": f"Bearer {INNER}", "content-type": "application/json"}
            for body in (b"", b"{", b"[]", b'"x"', b'{"jsonrpc": "2.0"}', b"\xff\xfe", b"[" * 5_000):
                response = await browser.post("/mcp/", content=body, headers=headers)
                assert 400 <= response.status_code < 500
        async with client(f"{here.url}/mcp/", INNER) as mcp:
            assert content_of(await mcp.call_tool("add", {"a": 1, "b": 1})) == {"sum": 2}


async def test_the_rate_limit_counts_by_token(tmp_path: Path) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accepts = {"accept": "application/json, text/event-stream"}

    async with world(tmp_path, registry(), per_minute=3) as here, here.browser(headers=accepts) as http:

        async def knock(path: str, token: str, **headers: str) -> httpx2.Response:
            return await http.post(path, json=listing, headers={"authorization": f"Bearer {token}"} | headers)

        users: tuple[dict[str, str], ...] = ({"x-on-behalf-of": "ada"}, {"x-on-behalf-of": "bo"}, {})
        assert [(await knock("/mcp/", INNER, **user)).status_code for user in users] == [200] * 3
        refused = await knock("/mcp/", INNER, **{"x-on-behalf-of": "cy"})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "20")
        assert message_of(refused) == "Too many requests of this token."
        assert (await knock("/mcp/copilot/", COPILOT)).status_code == 200, "the limit of one token applied to another"
        assert (await knock("/mcp/", "wrong" * 10)).status_code == 401
        here.now[0] += 20
        assert (await knock("/mcp/", INNER)).status_code == 200
        assert (await knock("/mcp/", INNER)).status_code == 429

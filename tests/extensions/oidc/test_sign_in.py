"""`ACCESS=oidc`: signing in at a real OpenID provider, over HTTP."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from fakeredis import FakeAsyncRedis, FakeServer
from msgspec.structs import replace

from backend.access.access import Access
from backend.access.credentials import ADMIN_AGE_S, OIDC_USER, Signatures
from backend.access.store import CACHED_S, AccessStore
from backend.errors import SetupError, SignInFailed
from backend.extensions.oidc.extension import open_sign_in
from backend.extensions.oidc.provider import OpenIdProvider, SignIn
from backend.extensions.oidc.settings import OidcSettings
from backend.observability import security_log
from backend.observability.security_log import open_security_log
from backend.settings.plugin import read_settings
from backend.testing.memory import FakeMemory
from backend.users.profile_updates import AddFact, update_profile
from tests.extensions.oidc.openid_provider import CLIENT, openid_provider
from tests.http.world import World, place_call, settings_with, world
from tests.support.services import budgets_over


@pytest.fixture(scope="module")
def issuer() -> Any:
    with openid_provider(ada={}, root={"groups": ["staff", "voice-admins"]}) as address:
        yield address


def oidc(issuer: str, admin_claim: str = "") -> OidcSettings:
    """The settings of this server at `issuer`."""
    given = {"issuer": issuer, "client_id": CLIENT, "client_secret": "of the tests", "admin_claim": admin_claim}
    return read_settings(OidcSettings, {"oidc": given})


@asynccontextmanager
async def signing(
    directory: Path, issuer: str, *modes: str, admin_claim: str = "sub=root", **services_with: Any
) -> AsyncIterator[World]:
    """A server with users who sign in at `issuer`."""
    access: Any = Access(frozenset(modes or ("oidc",)))  # type: ignore[arg-type]
    memory = FakeMemory()
    async with httpx2.AsyncClient(trust_env=False) as http:
        provider = OpenIdProvider(oidc(issuer, admin_claim), http)
        services: dict[str, Any] = {"access": access, "opened": {OpenIdProvider: provider}}
        services["user_data"] = {"memory": SimpleNamespace(export=memory.export_user, erase=memory.forget_user)}
        services |= services_with
        modes_given: Any = list(access.modes)
        async with world(directory, services_with=services, memory=memory, access=modes_given) as here:
            yield here


async def at_the_provider(address: str, sub: str = "", **form: str) -> str:
    """Sign in there as `sub`, or send another form; returns where the provider sends the browser."""
    async with httpx2.AsyncClient(trust_env=False) as provider:
        answer = await provider.post(address, data=form or {"sub": sub})
        assert answer.status_code in (302, 303), answer.text
        return str(answer.headers["location"])


async def sign_in(browser: httpx2.AsyncClient, sub: str, *, taking_along: bool = False) -> httpx2.Response:
    """Sign in, as after the question whether what the visitor left is theirs."""
    begun = await browser.request("POST" if taking_along else "GET", "/auth/login")
    assert begun.status_code == (200 if taking_along else 303), begun.text
    location = begun.json()["location"] if taking_along else begun.headers["location"]
    answer = await browser.get(await at_the_provider(location, sub))
    assert answer.status_code == 303, answer.text
    return answer


async def test_a_user_signs_in_and_out(tmp_path: Path, issuer: str) -> None:
    async with signing(tmp_path, issuer) as here, here.browser() as browser:
        assert (await browser.get("/auth/state")).json() == {"offered": True, "signed_in": False, "left": False}
        refused = await browser.post("/api/sessions")
        assert refused.status_code == 401 and "/auth/login" in refused.json()["error"]["hint"]
        answer = await sign_in(browser, "ada")
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert (await browser.get("/auth/state")).json() == {"offered": True, "signed_in": True, "left": False}
        account = browser.cookies["caller"].strip('"')
        assert account.startswith("oidc.") and "ada" not in account
        assert (await browser.get("/api/admin/overview")).status_code == 401
        kept = browser.cookies["caller"]
        out = (await browser.post("/auth/logout")).json()
        there, asked = urlsplit(out["location"]), parse_qs(urlsplit(out["location"]).query)
        assert out["ok"] and f"{there.scheme}://{there.netloc}" == issuer, "the provider's own session would go on"
        assert asked["post_logout_redirect_uri"] == [f"{here.url}/"] and asked["client_id"] == [CLIENT]
        assert asked["id_token_hint"][0].startswith("eyJ") and "id-token" not in browser.cookies
        async with here.browser(headers={"cookie": f"caller={kept}"}) as thief:
            assert (await thief.get("/api/me")).status_code == 401, "signed out everywhere"


async def test_a_user_who_declines_at_the_provider_is_back_on_the_page_as_before(tmp_path: Path, issuer: str) -> None:
    async with signing(tmp_path, issuer, "open", "oidc") as here, here.browser() as browser:
        owner = await user_of(here, browser)
        begun = await browser.get("/auth/login")
        answer = await browser.get(await at_the_provider(begun.headers["location"], action="deny"))
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert (await browser.get("/auth/state")).json() == {"offered": True, "signed_in": False, "left": False}
        assert await user_of(here, browser) == owner, "still the same visitor"


async def test_one_user_in_two_browsers_is_one_user(tmp_path: Path, issuer: str) -> None:
    async with signing(tmp_path, issuer) as here, here.browser() as one, here.browser() as other:
        await sign_in(one, "ada")
        await sign_in(other, "ada")
        placed = (await place_call(one))["session_id"]
        listed = (await other.get("/api/sessions")).json()["sessions"]
        assert [each["session_id"] for each in listed] == [placed]


@pytest.mark.parametrize(
    ("claim", "status"), [("sub=root", 200), ("groups=voice-admins", 200), ("groups=voice", 401), ("teams=staff", 401)]
)
async def test_a_claim_makes_an_operator(tmp_path: Path, issuer: str, claim: str, status: int) -> None:
    async with signing(tmp_path, issuer, admin_claim=claim) as here, here.browser() as browser:
        await sign_in(browser, "root")
        assert (await browser.get("/api/admin/overview")).status_code == status


async def user_of(here: World, browser: httpx2.AsyncClient) -> str:
    """The user that the server takes this browser for."""
    return here.registry.find((await place_call(browser))["session_id"]).owner


async def test_what_a_visitor_left_stays_apart_unless_the_user_says_it_is_theirs(tmp_path: Path, issuer: str) -> None:
    async with signing(tmp_path, issuer, "open", "oidc") as here, here.browser() as browser:
        visitor = await user_of(here, browser)
        assert (await browser.get("/auth/state")).json()["left"] is False
        await update_profile(here.used_memory, visitor, AddFact("has a dog"))
        assert (await browser.get("/auth/state")).json()["left"] is True
        foreign = await browser.post("/auth/login", headers={"origin": "https://evil.example"})
        assert foreign.status_code == 403, "another page answered for the user"
        await sign_in(browser, "ada")
        assert await user_of(here, browser) != visitor
        assert "dog" not in (await browser.get("/api/me/export")).text
        assert await here.used_memory.export_user(visitor)


async def test_a_sign_in_makes_an_operator_for_an_hour(tmp_path: Path, issuer: str) -> None:
    ages = {-ADMIN_AGE_S + 60: 200, -ADMIN_AGE_S - 60: 401}
    async with signing(tmp_path, issuer) as here, here.browser() as browser:
        for ago, status in ages.items():
            signatures = Signatures(b"k" * 32, token_age_s=60, clock=partial(float, time.time() + ago))
            browser.cookies.set("caller", signatures.cookie(f"{OIDC_USER}root", admin=True, life_s=9 * ADMIN_AGE_S))
            overview = await browser.get("/api/admin/overview")
            assert overview.status_code == status and (await browser.get("/auth/state")).json()["signed_in"]
        assert "after an hour" in overview.json()["error"]["hint"]


async def test_while_redis_is_away_no_user_is_signed_in(tmp_path: Path, issuer: str) -> None:
    server, now = FakeServer(), [0.0]
    store = AccessStore(FakeAsyncRedis(server=server), lambda: now[0])
    async with signing(tmp_path, issuer, access_store=store) as here, here.browser() as browser:
        begun = await browser.get("/auth/login")
        link = await at_the_provider(begun.headers["location"], "ada")
        await sign_in(browser, "ada")
        server.connected, now[0] = False, CACHED_S
        for path in ("/auth/state", "/auth/login", link):
            assert (await browser.get(path)).status_code == 503, path


async def test_a_visitor_who_signs_in_for_the_first_time_becomes_the_account(tmp_path: Path, issuer: str) -> None:
    async with signing(tmp_path, issuer, "open", "oidc") as here, here.browser() as browser, here.browser() as other:
        visitor = await user_of(here, browser)
        await update_profile(here.used_memory, visitor, AddFact("has a dog"))
        kept = browser.cookies["caller"]
        before = (await browser.get("/api/me/export")).json()
        await sign_in(browser, "ada", taking_along=True)
        await sign_in(other, "ada")
        assert await user_of(here, browser) == await user_of(here, other) == visitor
        assert (await browser.get("/api/me/export")).json() == before
        async with here.browser(headers={"cookie": f"caller={kept}"}) as thief:
            assert await user_of(here, thief) != visitor, "only a sign-in leads there from now on"


async def test_the_visitors_calls_and_billing_end_with_the_sign_in(tmp_path: Path, issuer: str) -> None:
    budgets = budgets_over(FakeAsyncRedis())
    async with (
        signing(tmp_path, issuer, "open", "oidc", budgets=budgets) as here,
        here.browser(headers={"x-forwarded-for": "203.0.113.9"}) as browser,
    ):
        session = here.registry.find((await place_call(browser))["session_id"])
        assert await budgets.billing.find(session.owner)
        await sign_in(browser, "ada", taking_along=True)
        assert session.ended_reason == "signed_in"
        assert await budgets.billing.find(session.owner) is None


async def test_data_of_the_account_from_another_browser_is_exported_and_erased_with_it(
    tmp_path: Path, issuer: str
) -> None:
    async with signing(tmp_path, issuer, "open", "oidc") as here, here.browser() as one, here.browser() as other:
        visitors = [await user_of(here, one), await user_of(here, other)]
        for visitor, fact in zip(visitors, ("has a dog", "has a cat"), strict=True):
            await update_profile(here.used_memory, visitor, AddFact(fact))
        await sign_in(one, "ada", taking_along=True)
        await sign_in(other, "ada", taking_along=True)
        assert (await other.get("/api/me")).json()["facts"] == ["has a dog"]
        exported = (await other.get("/api/me/export")).json()
        assert "has a cat" in str(exported["other browsers"]) and "has a cat" not in str(exported["memory"])
        assert (await other.delete("/api/me")).status_code == 200
        assert [await here.used_memory.export_user(visitor) for visitor in visitors] == [{}, {}]
        await sign_in(one, "ada")
        assert await user_of(here, one) not in visitors


async def test_a_visitor_becomes_one_account_only(tmp_path: Path, issuer: str) -> None:
    async with signing(tmp_path, issuer, "open", "oidc") as here, here.browser() as one, here.browser() as other:
        visitor = await user_of(here, one)
        other.cookies.set("caller", one.cookies["caller"])
        begun = (await other.post("/auth/login")).json()["location"]
        await sign_in(one, "ada", taking_along=True)
        assert (await other.get(await at_the_provider(begun, "root"))).status_code == 303
        assert await user_of(here, one) == visitor != await user_of(here, other)


async def test_a_sign_in_that_another_browser_began_is_refused(tmp_path: Path, issuer: str) -> None:
    async with signing(tmp_path, issuer) as here, here.browser() as attacker, here.browser() as victim:
        begun = await attacker.get("/auth/login")
        link = await at_the_provider(begun.headers["location"], "ada")
        assert (await victim.get(link)).status_code == 401
        assert (await attacker.get(link)).status_code == 401, "its state was used"


@pytest.mark.parametrize("change", [{"state": "other"}, {"code": "other"}, {"code": ""}])
async def test_a_changed_answer_signs_no_user_in(tmp_path: Path, issuer: str, change: dict[str, str]) -> None:
    async with signing(tmp_path, issuer) as here, here.browser() as browser:
        begun = await browser.get("/auth/login")
        asked = parse_qs(urlsplit(await at_the_provider(begun.headers["location"], "ada")).query)
        answer = {name: values[0] for name, values in asked.items()} | change
        refused = await browser.get("/auth/callback", params=answer)
        assert refused.status_code == 401
        assert (await browser.get("/auth/state")).json()["signed_in"] is False


async def test_a_failed_sign_in_is_a_security_event_of_its_own(
    tmp_path: Path, issuer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security_log, "_lines", security_log._Lines())
    with open_security_log(tmp_path / "security.log"):
        async with signing(tmp_path, issuer) as here, here.browser() as browser:
            begun = await browser.get("/auth/login")
            asked = parse_qs(urlsplit(await at_the_provider(begun.headers["location"], "ada")).query)
            refusals = [{"state": asked["state"][0], "code": "other"}, {"state": "unknown", "code": "c"}, {}]
            for answer in refusals:
                assert (await browser.get("/auth/callback", params=answer)).status_code == 401
        async with signing(tmp_path, "http://127.0.0.1:9") as here, here.browser() as browser:
            assert (await browser.get("/auth/login")).status_code == 503
    lines = [json.loads(line) for line in (tmp_path / "security.log").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["sign_in_failed"] * 4
    assert len({line["reason"] for line in lines}) == 3 and lines[0]["route"] == "GET /auth/callback"
    assert asked["code"][0] not in str(lines) and asked["state"][0] not in str(lines)


async def test_the_request_has_a_challenge_a_state_and_a_nonce(tmp_path: Path, issuer: str) -> None:
    async with signing(tmp_path, issuer) as here, here.browser() as browser:
        asked = parse_qs(urlsplit((await browser.get("/auth/login")).headers["location"]).query)
        assert asked["code_challenge_method"] == ["S256"] and asked["response_type"] == ["code"]
        assert asked["state"] and asked["nonce"] and asked["code_challenge"]


async def test_a_token_with_another_nonce_or_for_another_client_is_refused(issuer: str) -> None:
    for client, nonce in (("voice", "another"), ("another", "")):
        settings = oidc(issuer)
        async with httpx2.AsyncClient(trust_env=False) as http:
            begun = SignIn("http://127.0.0.1:9/auth/callback")
            link = await OpenIdProvider(settings, http).begin("s" * 8, begun)
            code = parse_qs(urlsplit(await at_the_provider(link, "ada")).query)["code"][0]
            other = settings.model_copy(update={"client_id": client})
            expected = replace(begun, nonce=nonce or begun.nonce)
            with pytest.raises(SignInFailed):
                await OpenIdProvider(other, http).finish(code, expected)


async def test_without_a_provider_no_user_signs_in(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as browser:
        assert (await browser.get("/auth/login")).status_code == 404
        assert (await browser.get("/auth/state")).json() == {"offered": False, "signed_in": False, "left": False}


async def test_a_server_without_the_name_of_its_provider_does_not_start() -> None:
    ground: Any = SimpleNamespace(settings=settings_with(access=["oidc"]), http=None)
    with pytest.raises(SetupError):
        async with open_sign_in(ground):
            pass

"""The buttons *Sign in* and *Sign out* on the page, at a real OpenID provider: a user's data comes along, and goes."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.extensions.oidc.openid_provider import CLIENT, openid_provider
from tests.support.browser import Tab, tab_in
from tests.support.looks import NARROW, WIDE, fits_and_is_accessible, show
from tests.support.real_server import real_server

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
OF_PROVIDER: Any = "expected"
"""The provider's own page loads a style sheet from the internet."""
IN_VIEW = """(part) => {
  const box = part.getBoundingClientRect();
  const icon = part.querySelector(".icon").getBoundingClientRect();
  return icon.width >= 12 && box.left >= 0 && box.right <= document.documentElement.clientWidth && box.height >= 24;
}"""
SAY = """async (text) => {
  const body = JSON.stringify({ changes: [{ op: "add_fact", text }] });
  const headers = { "content-type": "application/json" };
  return (await fetch("/api/me", { method: "PATCH", headers, body })).status;
}"""


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with openid_provider(ada={}) as address:
        yield address


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(issuer: str) -> AsyncIterator[str]:
    oidc = {"OIDC__ISSUER": issuer, "OIDC__CLIENT_ID": CLIENT, "OIDC__CLIENT_SECRET": "of the tests"}
    async with real_server(ACCESS="open,oidc", **oidc) as address:
        yield address


async def sign_in(tab: Tab, name: str, answer: str = "") -> None:
    """Click the button, answer the question, log in as that user at the provider, and come back."""
    await tab.press("sign-in")
    if answer:
        await tab.press(answer)
    await tab.page.get_by_placeholder("sub").fill(name)
    await tab.page.get_by_role("button", name="Authorize").click()
    await tab.sees("state", "Ready to talk")
    await tab.sees("sign-out", "Sign out")


async def knows(tab: Tab) -> list[str]:
    facts: list[str] = await tab.page.evaluate("async () => (await (await fetch('/api/me')).json()).facts")
    return facts


async def test_a_user_who_signs_in_keeps_their_data_and_signs_out_everywhere(browser: Browser, url: str) -> None:
    async with tab_in(browser, complaints=OF_PROVIDER) as tab, tab_in(browser, complaints=OF_PROVIDER) as elsewhere:
        await tab.open(url)
        assert await tab.page.evaluate(SAY, "has a dog") == 200
        await sign_in(tab, "eve", "take-along-yes")
        assert await knows(tab) == ["has a dog"]
        assert not await tab.page.get_by_test_id("sign-in").is_visible()
        await elsewhere.open(url)
        await sign_in(elsewhere, "eve")
        assert await knows(elsewhere) == ["has a dog"]
        await tab.press("sign-out")
        await tab.page.get_by_role("button", name="End session").click()  # at the provider
        await tab.sees("sign-in", "Sign in")
        assert await knows(tab) == [], "a visitor again, without any data"
        assert await tab.page.evaluate(SAY, "has a cat") == 200
        await sign_in(tab, "eve", "take-along-no")
        assert await knows(tab) == ["has a dog"]
        await elsewhere.page.reload()
        await elsewhere.sees("sign-in", "Sign in")
        assert await knows(elsewhere) == []
        for each in (tab, elsewhere):
            assert [said for said in each.complaints if "Failed to load resource" not in said] == []


async def test_the_buttons_are_in_view_in_every_look(browser: Browser, url: str) -> None:
    async with tab_in(browser, complaints=OF_PROVIDER) as tab:
        await tab.open(url)
        await tab.sees("sign-in", "Sign in")
        await fits_and_is_accessible(tab, "a visitor")
        for look in (*NARROW, *WIDE):
            await show(tab, look)
            assert await tab.page.get_by_test_id("sign-in").evaluate(IN_VIEW)
        await sign_in(tab, "user-of-looks")
        await fits_and_is_accessible(tab, "signed in")
        for look in (*NARROW, *WIDE):
            await show(tab, look)
            assert await tab.page.get_by_test_id("sign-out").evaluate(IN_VIEW)

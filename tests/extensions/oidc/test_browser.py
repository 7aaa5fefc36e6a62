"""The buttons *Sign in* and *Sign out* on the page, at a real OpenID provider: what was left comes along, and goes."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.extensions.oidc.openid_provider import CLIENT, openid_provider
from tests.support.browser import Tab, launched, tab_in
from tests.support.real_server import real_server

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
LOOKS: dict[str, dict[str, Any]] = {
    "dark": {"scheme": "dark"},
    "light": {"scheme": "light"},
    "phone": {"scheme": "dark", "size": (390, 844)},
    "phone-light": {"scheme": "light", "size": (320, 700)},
}
OF_PROVIDER: Any = "expected"
"""The provider's own page wants a style sheet from the internet."""
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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with launched() as started:
        yield started


async def sign_in(tab: Tab, name: str) -> None:
    """Click the button, be the user of that name at the provider, and come back."""
    await tab.press("sign-in")
    await tab.page.get_by_placeholder("sub").fill(name)
    await tab.page.get_by_role("button", name="Authorize").click()
    await tab.sees("state", "Ready to talk")
    await tab.sees("sign-out", "Sign out")


async def knows(tab: Tab) -> list[str]:
    facts: list[str] = await tab.page.evaluate("async () => (await (await fetch('/api/me')).json()).facts")
    return facts


async def test_who_signs_in_keeps_what_they_left_and_signs_out_everywhere(browser: Browser, url: str) -> None:
    async with tab_in(browser, complaints=OF_PROVIDER) as tab, tab_in(browser, complaints=OF_PROVIDER) as elsewhere:
        await tab.open(url)
        assert await tab.page.evaluate(SAY, "has a dog") == 200
        await sign_in(tab, "eve")
        assert await knows(tab) == ["has a dog"]
        assert not await tab.page.get_by_test_id("sign-in").is_visible()
        await elsewhere.open(url)
        await sign_in(elsewhere, "eve")
        assert await knows(elsewhere) == ["has a dog"]
        await tab.press("sign-out")
        await tab.sees("sign-in", "Sign in")
        assert await knows(tab) == [], "a visitor again, of whom nothing is known"
        await elsewhere.page.reload()
        await elsewhere.sees("sign-in", "Sign in")
        assert await knows(elsewhere) == []
        for each in (tab, elsewhere):
            assert [said for said in each.complaints if "Failed to load resource" not in said] == []


@pytest.mark.parametrize("look", LOOKS)
async def test_the_buttons_are_in_view_in_both_themes_and_on_a_phone(
    browser: Browser, url: str, look: str, tmp_path: Path
) -> None:
    pictures = Path(os.environ.get("SIGN_IN_PICTURES", tmp_path))
    async with tab_in(browser, complaints=OF_PROVIDER, **LOOKS[look]) as tab:
        await tab.open(url)
        await tab.sees("sign-in", "Sign in")
        assert await tab.page.get_by_test_id("sign-in").evaluate(IN_VIEW)
        await tab.screenshot(pictures / f"{look}-out.png")
        await sign_in(tab, f"user-{look}")
        assert await tab.page.get_by_test_id("sign-out").evaluate(IN_VIEW)
        assert await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
        await tab.screenshot(pictures / f"{look}-in.png")

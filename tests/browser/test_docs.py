"""The page at `/docs` shows the API under the page's own policy, and asks only its server."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.support.browser import tab_in
from tests.support.looks import fits_and_is_accessible
from tests.support.page import page_world

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


async def test_every_operation_is_shown_without_an_error_in_the_console(browser: Browser, tmp_path: Path) -> None:
    async with page_world(tmp_path) as here, here.browser() as client, tab_in(browser) as tab:
        described = (await client.get("/openapi.json")).json()
        asked: list[str] = []
        tab.page.on("request", lambda request: asked.append(request.url))
        await tab.page.goto(f"{here.url}/docs")
        wanted = {f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods}
        await tab.sees("count", f"{len(wanted)} operations")
        boxes = tab.page.get_by_test_id("operation")
        shown = [await box.locator("summary").inner_text() for box in await boxes.all()]
        assert {" ".join(each.split()[:2]) for each in shown} == wanted
        await expect(tab.page.get_by_test_id("schema")).to_have_count(len(described["components"]["schemas"]))
        assert all(url.startswith(here.url) for url in asked)
        assert tab.complaints == [], "the policy forbids something that the page needs"


async def test_an_open_operation_shows_its_parameters_and_links_to_schemas(browser: Browser, tmp_path: Path) -> None:
    async with page_world(tmp_path) as here, tab_in(browser) as tab:
        await tab.page.goto(f"{here.url}/docs")
        await tab.sees("count", "operations")
        await fits_and_is_accessible(tab, "the API's description")
        await tab.page.get_by_test_id("find").fill("patch /api/me")
        await tab.sees("count", "1 operation")
        box = tab.page.get_by_test_id("operation").filter(has_text="PATCH/api/me")
        await box.locator("summary").click()
        row = box.get_by_role("row").filter(has_text="changes")
        await expect(row).to_contain_text("list of SetPreference, or DropPreference")
        await expect(row).to_contain_text("1 to 50 entries.")
        await row.get_by_role("link", name="SetPreference").click()
        opened = tab.page.locator("details[open]", has=tab.page.get_by_text("SetPreference", exact=True)).last
        await expect(opened.get_by_role("row").filter(has_text="value")).to_be_visible()
        assert await tab.page.evaluate("document.activeElement.parentElement.id") == "schema-SetPreference"

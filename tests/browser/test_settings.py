"""The settings dialog: choices for calls, which the server keeps, and the look of the page, which the browser keeps."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from backend.http.services import PageConfig, ResponderChoice
from tests.browser.test_memory import USER, field, known_user
from tests.http.world import World
from tests.support.browser import Tab, tab_in
from tests.support.page import page_on_stand_in, page_world
from tests.support.standin import SESSION, standing_in
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

RICH = ResponderChoice("openai", "Cloud", "big-1", ("marin", "cedar"), "marin", (0.25, 1.5), ())
PLAIN = ResponderChoice("local", "Local", "small", (), "", None, ("English",))
GROUND = "getComputedStyle(document.body).backgroundColor"
DARK, LIGHT = "rgb(15, 20, 23)", "rgb(246, 245, 241)"


async def has_ground(tab: Tab, color: str) -> None:
    """Wait until the background of the page has that color."""
    await tab.page.wait_for_function(f"(color) => {GROUND} === color", arg=color)


def offering(*responders: ResponderChoice, endpointing: str | None = "balanced") -> PageConfig:
    about: dict[str, str | bool] = {"name": "fake", "model": "none", "offline": True}
    chosen = list(responders) or [RICH, PLAIN]
    return PageConfig(about, {}, [], [], {}, responders=chosen, endpointing=endpointing)


async def open_settings(here: World, tab: Tab) -> None:
    await tab.page.goto(here.url)
    await tab.sees("state", "Ready to talk")
    await tab.press("open-settings")


def setting(tab: Tab, name: str) -> Any:
    return tab.page.get_by_test_id(f"settings-{name}")


async def choose(tab: Tab, name: str, value: str) -> None:
    await setting(tab, name).select_option(value)


async def preferences(here: World) -> dict[str, Any]:
    return dict((await here.memory.user_context(USER)).get("preferences", {}))


async def shown_options(tab: Tab, name: str) -> list[str]:
    options: list[str] = await setting(tab, name).locator("option").all_inner_texts()
    return options


@pytest_asyncio.fixture(loop_scope="module")
async def tab(browser: Browser, here: World) -> AsyncIterator[Tab]:
    """Open a tab of Ada's on a server that offers two models."""
    here.page_config = offering()
    async with tab_in(browser) as opened:
        await known_user(here, opened)
        yield opened


async def test_the_server_keeps_choices_for_calls(here: World, tab: Tab) -> None:
    before = await preferences(here)
    await open_settings(here, tab)
    chosen = {"voice": "cedar", "speech_speed": "1.15", "turn_patience": "patient", "language": "German"}
    for name, value in chosen.items():
        await choose(tab, name, value)
    await until(lambda: _kept(here, before | chosen))
    await open_settings(here, tab)
    await tab.page.wait_for_function("() => document.querySelector('#settings-voice')?.value === 'cedar'")
    for name, value in chosen.items():
        await expect(setting(tab, name)).to_have_value(value)
    await choose(tab, "voice", "")
    await until(lambda: _kept(here, before | {k: v for k, v in chosen.items() if k != "voice"}))


async def _kept(here: World, expected: dict[str, Any]) -> bool:
    return await preferences(here) == expected


async def test_the_dialog_offers_only_what_the_chosen_model_can_do(here: World, tab: Tab) -> None:
    await open_settings(here, tab)
    await setting(tab, "voice").wait_for()
    assert await shown_options(tab, "voice") == ["Default: marin", "cedar"]
    assert await shown_options(tab, "speech_speed") == [
        "60%", "75%", "90%", "Default: 100%", "115%", "130%", "150%",
    ]  # fmt: skip
    await choose(tab, "responder", "local")
    await setting(tab, "voice").wait_for(state="hidden")
    assert not await setting(tab, "speech_speed").is_visible()
    assert not await setting(tab, "language").is_visible()
    await tab.sees("settings", "Here the assistant speaks only English.")


async def test_the_dialog_offers_no_wait_and_no_model_if_there_is_no_choice(here: World, tab: Tab) -> None:
    here.page_config = offering(RICH, endpointing=None)
    await open_settings(here, tab)
    await setting(tab, "voice").wait_for()
    assert not await setting(tab, "responder").is_visible()
    assert not await setting(tab, "turn_patience").is_visible()


async def test_a_choice_that_memory_cannot_keep_stays_in_its_field_with_an_error(
    browser: Browser, tmp_path: Path
) -> None:
    async with page_world(tmp_path) as here, tab_in(browser, complaints="expected") as tab:
        here.page_config = offering()
        await known_user(here, tab)
        await open_settings(here, tab)
        await setting(tab, "voice").wait_for()
        here.memory.down = True
        await choose(tab, "voice", "cedar")
        await tab.sees("settings-said", "Memory is down")
        await expect(setting(tab, "voice")).to_have_attribute("aria-invalid", "true")


async def test_choices_for_calls_are_not_in_the_memory_dialog(here: World, tab: Tab) -> None:
    await open_settings(here, tab)
    await choose(tab, "voice", "cedar")
    await tab.sees("settings-said", "Saved: Voice")
    await tab.page.keyboard.press("Escape")
    await tab.press("open-memory")
    await tab.sees("memory-counts", "so far")
    assert "cedar" not in await field(tab, "facts").inner_text()


async def test_the_dialog_says_during_a_call_which_choices_apply_to_the_next(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        choice = {"provider": "p", "name": "P", "model": "m", "voices": ["a", "b"], "voice": "a", "languages": []}
        assert isinstance(server.config, dict)
        server.config = server.config | {"responders": [choice], "endpointing": "balanced"}
        await tab.open(server.url)
        await tab.press("open-settings")
        assert "From the next call on" not in await tab.text("settings")
        await tab.page.keyboard.press("Escape")
        await tab.connect()
        server.publish("session_started", session_id=SESSION, responder="P", model="m", offline=False)
        await tab.press("open-settings")
        await tab.sees("settings", "From the next call on")
        described = await setting(tab, "voice").get_attribute("aria-describedby")
        await expect(tab.page.locator(f"#{described}")).to_have_text("From the next call on")
        assert await setting(tab, "speech_speed").count() == 1 and not await setting(tab, "speech_speed").is_visible()


async def test_theme_captions_and_interruptions_follow_the_user_to_every_browser(
    browser: Browser, tmp_path: Path
) -> None:
    async with page_world(tmp_path) as here, tab_in(browser, scheme="dark") as tab:
        await known_user(here, tab)
        before = await preferences(here)
        await open_settings(here, tab)
        await choose(tab, "theme", "light")
        await has_ground(tab, LIGHT)
        await tab.page.get_by_label("Captions").uncheck()
        await tab.page.get_by_label("Let me interrupt").uncheck()
        chosen = {"theme": "light", "captions": "off", "interruptions": "off"}
        await until(lambda: _kept(here, before | chosen))

        async with tab_in(browser, scheme="dark") as other:
            await other.page.context.add_cookies(await tab.page.context.cookies())  # type: ignore[arg-type]
            await other.page.goto(here.url)
            await other.page.wait_for_function(f"() => {GROUND} === '{LIGHT}'")
            await other.page.locator("html[data-captions=off]").wait_for(state="attached")
            await other.press("open-settings")
            assert not await other.page.get_by_label("Let me interrupt").is_checked()
            assert not await other.page.get_by_label("Captions").is_checked()
            await expect(setting(other, "theme")).to_have_value("light")
            await other.page.keyboard.press("Escape")
            await other.press("open-memory")
            await other.press("memory-erase")
            await other.press("memory-erase-now")
            await other.page.wait_for_function(f"() => {GROUND} === '{DARK}'")
            await other.page.locator("html[data-captions=on]").wait_for(state="attached")


async def test_captions_can_be_switched_off_and_on_again(browser: Browser) -> None:
    async with page_on_stand_in(browser) as (tab, server):
        await tab.connect()
        server.publish("transcript", role="assistant", item_id="a1", content="It rains.")
        await tab.sees("transcript", "It rains.")
        await tab.press("open-settings")
        await tab.page.get_by_label("Captions").uncheck()
        await tab.page.keyboard.press("Escape")
        await tab.sees("captions-off", "Captions are off.")
        assert not await tab.page.get_by_test_id("entry-assistant").is_visible()
        server.publish("transcript", role="assistant", item_id="a2", content="And it snows.")
        server.publish("transcript", role="user", item_id="u2", content="Really?")
        await tab.page.get_by_text("And it snows.").first.wait_for(state="attached")
        assert "snows" not in await tab.text("announcer"), "a screen reader spoke captions"
        await tab.press("open-settings")
        await tab.page.get_by_label("Captions").check()
        await tab.page.keyboard.press("Escape")
        await tab.sees("transcript", "And it snows.")
        assert not await tab.page.get_by_test_id("captions-off").is_visible()


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "ja"])
async def test_the_page_fits_at_every_width_in_every_language(browser: Browser, tmp_path: Path, language: str) -> None:
    async with page_world(tmp_path) as here, tab_in(browser, size=(320, 640)) as tab:
        here.page_config = offering()
        await open_settings(here, tab)
        async with tab.page.expect_navigation():
            await choose(tab, "interface", language)
        await tab.page.locator(f"html[lang={language}] [data-testid=connect]:enabled").wait_for()
        for width in (320, 640, 2560):
            await tab.page.set_viewport_size({"width": width, "height": 640})
            if not await tab.page.get_by_test_id("settings").is_visible():
                await tab.press("open-settings")
            await setting(tab, "voice").wait_for()
            styled = "() => getComputedStyle(document.querySelector('.settings-fields')).display === 'grid'"
            await tab.page.wait_for_function(styled)
            overflow = (
                "(() => { const d = document.querySelector('#settings'); return d.scrollWidth > d.clientWidth; })()"
            )
            assert not await tab.page.evaluate(overflow), width
        title = await tab.page.get_by_test_id("settings").get_attribute("aria-label")
        names = {"en": "Settings", "de": "Einstellungen", "es": "Ajustes", "fr": "Réglages", "ja": "設定"}
        assert title == names[language]


async def test_the_dialog_can_be_used_by_keyboard_only(here: World, tab: Tab) -> None:
    await open_settings(here, tab)
    await tab.page.keyboard.press("Escape")
    assert await tab.page.evaluate("document.activeElement.dataset.testid") == "open-settings"
    await tab.page.keyboard.press("Enter")
    await setting(tab, "turn_patience").wait_for()
    await setting(tab, "turn_patience").focus()
    await tab.page.keyboard.press("ArrowDown")
    await tab.page.keyboard.press("Tab")
    await tab.sees("settings-said", "Saved: When I pause")
    await tab.page.keyboard.press("Escape")
    assert await tab.page.evaluate("document.activeElement.dataset.testid") == "open-settings"

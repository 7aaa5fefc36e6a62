"""The caller is asked for consent to a recording, sees that it runs, ends it, and hears it."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Browser, Route, expect

from tests.browser.test_returning import ask
from tests.support.browser import Tab, tab_in
from tests.support.looks import fits_and_is_accessible
from tests.support.real_server import real_server
from tests.support.standin import CONFIG, SESSION, StandIn, refusal, standing_in
from tests.support.waiting import until

pytestmark = [pytest.mark.realtime, pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
ENDS = {"full": "no room", "failed": "could not be written"}
PLAYED_MS = "document.querySelector('.player audio').currentTime * 1000"


async def until_listed(tab: Tab, url: str, states: list[str]) -> None:
    """Wait until the server lists recordings in these states."""
    shown: Any = None
    async with asyncio.timeout(10):
        while shown != states:
            listed = await (await tab.page.request.get(f"{url}/api/recordings")).json()
            shown = [each["state"] for each in listed["recordings"]]


def offered(keep_hours: int = 168) -> dict[str, Any]:
    """The part of `GET /api/config` that says calls may be recorded."""
    return {"extensions": {"recordings": {"offered": True, "keep_hours": keep_hours}}}


async def call_that_may_be_recorded(server: StandIn, tab: Tab, **recording: Any) -> None:
    server.config = CONFIG | offered(**recording)
    await tab.open(server.url)
    await tab.connect()
    started(server)


def started(server: StandIn, session: str = SESSION) -> None:
    server.publish("session_started", session_id=session, responder="R", model="m", offline=True)


async def test_a_call_is_recorded_once_its_caller_agrees_and_heard_and_read(browser: Browser) -> None:
    async with real_server(RECORDING__ENABLED="true") as url, tab_in(browser) as tab:
        await tab.open(url)
        await tab.connect()
        await tab.sees("recording-question", "kept on this server for 7 days")
        await until_listed(tab, url, [])
        await tab.press("recording-agree")
        await tab.sees("recording", "Recording")
        await expect(tab.page.get_by_test_id("recording-question")).to_be_hidden()
        await until_listed(tab, url, ["recording"])
        await tab.press("mute")  # the fake microphone beeps
        await ask(tab, "What's the weather in Seattle?", "In Seattle it is")
        await tab.press("recording-stop")
        await tab.sees("recording", "The recording has ended.")
        await tab.press("connect")

        await tab.press("listen-recording")
        await tab.sees("player-words", "In Seattle it is")
        await tab.sees("recording-about", "Kept until")
        spoken = tab.page.locator(".said-line.assistant").last
        await spoken.click()
        await expect(spoken).to_have_attribute("aria-current", "true")
        await expect(spoken.locator(".said-words .now")).to_have_count(1)
        before = await tab.page.evaluate(PLAYED_MS)
        assert before >= float(await spoken.get_attribute("data-from") or 0)
        await tab.page.wait_for_function(f"() => {PLAYED_MS} > {before + 500}")


async def test_a_caller_who_refuses_is_not_recorded_and_may_agree_later(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        await call_that_may_be_recorded(server, tab, keep_hours=1)
        await tab.sees("recording-question", "kept on this server for 1 hour.")
        await tab.press("recording-refuse")
        await expect(tab.page.get_by_test_id("recording-question")).to_be_hidden()
        assert server.recorded == []
        await tab.press("recording-begin")
        await tab.press("recording-agree")
        await tab.sees("recording", "Recording")
        await tab.press("recording-stop")
        await tab.sees("recording", "The recording has ended.")
        assert server.recorded == [True, False]


async def test_without_recordings_on_the_server_no_caller_is_asked(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        await tab.open(server.url)
        await tab.connect()
        started(server)
        await tab.sees("floor", "Listening")
        await tab.page.get_by_test_id("recording-question").wait_for(state="hidden")
        await tab.page.get_by_test_id("recording").wait_for(state="hidden")


async def test_a_caller_who_only_types_is_not_asked_but_may_record(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        server.config = CONFIG | offered(keep_hours=0)
        await tab.open(server.url)
        await tab.page.get_by_test_id("composer-text").fill("Hello")
        await tab.page.keyboard.press("Enter")
        await until(lambda: server.typed == ["Hello"])
        await tab.page.get_by_test_id("recording-begin").wait_for()
        await expect(tab.page.get_by_test_id("recording-question")).to_be_hidden()
        await tab.press("recording-begin")
        await tab.sees("recording-question", "until you delete them")


async def test_consent_holds_for_the_reconnected_call_and_for_no_other(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser, complaints="expected") as tab:
        await call_that_may_be_recorded(server, tab)
        await tab.press("recording-agree")
        await tab.sees("recording", "Recording")
        server.publish("session_ended", reason="network_lost")
        await tab.sees("entry-note", "Reconnected")
        started(server, "another-session")
        await until(lambda: server.recorded == [True, True])
        await tab.press("connect")
        await tab.sees("state", "Call ended")
        await tab.press("connect")
        await tab.sees("recording-question", "May this call be recorded?")
        assert server.recorded == [True, True]


async def test_consent_that_comes_before_the_session_has_started_is_sent_once(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        sent: list[str] = []

        async def after_the_start(route: Route) -> None:
            sent.append(route.request.method)
            started(server)
            await tab.sees("floor", "Listening")
            await route.continue_()

        server.config = CONFIG | offered()
        await tab.open(server.url)
        await tab.page.route("**/recording", after_the_start)
        await tab.connect()
        await tab.press("recording-agree")
        await tab.sees("recording", "Recording")
        assert sent == ["POST"]


@pytest.mark.parametrize(("reason", "words"), ENDS.items())
async def test_a_recording_that_ends_by_itself_says_why(browser: Browser, reason: str, words: str) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        await call_that_may_be_recorded(server, tab)
        await tab.press("recording-agree")
        await tab.sees("recording", "Recording")
        server.publish("recording", recording_id="r" * 16, on=False, reason=reason)
        await tab.sees("recording", words)


async def test_a_refused_recording_is_shown_and_not_started(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser, complaints="expected") as tab:
        await call_that_may_be_recorded(server, tab)
        server.typing_refusal = refusal(422, "Calls are not recorded on this server.", "Ask.")
        await tab.press("recording-agree")
        await tab.sees("notice", "Calls are not recorded on this server.")
        await tab.page.get_by_test_id("recording-begin").wait_for()


async def test_the_question_and_the_sign_fit_and_are_accessible(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        await call_that_may_be_recorded(server, tab)
        await tab.sees("recording-question", "May this call be recorded?")
        await fits_and_is_accessible(tab, "asked")
        await tab.page.get_by_test_id("recording-agree").focus()
        await tab.page.keyboard.press("Enter")
        await tab.sees("recording", "Recording")
        assert await tab.page.evaluate("document.activeElement.dataset.testid") == "recording"
        await fits_and_is_accessible(tab, "recorded")
        await tab.page.keyboard.press("Tab")
        await tab.page.keyboard.press("Enter")
        await tab.sees("recording", "The recording has ended.")
        await fits_and_is_accessible(tab, "recorded no more")

"""What a visitor meets with the whole server behind the page: a refused key, memory, several questions, sample data."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.async_api import Browser

from backend.users.summaries import TASK
from tests.browser.test_returning import ask, connect_silently
from tests.support.browser import ELSEWHERE, Tab, chromium, tab_in
from tests.support.microphone import microphone_wav
from tests.support.offline_peer import running_peer
from tests.support.real_server import real_server
from tests.support.running_server import running_server

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
NOWHERE = {"OPEN_METEO_FORECAST_URL": "http://127.0.0.1:9/f", "OPEN_METEO_GEOCODING_URL": "http://127.0.0.1:9/g"}
SAMPLE = "That was sample data"
RUN = 6
"""Words in a row that nobody writes by chance as an instruction has them."""


async def said(tab: Tab) -> list[str]:
    return [words for role, _, words in await tab.transcript() if role == "assistant"]


async def test_a_key_that_the_provider_refuses_is_explained_to_the_operator_and_kindly_to_others(
    browser: Browser,
) -> None:
    with running_peer() as peer:
        await peer.follow({"refuse_connections": 1_000, "refuse_status": 401, "turns": []})
        with running_server(peer, ALLOWED_HOSTS=ELSEWHERE) as server:
            told = []
            for url in (server.url, server.url.replace("localhost", ELSEWHERE).replace("127.0.0.1", ELSEWHERE)):
                async with tab_in(browser, microphone="refused", complaints="expected") as tab:
                    await tab.open(url)
                    await tab.page.get_by_test_id("composer-text").fill("Hello")
                    await tab.page.keyboard.press("Enter")
                    await tab.sees("state", "Not connected", 20_000)
                    told.append(await tab.text("notice"))
    assert "OPENAI_API_KEY" in told[0] and "responder-thinker doctor" in told[0]
    assert "not your fault" in told[1] and "OPENAI" not in told[1] and "doctor" not in told[1]


async def test_no_instruction_for_models_shows_in_the_memory_dialog(browser: Browser) -> None:
    async with real_server() as url, tab_in(browser, microphone="refused", complaints="expected") as tab:
        await tab.open(url)
        await connect_silently(tab)
        await ask(tab, "My name is Ana.", "")
        await ask(tab, "What's the weather in Seattle?", "In Seattle it is")
        await ask(tab, "What is seventeen times twenty four?", "408")
        await tab.press("connect")
        await tab.press("open-memory")
        known = "() => [...document.querySelectorAll('#memory input')].some((each) => each.value.includes('Ana'))"
        await tab.page.wait_for_function(known)
        fields = "[...document.querySelectorAll('#memory :is(input, textarea)')].map((each) => each.value).join(' | ')"
        shown = f"{await tab.text('memory')} {await tab.page.evaluate(fields)}"
    task = " ".join(TASK.lower().split())
    words = shown.lower().split()
    assert "ana" in words
    echoes = [run for at in range(len(words)) if (run := " ".join(words[at : at + RUN])) in task and len(run) > 20]
    assert echoes == []


async def test_two_questions_of_one_sentence_get_two_answers_in_order_and_samples_are_named_once(
    browser: Browser,
) -> None:
    async with real_server(**NOWHERE) as url, tab_in(browser, microphone="refused", complaints="expected") as tab:
        await tab.open(url)
        await connect_silently(tab)
        await ask(tab, "What's the weather in Seattle, and what is seventeen times twenty four?", "408")
        words = " ".join(await said(tab))
        assert -1 < words.index("In Seattle it is") < words.index(SAMPLE) < words.index("408")
        assert words.count(SAMPLE) == 1
        await ask(tab, "What's the weather in Xyzzyville?", "Xyzzyville")
        last = (await said(tab))[-1]
        assert "degrees" in last and SAMPLE in last


async def test_who_asks_for_a_day_is_told_of_that_day(browser: Browser) -> None:
    busy, free = ((datetime.now() + timedelta(days)).strftime("%A") for days in (2, 3))
    async with real_server() as url, tab_in(browser, microphone="refused", complaints="expected") as tab:
        await tab.open(url)
        await connect_silently(tab)
        await ask(tab, f"Put the dentist in my calendar for {busy} at three.", "It is in your calendar")
        await ask(tab, f"Am I free on {busy}?", f"Dentist, {busy}")
        await ask(tab, f"Am I free on {free}?", "There is nothing in your calendar")


@pytest.mark.long
async def test_words_typed_while_the_caller_speaks_are_answered_after_what_is_said(tmp_path: Path) -> None:
    question = "what is the weather in Seattle today and will it rain in the afternoon or in the evening there"
    wav = microphone_wav(tmp_path / "call.wav", 4.0, question, 60.0)
    async with real_server() as url, chromium(speaks=wav) as tab:
        await tab.open(url)
        await tab.connect()
        await tab.sees("floor", "I hear you", 15_000)
        await tab.page.get_by_test_id("composer-text").fill("What is seventeen times twenty four?")
        await tab.page.keyboard.press("Enter")
        await tab.sees("entry-user", "What is seventeen times twenty four?", 1_500)
        assert "I hear you" in await tab.text("floor"), "the caller still speaks"
        await tab.page.get_by_test_id("entry-assistant").filter(has_text="408").wait_for(timeout=40_000)
        words = " ".join(await said(tab))
    assert -1 < words.index("Seattle") < words.index("408")


async def test_a_server_that_dies_in_mid_sentence_leaves_nothing_on_the_page_that_claims_speech(
    tmp_path: Path,
) -> None:
    wav = microphone_wav(tmp_path / "call.wav", 3.0, "what is the weather in Seattle", 60.0)
    with running_server() as server:
        async with chromium(speaks=wav, complaints="expected") as tab:
            await tab.open(server.url)
            await tab.connect()
            await tab.sees("floor", "Speaking", 30_000)
            await tab.page.locator("[data-testid=entry-assistant][data-state=done]").last.wait_for(timeout=30_000)
            server.kill()
            await tab.sees("state", "Reconnecting…", 15_000)
            floor = await tab.text("floor")
            assert not any(claim in floor for claim in ("Speaking", "I hear you", "Listening"))
            assert all(state in ("final", "interrupted") for _, state, _ in await tab.transcript())
            silent = "() => document.querySelector('[data-testid=level-out] [role=meter]').ariaValueNow"
            await tab.page.wait_for_function(f"() => Number(({silent})()) === 0")
            assert "over" not in await tab.text("notice")

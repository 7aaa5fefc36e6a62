"""The dialog of recordings and its player, over the real routes: the sounding line is marked, a chosen line sounds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from backend.access.credentials import Signatures
from backend.extensions.recordings.store import RecordingStore
from backend.extensions.recordings.writer import ASSISTANT, CALLER
from tests.extensions.recordings.recorded import add_tone, recorded, said, store_in
from tests.extensions.recordings.test_page import PLAYED_MS, offered
from tests.support.browser import Tab, launched, tab_in
from tests.support.looks import fits_and_is_accessible
from tests.support.page import page_world

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
USER, KEY = "ada", b"k" * 32
FILES = {"Sound (Ogg)": b"OggS", "Sound (WAV)": b"RIFF", "Words with times (JSON)": b"{"}
SOUNDING = "[...document.querySelectorAll('.said-line.now .said-words')].map((each) => each.textContent)"

NOTE_MARKS = """() => {
  const [lines, words] = (window.testMarks = [[], []]);
  const note = (list, found) => found !== undefined && found !== list.at(-1) && list.push(found);
  new MutationObserver(() => {
    const sounding = [...document.querySelectorAll(".said-line.now .said-words")];
    note(lines, sounding.map((each) => each.textContent.slice(0, 4)).join(" "));
    const word = document.querySelector(".said-line.assistant .said-words .now")?.dataset.from;
    note(words, word && Number(word));
  }).observe(document.querySelector(".said"), { subtree: true, attributeFilter: ["class"] });
}"""
"""Records which lines sound, by their beginnings, and the times of the assistant's words as they are marked."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with launched(more=["--autoplay-policy=no-user-gesture-required"]) as started:
        yield started


async def two_voices(store: RecordingStore) -> str:
    """Four seconds: the caller, then both together, then the assistant; and something typed."""
    recording = store.begin(USER, "c1", "s1", lambda _: None)
    add_tone(recording, CALLER, 440, 0, 2_000)
    add_tone(recording, ASSISTANT, 1000, 1_500, 2_500)
    recording.add_line(said("i1", "What about the weather, the weather in Oslo?", 0, 2_000))
    reply = said("i2", "It rains, and it will go on raining all day.", 1_500, 4_000)
    typed = said("i3", "And <b>tomorrow</b>?", 4_000, 4_000)
    assert reply.utterance and typed.utterance
    reply.utterance["role"], reply.utterance["interrupted"] = "assistant", True
    typed.utterance["typed"], typed.utterance["words"] = True, []
    recording.add_line(reply)
    recording.add_line(typed)
    recording.end("call_ended")
    await store.writer.settle([recording], 5.0)
    return recording.begin.id


@asynccontextmanager
async def listening(
    browser: Browser, folder: Path, *, keep_s: float | None = 86_400.0, empty: bool = False, **options: Any
) -> AsyncIterator[tuple[Tab, RecordingStore, str]]:
    """Open the list of recordings."""
    store = store_in(folder / "recordings", keep_s=keep_s)
    with_store = {"opened": {RecordingStore: store}, "user_data": {"recordings": store}, "records": True}
    async with (
        page_world(folder, services_with=with_store) as here,
        tab_in(browser, **options) as tab,
    ):
        here.page_config = replace(here.page_config, **offered())
        cookie = Signatures(KEY, token_age_s=60).cookie(USER)
        await tab.page.context.add_cookies([{"name": "caller", "value": cookie, "url": here.url}])
        recording_id = "" if empty else await two_voices(store)
        await tab.open(here.url, raw=False)
        await tab.press("open-past")
        await tab.press("open-recordings")
        yield tab, store, recording_id
    await store.writer.close()


async def open_player(tab: Tab) -> None:
    await tab.page.get_by_test_id("recordings-list").get_by_role("button").last.click()
    await tab.sees("player-words", "What about the weather")


async def test_a_user_without_recordings_sees_an_empty_list(browser: Browser, tmp_path: Path) -> None:
    async with listening(browser, tmp_path, empty=True) as (tab, _, _):
        await tab.sees("recordings-said", "None yet.")


async def test_sounding_lines_are_marked_on_both_sides_and_the_words_go_along(browser: Browser, tmp_path: Path) -> None:
    async with listening(browser, tmp_path) as (tab, _, _):
        await open_player(tab)
        await tab.sees("player-time", "0:00 / 0:04")
        await tab.page.evaluate(NOTE_MARKS)
        await tab.press("player-play")
        await tab.sees("player-play", "Pause")
        await tab.sees("player-play", "Play", within_ms=15_000)  # it has ended
        lines, words = await tab.page.evaluate("testMarks")
        assert lines == ["What", "What It r", "It r", ""], "first the caller, then both, then the assistant"
        assert len(words) > 4 and words == sorted(words)
        lanes = await tab.page.locator(".voice-lane span").evaluate_all(
            "all => all.map((each) => [each.style.left, each.style.width])"
        )
        parts = [float(part.rstrip("%")) for lane in lanes for part in lane]
        assert parts == pytest.approx([0, 50, 37, 62], abs=3)


async def test_a_chosen_line_or_word_is_heard(browser: Browser, tmp_path: Path) -> None:
    async with listening(browser, tmp_path) as (tab, _, _):
        await open_player(tab)
        line = tab.page.locator(".said-line.assistant")
        await line.focus()
        await tab.page.keyboard.press("Enter")
        await expect(line).to_have_attribute("aria-current", "true")
        assert 1_500 <= await tab.page.evaluate(PLAYED_MS) < 3_500
        await line.get_by_text("raining", exact=True).click()
        word_at = float(await line.get_by_text("raining", exact=True).get_attribute("data-from") or 0)
        await tab.page.wait_for_function(f"() => {PLAYED_MS} >= {word_at}")
        await tab.press("player-play")
        await tab.sees("player-play", "Play")
        await tab.page.get_by_test_id("player-position").fill("1")
        await tab.page.wait_for_function(f"() => {SOUNDING}.length === 1 && {SOUNDING}[0].startsWith('What')")
        await expect(tab.page.get_by_test_id("player-position")).to_have_attribute("aria-valuetext", "0:01 of 0:04")
        await tab.page.get_by_test_id("player-speed").select_option("2")
        assert await tab.page.evaluate("document.querySelector('.player audio').playbackRate") == 2


async def test_typed_and_interrupted_lines_say_so_and_markup_is_text(browser: Browser, tmp_path: Path) -> None:
    async with listening(browser, tmp_path) as (tab, _, _):
        await open_player(tab)
        lines = await tab.page.locator(".said-line").all_inner_texts()
        assert [" ".join(line.split()) for line in lines] == [
            "0:00 You What about the weather, the weather in Oslo?",
            "0:01 Assistant It rains, and it will go on raining all day. interrupted",
            "0:04 You And <b>tomorrow</b>? typed",
        ]


async def test_sound_and_words_are_downloaded(browser: Browser, tmp_path: Path) -> None:
    async with listening(browser, tmp_path) as (tab, _, _):
        await open_player(tab)
        for name, begins in FILES.items():
            async with tab.page.expect_download() as saved:
                await tab.page.get_by_role("link", name=name).click()
            download = await saved.value
            assert download.suggested_filename.startswith("call-")
            content = await asyncio.to_thread(Path(await download.path()).read_bytes)
            assert content.startswith(begins)


async def test_a_recording_is_deleted_after_a_second_question(browser: Browser, tmp_path: Path) -> None:
    async with listening(browser, tmp_path, keep_s=None) as (tab, store, _):
        await recorded(store, USER)
        await open_player(tab)
        await tab.sees("recording-about", "Kept until you delete it")
        await tab.press("recording-delete")
        assert await tab.page.evaluate("document.activeElement.dataset.testid") == "recording-keep"
        await tab.press("recording-keep")
        assert len(await store.all_of(USER)) == 2
        await tab.press("recording-delete")
        await tab.press("recording-delete-now")
        await tab.sees("recordings-said", "Deleted.")
        await expect(tab.page.get_by_test_id("recordings-list").locator("li")).to_have_count(1)
        assert len(await store.all_of(USER)) == 1


async def test_a_deleted_or_unreachable_recording_says_so(browser: Browser, tmp_path: Path) -> None:
    async with listening(browser, tmp_path, complaints="expected") as (tab, store, recording_id):
        await expect(tab.page.get_by_test_id("recordings-list").locator("li")).to_have_count(1)
        await store.delete(USER, recording_id)
        await tab.page.get_by_test_id("recordings-list").get_by_role("button").click()
        await tab.sees("recordings-said", "This recording is no longer kept.")
        await tab.page.route("**/api/recordings", lambda route: route.abort())
        await tab.press("recordings-all")
        await tab.sees("recordings-said", "could not be loaded")


async def test_closing_the_dialog_silences_the_player(browser: Browser, tmp_path: Path) -> None:
    async with listening(browser, tmp_path) as (tab, _, _):
        await open_player(tab)
        await tab.press("player-play")
        await tab.sees("player-play", "Pause")
        audio = await tab.page.query_selector(".player audio")
        await tab.page.keyboard.press("Escape")
        await tab.page.wait_for_function("(each) => each.paused", arg=audio)


async def test_list_and_player_fit_and_are_accessible(browser: Browser, tmp_path: Path) -> None:
    async with listening(browser, tmp_path) as (tab, _, _):
        await tab.sees("recordings-list", "Kept until")
        await fits_and_is_accessible(tab, "the list")
        await open_player(tab)
        await tab.press("player-play")
        await tab.page.wait_for_function(f"() => {SOUNDING}.length === 1")
        await tab.press("player-play")
        await fits_and_is_accessible(tab, "the player")
        await tab.press("recording-delete")
        await fits_and_is_accessible(tab, "about to be deleted")

"""Whole calls: Chromium speaks, the real server hears, thinks and answers, and Chromium hears it."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from backend.extensions.local.synthesis.voice import speak
from backend.media.frame import SAMPLE_RATE
from backend.media.resample import resample
from backend.media.sound_file import write_wav
from tests.extensions.local.hearing import heard, share_of_words
from tests.support.browser import Tab, chromium
from tests.support.microphone import RATE, UNIVERSE, WEATHER, microphone_wav
from tests.support.real_server import real_server

pytestmark = [pytest.mark.realtime, pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

QUIET, LOUD = 1e-4, 1e-3
"""Energy of silence and of speech: the demonstration's voice measures about 1e-1, a silent line 1e-9."""
QUIET_WITHIN_S = 1.6
"""The server turns the reply down immediately and falls silent after half a second of speech; what the browser has
buffered plays on, and its statistics lag."""
SILENT_FOR_S = 3.0
PAUSES_WITHIN_S = 40.0
"""The browser's after the first utterance. Ours when two of its reports, 5 s apart, have shown no lost packet."""

QUESTION = "Could you please tell me what the weather is like in London this evening?"
"""In no manifest and no rule; the weather service of this test knows the place."""
WORDS_HEARD = 0.9
SPOKEN_WITHIN_S = 30.0

WORDS_AS_THEY_GROW = """() => {
  window.testWords = [];
  new MutationObserver(() => {
    const words = document.querySelector("[data-testid=entry-user]")?.textContent;
    const floor = document.querySelector("[data-testid=floor]").textContent;
    if (words && words !== testWords.at(-1)?.[0]) testWords.push([words, floor]);
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""
"""Every text that the caller's first entry has shown, and who had the floor then."""

RECORD = """() => {
  const { track } = testPeers.at(-1).getReceivers().find((each) => each.track.kind === "audio");
  window.testRecorder = new MediaRecorder(new MediaStream([track]), { audioBitsPerSecond: 128000 });
  testRecorder.start();
}"""
RECORDED = """(rate) => new Promise((done) => {
  testRecorder.ondataavailable = async ({ data }) => {
    const context = new OfflineAudioContext(1, 1, rate);
    const sound = await context.decodeAudioData(await data.arrayBuffer());
    const samples = Int16Array.from(sound.getChannelData(0), (each) => Math.max(-1, Math.min(1, each)) * 32767);
    const bytes = new Uint8Array(samples.buffer);
    done(btoa(Array.from(bytes, (each) => String.fromCharCode(each)).join("")));
  };
  testRecorder.stop();
})"""
"""The audio received since, decoded again, as 16-bit numbers."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[str]:
    async with real_server() as url:
        yield url


async def calling(tab: Tab, url: str) -> None:
    """Open the page and place a call."""
    await tab.open(url)
    await tab.connect()
    await tab.sees("floor", "Listening")


async def test_a_spoken_question_is_shown_while_it_is_spoken_and_answered_as_the_transcript_says(
    server: str, tmp_path: Path
) -> None:
    spoken = tmp_path / "question.wav"
    write_wav(spoken, resample(await asyncio.to_thread(speak, QUESTION), SAMPLE_RATE, RATE), RATE)
    async with chromium(microphone="asked") as tab:
        await calling(tab, server)
        assert await tab.loudness(1.0) < QUIET
        await tab.page.evaluate(RECORD)
        await tab.page.evaluate(WORDS_AS_THEY_GROW)
        await tab.say(spoken)
        await tab.sees("entry-user", "London")
        await tab.sees("thinker", "Answered")
        await tab.sees("transcript", "In London it is")
        said = await said_to_the_end(tab)
        pcm = base64.b64decode(await tab.page.evaluate(RECORDED, SAMPLE_RATE))
        shown = await tab.page.evaluate("testWords")
        card = await tab.text("thinker")
        assert "Weather" in card and "live data" in card
        await tab.sees("metrics-total", "ms")
        assert (await tab.heard()).concealed_share < 0.2
    while_speaking = [words for words, floor in shown if floor == "I hear you" and "Could" in words]
    assert while_speaking and "evening" not in while_speaking[0], shown
    again = await heard(pcm)
    assert share_of_words(said, again) >= WORDS_HEARD, (said, again)


async def said_to_the_end(tab: Tab) -> str:
    """Wait for the answer's last sound; return all its words."""
    await tab.loud_within(SPOKEN_WITHIN_S, LOUD)
    async with asyncio.timeout(SPOKEN_WITHIN_S):
        while await tab.loudness(1.0) > QUIET:
            pass
    return " ".join(words for role, _, words in await tab.transcript() if role == "assistant")


async def test_in_silence_next_to_nothing_is_sent_in_either_direction(server: str, tmp_path: Path) -> None:
    wav = microphone_wav(tmp_path / "nothing.wav", 60.0)
    async with chromium(speaks=wav) as tab:
        await calling(tab, server)
        async with asyncio.timeout(PAUSES_WITHIN_S):
            while True:
                before = (await tab.heard()).counters
                await asyncio.sleep(SILENT_FOR_S)
                after = (await tab.heard()).counters
                rates = [(after[name] - before[name]) / SILENT_FOR_S for name in ("packetsSent", "packetsReceived")]
                if all(0 < rate < 8 for rate in rates):
                    break
        await tab.page.get_by_role("button", name="What's the weather in Seattle?").click()
        await tab.loud_within(10, LOUD)
        await tab.sees("transcript", "In Seattle it is")
        assert (await tab.heard()).concealed_share < 0.1


@pytest.mark.alone
async def test_speaking_over_the_answer_silences_it_and_shows_the_cut(server: str, tmp_path: Path) -> None:
    question = microphone_wav(tmp_path / "question.wav", WEATHER)
    interruption = microphone_wav(tmp_path / "interruption.wav", UNIVERSE)
    async with chromium(microphone="asked") as tab:
        await calling(tab, server)
        await tab.watch()
        await tab.say(question)
        await tab.sees("transcript", "In Seattle it is")
        await tab.loud_within(10, LOUD)
        await tab.say(interruption)
        await tab.page.locator("[data-testid=entry-assistant][data-state=interrupted] s:not(:empty)").wait_for()
        await tab.sees("entry-user", "How old is the universe")
        assert await tab.quiet_after_hold(QUIET) < QUIET_WITHIN_S
        await tab.loud_within(10, LOUD)
        turns = [(role, state) for role, state, _ in await tab.transcript()]
        assert turns.index(("assistant", "interrupted")) < turns.index(("user", "final"), 1)

"""A whole call in Chromium with no key: a question is spoken, and what the browser hears is recognized again."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from backend.media.frame import SAMPLE_RATE
from backend.media.resample import resample
from backend.media.wav import write_wav
from local_responder.recognition.choose import open_recognizer
from local_responder.synthesis.voice import speak
from tests.support.browser import Tab, chromium
from tests.support.hearing import recognized, share_of_words
from tests.support.microphone import RATE, microphone_wav
from tests.support.real_server import real_server

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

QUESTION = "Is it any warmer in London this evening?"
"""In no manifest and no rule; the weather service of this test knows the place."""
GOAL = 0.9
SILENT = 1e-4
CONNECTING_S, REST_S = 3.0, 60.0
SPOKEN_WITHIN_S = 30.0

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
"""What was received since, decoded again, as 16-bit numbers."""


async def test_what_a_browser_hears_of_an_answer_is_what_its_transcript_says(tmp_path: Path) -> None:
    spoken = tmp_path / "question.wav"
    write_wav(spoken, resample(await asyncio.to_thread(speak, QUESTION), SAMPLE_RATE, RATE), RATE)
    wav = microphone_wav(tmp_path / "microphone.wav", CONNECTING_S, spoken, REST_S)
    async with real_server() as url, chromium(speaks=wav) as tab:
        await tab.open(url)
        await tab.connect()
        await tab.sees("floor", "Listening")
        await tab.page.evaluate(RECORD)
        await tab.sees("entry-user", "London")
        await tab.sees("thinker", "Answered")
        await tab.sees("transcript", "In London it is")
        said = await said_to_the_end(tab)
        pcm = base64.b64decode(await tab.page.evaluate(RECORDED, SAMPLE_RATE))
    recognizer, pool = open_recognizer()
    try:
        heard = await recognized(recognizer, pcm)
    finally:
        await pool.close()
    assert share_of_words(said, heard) >= GOAL, (said, heard)


async def said_to_the_end(tab: Tab) -> str:
    """Wait until the answer's last sound; return all that was said."""
    await tab.loud_within(SPOKEN_WITHIN_S, SILENT)
    async with asyncio.timeout(SPOKEN_WITHIN_S):
        while await tab.loudness(1.5) > SILENT / 10:
            pass
    return " ".join(words for role, _, words in await tab.transcript() if role == "assistant")

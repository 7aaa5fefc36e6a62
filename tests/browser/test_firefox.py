"""The same page in Firefox, against the real server: it connects and sound flows, with UDP and without."""

from __future__ import annotations

import pytest

from tests.support.browser import HEARD
from tests.support.firefox import FirefoxTab, firefox
from tests.support.real_server import real_server
from tests.support.waiting import until

pytestmark = pytest.mark.browser


async def flows_both_ways(tab: FirefoxTab) -> bool:
    """Half a second of packets has gone each way."""
    heard = await tab.evaluate(f"({HEARD})()")
    return bool(heard["packetsReceived"] > 25 and heard["packetsSent"] > 25)


REMEMBER_PIECES = """() => {
  window.testPieces = [];
  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...args) {
      super(...args);
      this.addEventListener("message", ({ data }) => {
        const { pcm } = JSON.parse(data);
        if (pcm) window.testPieces.push(Uint8Array.from(atob(pcm), (letter) => letter.charCodeAt(0)));
      });
    }
  };
}"""
PLAYED = """(async () => {
  const context = new OfflineAudioContext(1, 3 * 44_100, 44_100);
  await context.audioWorklet.addModule("/client/voice_worklet.js");
  const voice = new AudioWorkletNode(context, "playback", { numberOfInputs: 0, outputChannelCount: [1] });
  for (const piece of window.testPieces) voice.port.postMessage(piece.buffer);
  voice.connect(context.destination);
  const samples = (await context.startRendering()).getChannelData(0);
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
})()"""
"""RMS of the first three seconds; 0 when the rendering overtook the pieces, which are posted to another thread."""
SPOKEN_RMS = 0.02
"""Measured: 0.07."""


async def speaks(tab: FirefoxTab) -> bool:
    """What the server has sent is a voice once the page's own worklet has played it."""
    return float(await tab.evaluate(PLAYED)) > SPOKEN_RMS


async def ask(tab: FirefoxTab) -> None:
    """Type a question, with the microphone's tone out of the way."""
    await tab.press("mute")
    await tab.evaluate("""(() => {
        const field = document.querySelector("[data-testid=composer-text]");
        field.value = "What's the weather in Seattle?";
        field.form.requestSubmit();
    })()""")
    await tab.sees("transcript", "What's the weather in Seattle?")


async def test_firefox_connects_and_hears_an_answer() -> None:
    async with real_server() as url, firefox() as tab:
        await tab.open(f"{url}/?raw=1")
        await tab.sees("state", "Ready to talk")
        await tab.press("connect")
        await tab.sees("state", "Connected")
        await until(lambda: flows_both_ways(tab), 20)
        await ask(tab)
        await until(lambda: tab.evaluate(f"({HEARD})().then((heard) => heard.totalAudioEnergy > 0.01)"), 20)
        await tab.press("connect")
        await tab.sees("state", "Call ended")


async def test_firefox_gets_a_voice_without_udp() -> None:
    """A machine without a sound device runs no live AudioContext in Firefox, so what came is played into a file."""
    async with real_server() as url, firefox() as tab:
        await tab.command("script.addPreloadScript", functionDeclaration=REMEMBER_PIECES)
        await tab.open(f"{url}/?raw=1&transport=websocket")
        await tab.sees("state", "Ready to talk")
        await tab.press("connect")
        await tab.sees("state", "Connected, over a WebSocket")
        await ask(tab)
        await tab.sees("transcript", "In Seattle it is")
        await until(lambda: speaks(tab), 20)
        await tab.press("connect")
        await tab.sees("state", "Call ended")

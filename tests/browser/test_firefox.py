"""The page in Firefox against the real server: it connects and plays sound, with UDP and without."""

import pytest

from tests.support.browser import HEARD
from tests.support.firefox import FirefoxTab, firefox
from tests.support.real_server import real_server
from tests.support.waiting import until

pytestmark = [pytest.mark.realtime, pytest.mark.browser]


async def flows_both_ways(tab: FirefoxTab) -> bool:
    """Return whether half a second of packets has passed in each direction."""
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
"""The RMS of the first three seconds; 0 if the rendering overtook the pieces, which are posted to another thread."""
SPOKEN_RMS = 0.02
"""The least RMS of a voice; 0.07 was measured."""


async def speaks(tab: FirefoxTab) -> bool:
    """Return whether the audio from the server is a voice when the page's worklet plays it."""
    return float(await tab.evaluate(PLAYED)) > SPOKEN_RMS


async def ask(tab: FirefoxTab) -> None:
    """Type a question with a muted microphone."""
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


async def test_firefox_plays_a_voice_without_udp() -> None:
    """Firefox has no live AudioContext without a sound device, so the received audio is rendered offline."""
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

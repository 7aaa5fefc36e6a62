"""What a page really plays: the stream in its audio element, measured inside the page, whichever way it came there."""

from __future__ import annotations

import math
from typing import Any

from playwright.async_api import Page

LISTEN = """(() => {
  const element = document.querySelector("audio");
  const context = new AudioContext();
  const analyser = new AnalyserNode(context, { fftSize: 2048 });
  const samples = new Float32Array(analyser.fftSize);
  const played = (window.testPlayed = { levels: [], floors: [] });
  const presence = document.querySelector("[data-testid=presence]");
  const noteFloor = () => played.floors.push([performance.now(), presence.dataset.floor]);
  new MutationObserver(noteFloor).observe(presence, { attributeFilter: ["data-floor"] });
  let stream = null;
  let source = null;
  setInterval(() => {
    if (element.srcObject !== stream) {
      source?.disconnect();
      stream = element.srcObject;
      source = stream && context.createMediaStreamSource(stream);
      source?.connect(analyser);
    }
    analyser.getFloatTimeDomainData(samples);
    const loud = !element.paused && context.state === "running";
    const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
    played.levels.push([performance.now(), loud ? Math.sqrt(power) : 0]);
  }, 40);
})()"""
"""Notes the RMS of the newest 43 ms every 40 ms, and who had the floor, both on the page's own clock."""

LOUD_SINCE = "(since) => testPlayed.levels.some(([at, rms]) => at > since && rms > {loud})"
FLOOR_BEGAN = "(floor) => testPlayed.floors.findLast(([, name]) => name === floor)?.[0] ?? 0"
QUIET_AFTER = "(since) => testPlayed.levels.find(([at, rms]) => at > since && rms < {quiet})?.[0] ?? 0"
LEVELS = "([since, until]) => testPlayed.levels.filter(([at]) => at >= since && at < until).map(([, rms]) => rms)"

LOUD, QUIET = 0.02, 0.001
"""RMS of speech and of silence, full scale 1: the demonstration's voice measures 0.1 to 0.3 while it speaks."""


class Played:
    """Measurements of one page, from `listen` on."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def listen(self) -> None:
        """Begin to measure; the page must be open, and its sound allowed by a click."""
        await self._page.evaluate(LISTEN)

    async def now(self) -> float:
        """The page's clock, ms."""
        return float(await self._page.evaluate("performance.now()"))

    async def loud_since(self, since: float, within_s: float = 20.0) -> None:
        """Wait until a voice was heard after `since`."""
        await self._page.wait_for_function(LOUD_SINCE.format(loud=LOUD), arg=since, timeout=within_s * 1000)

    async def floor_began(self, floor: str) -> float:
        """When that floor was last taken, ms; 0: never."""
        return float(await self._page.evaluate(FLOOR_BEGAN, floor))

    async def quiet_after(self, since: float, within_s: float = 20.0) -> float:
        """How long after `since` the first silence was heard, ms; waits for it."""
        found: Any = await self._page.wait_for_function(
            QUIET_AFTER.format(quiet=QUIET), arg=since, timeout=within_s * 1000
        )
        return float(await found.json_value()) - since

    async def rms(self, since: float, until: float) -> float:
        """Of everything played between two moments, silences included."""
        levels = await self._page.evaluate(LEVELS, [since, until])
        return math.sqrt(sum(level * level for level in levels) / len(levels)) if levels else 0.0

"""Chromium through Playwright: a microphone that plays a WAV file, and measurements of what the browser hears."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser, Page, async_playwright
from playwright.async_api import TimeoutError as PlaywrightTimeout

WHOLE = "/usr/bin/chromium"
SHELL = shutil.which("chromium-headless-shell") or WHOLE
"""The same engine without windows, at half the computing: no questions to the user, no speakers."""
FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP voice.test 127.0.0.1",
]
ELSEWHERE = "voice.test"
"""A name that leads the browser to this machine, but is foreign to the page."""
WITHIN_MS = 30_000
Microphone = Literal["granted", "refused", "absent", "asked"]
REFUSE = """if (navigator.mediaDevices) {
  navigator.mediaDevices.getUserMedia = async () => { throw new DOMException("", "NotAllowedError"); };
}"""
SPEAK_WHEN_ASKED = """(() => {
  let context, microphone;
  const opened = () => {
    context ??= new AudioContext();
    microphone ??= context.createMediaStreamDestination();
    return context.resume();
  };
  navigator.mediaDevices.getUserMedia = async () => {
    await opened();
    return microphone.stream.clone();
  };
  window.testSay = async (wav) => {
    await opened();
    const bytes = Uint8Array.from(atob(wav), (each) => each.charCodeAt(0));
    const source = context.createBufferSource();
    source.buffer = await context.decodeAudioData(bytes.buffer);
    source.connect(microphone);
    source.start();
  };
})();"""
"""A microphone that is silent until the test speaks. A recording would not wait for the page."""
Complaints = Literal["fail", "expected"]

REMEMBER_PEERS = """
window.testPeers = [];
window.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(...args) { super(...args); window.testPeers.push(this); }
};
"""
"""Keeps every peer connection within the test's reach; the page itself shows none."""

HEARD = """async () => {
  const peer = window.testPeers.at(-1);
  const reports = [...(await peer.getStats()).values()];
  const heard = reports.find((report) => report.type === "inbound-rtp") ?? {};
  const sent = reports.find((report) => report.type === "outbound-rtp") ?? {};
  const pick = (report, names) => Object.fromEntries(names.map((name) => [name, report[name] ?? 0]));
  return {
    ...pick(heard, ["totalAudioEnergy", "totalSamplesDuration", "concealedSamples", "totalSamplesReceived"]),
    ...pick(heard, ["packetsReceived"]),
    ...pick(sent, ["packetsSent"]),
  };
}"""

WATCH = """() => {
  const watched = window.testWatched = { floors: [], energies: [] };
  const presence = document.querySelector("[data-testid=presence]");
  const noteFloor = () => watched.floors.push([performance.now(), presence.dataset.floor]);
  new MutationObserver(noteFloor).observe(presence, { attributeFilter: ["data-floor"] });
  let before = null;
  setInterval(async () => {
    const heard = [...(await window.testPeers.at(-1).getStats()).values()].find((r) => r.type === "inbound-rtp");
    if (!heard) return;
    const now = [heard.totalSamplesDuration ?? 0, heard.totalAudioEnergy ?? 0];
    if (before && now[0] > before[0]) {
      watched.energies.push([performance.now(), (now[1] - before[1]) / (now[0] - before[0])]);
    }
    before = now;
  }, 50);
}"""
"""Records who had the floor and how loud the voice was, by the page's own clock. The test may look too late."""

QUIET_AFTER_HOLD = """(threshold) => {
  const held = testWatched.floors.find(([, floor]) => floor === "held")?.[0];
  const quiet = testWatched.energies.find(([at, energy]) => held && at > held && energy <= threshold)?.[0];
  return quiet && (quiet - held) / 1000;
}"""
"""Seconds, once it is known."""

ENTRIES = """nodes => nodes.map((node) => {
  return [node.dataset.testid.slice(6), node.dataset.state, node.querySelector(".words").textContent];
})"""


class Tab:
    """One page in one browser, and its console errors."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.set_default_timeout(WITHIN_MS)
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    async def open(self, url: str, *, raw: bool = True) -> None:
        """Load the page and wait until it knows its server. `raw` switches the microphone's processing off."""
        await self.page.goto(f"{url}/?raw=1" if raw else url)
        await self.sees("state", "Ready to talk")

    async def connect(self) -> None:
        """Press the call button and wait for the audio connection."""
        await self.press("connect")
        await self.sees("state", "Connected")

    async def say(self, recording: Path) -> None:
        """Speak a WAV into the microphone of a page that was opened with `microphone="asked"`."""
        wav = await asyncio.to_thread(recording.read_bytes)
        await self.page.evaluate("(wav) => testSay(wav)", base64.b64encode(wav).decode())

    async def press(self, name: str) -> None:
        """Click the part of the page called `name`."""
        await self.page.get_by_test_id(name).click()

    async def sees(self, name: str, text: str, within_ms: int = WITHIN_MS) -> None:
        """Wait until the part called `name` is visible and contains exactly `text`."""
        part = self.page.get_by_test_id(name)
        words = re.compile(r"\s+".join(re.escape(word) for word in text.split()))  # a string would ignore case
        try:
            await part.filter(has_text=words).first.wait_for(timeout=within_ms)
        except PlaywrightTimeout:
            shown = {
                shown: await self.page.get_by_test_id(shown).all_inner_texts() for shown in (name, "state", "notice")
            }
            raise AssertionError(f"no {text!r}; the page shows {shown}; it complained {self.complaints}") from None

    async def text(self, name: str) -> str:
        """The text of the part called `name`."""
        return await self.page.get_by_test_id(name).inner_text()

    async def transcript(self) -> list[tuple[str, str, str]]:
        """Who said what, in order: (role, state, words with the part that was cut off)."""
        rows = await self.page.locator("[data-testid=transcript] article").evaluate_all(ENTRIES)
        return [(role, state, words) for role, state, words in rows]

    async def heard(self) -> Heard:
        """The incoming audio of the newest call so far."""
        return Heard(await self.page.evaluate(HEARD), time.monotonic())

    async def watch(self) -> None:
        """From now on, record floor and loudness inside the page."""
        await self.page.evaluate(WATCH)

    async def quiet_after_hold(self, threshold: float) -> float:
        """Seconds from the first hold of the voice until it was no louder than `threshold`."""
        quiet = await self.page.wait_for_function(QUIET_AFTER_HOLD, arg=threshold)
        return float(await quiet.json_value())

    async def loudness(self, seconds: float) -> float:
        """Mean energy of the assistant's voice over the next `seconds` (1 = full scale; silence is about 0)."""
        before = await self.heard()
        await asyncio.sleep(seconds)
        return (await self.heard()).energy_since(before)

    async def loud_within(self, seconds: float, threshold: float) -> None:
        """Wait until a tenth of a second is louder than `threshold`."""
        try:
            async with asyncio.timeout(seconds):
                while await self.loudness(0.1) <= threshold:
                    pass
        except TimeoutError:
            raise AssertionError(f"the voice was not louder than {threshold} within {seconds} s") from None


class Heard:
    """Counters of the incoming audio at one moment."""

    def __init__(self, counters: dict[str, float], at: float) -> None:
        self.counters = counters
        self.at = at

    def energy_since(self, before: Heard) -> float:
        """Mean energy between two moments: the square of the RMS amplitude, full scale 1."""
        seconds = self.counters["totalSamplesDuration"] - before.counters["totalSamplesDuration"]
        energy = self.counters["totalAudioEnergy"] - before.counters["totalAudioEnergy"]
        return energy / seconds if seconds > 0 else 0.0

    @property
    def concealed_share(self) -> float:
        """Share of samples that the browser had to make up."""
        return self.counters["concealedSamples"] / max(1, self.counters["totalSamplesReceived"])


@contextlib.asynccontextmanager
async def chromium(
    *,
    speaks: Path | None = None,
    microphone: Microphone = "granted",
    more: Sequence[str] = (),
    complaints: Complaints = "fail",
    **look: Any,
) -> AsyncIterator[Tab]:
    """A tab in a fresh Chromium with a microphone that plays `speaks` once (None: a beeping device).

    An `asked` microphone plays what `Tab.say` gives it. At the end the test fails if the page logged errors in its
    console, unless `complaints` are expected: browsers also log every refused request there. `more`: further flags of
    Chromium. `look`: see `tab_in`.
    """
    async with (
        launched(speaks=speaks, microphone=microphone, more=more) as browser,
        tab_in(browser, complaints=complaints, **look) as tab,
    ):
        if microphone == "asked":
            await tab.page.add_init_script(SPEAK_WHEN_ASKED)
        yield tab


@contextlib.asynccontextmanager
async def launched(
    *,
    speaks: Path | None = None,
    microphone: Microphone = "granted",
    more: Sequence[str] = (),
    program: str = SHELL,
) -> AsyncIterator[Browser]:
    """Chromium itself, for several tabs. Use `WHOLE` for tests of its own questions or speakers."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=[*flags(speaks, microphone), *more])
        try:
            yield browser
        finally:
            await browser.close()


@contextlib.asynccontextmanager
async def tab_in(
    browser: Browser,
    *,
    complaints: Complaints = "fail",
    scheme: Literal["dark", "light"] = "dark",
    size: tuple[int, int] = (1440, 900),
    reduced_motion: bool = False,
    time_zone: str | None = None,
    language: str = "en-US",
    microphone: Literal["granted", "refused"] = "granted",
) -> AsyncIterator[Tab]:
    """A tab with a clean profile, in this look and that time zone (None: this machine's).

    The page learns of a `refused` microphone from a script. A browser that refuses by itself is started with its flag.
    """
    context = await browser.new_context(
        color_scheme=scheme,
        viewport={"width": size[0], "height": size[1]},
        reduced_motion="reduce" if reduced_motion else "no-preference",
        locale=language,
        timezone_id=time_zone,
    )
    await context.add_init_script(REMEMBER_PEERS)
    if microphone == "refused":
        await context.add_init_script(REFUSE)
    tab = Tab(await context.new_page())
    try:
        yield tab
    finally:
        await context.close()
    if complaints == "fail":
        assert tab.complaints == []


def flags(speaks: Path | None, microphone: Microphone) -> list[str]:
    """Chromium's flags for a kind of microphone."""
    chosen = list(FLAGS)
    if microphone in ("granted", "asked"):
        chosen += ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]
    elif microphone == "refused":
        chosen += ["--use-fake-device-for-media-stream", "--deny-permission-prompts"]
    else:
        chosen += ["--use-fake-ui-for-media-stream", "--disable-audio-input"]
    if microphone == "asked":
        chosen.append("--autoplay-policy=no-user-gesture-required")
    if speaks is not None:
        chosen.append(f"--use-file-for-fake-audio-capture={speaks}%noloop")
    if os.geteuid() == 0:
        chosen.append("--no-sandbox")
    return chosen

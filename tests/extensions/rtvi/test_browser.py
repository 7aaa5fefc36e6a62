"""Pipecat's client kit in Chromium against the whole server, over both of its transports: it speaks, hears, types."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from backend.media.frame import SAMPLE_RATE
from backend.media.resample import resample
from backend.testing.offline.script.handler import loud_ms
from tests.support.browser import Tab, chromium
from tests.support.bundling import LOCAL_PAGE, bundle
from tests.support.microphone import RATE, microphone_wav, samples
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import RunningServer

pytestmark = [pytest.mark.realtime, pytest.mark.browser]

PAGE = Path(__file__).with_name("page.js")
QUESTION = "What's the weather in Seattle?"
INTERRUPTION = "no, that is enough now, please stop"
INTO_THE_ANSWER_S = 3.0
"""Milliseconds after the answer's first sound, so that there is something to measure."""
STORY: dict[str, Any] = {"text": "It is sunny. It stays warm all day long.", "tone": {"hz": 440, "ms": 12_000}}
SPOKEN_RMS, QUIET_RMS = 0.05, 0.005
QUIET_WITHIN_MS = 1_500
"""The browser's buffer, the player's lead, and this test's own polling under load."""
WITHIN_S, LOOK_EVERY_S = 60.0, 0.1
both_transports = pytest.mark.parametrize("kind", ["websocket", "webrtc"])


@pytest.fixture(scope="module")
def script() -> str:
    return asyncio.run(bundle(PAGE))


class Kit:
    """The page with the client kit."""

    def __init__(self, tab: Tab, url: str) -> None:
        self.page = tab.page
        self.say = tab.say
        self.url = url

    async def call(self, kind: str, **options: Any) -> Any:
        """Connect; return the data of `bot-ready`."""
        return await self.page.evaluate("([kind, url, options]) => call(kind, url, options)", [kind, self.url, options])

    async def event(self, *names: str) -> list[tuple[float, str, Any]]:
        """The events of the kit: milliseconds of the page's clock, event, data."""
        received = await self.page.evaluate("told")
        return [(at, name, data) for at, name, data in received if not names or name in names]

    async def waits_for(self, name: str, fits: Callable[[Any], bool] = lambda _: True, count: int = 1) -> Any:
        """Wait until the kit has reported `name` so often; return the data of that one."""
        for _ in range(int(WITHIN_S / LOOK_EVERY_S)):
            found = [each for each in await self.event(name) if fits(each[2])]
            if len(found) >= count:
                return found[count - 1]
            await asyncio.sleep(LOOK_EVERY_S)
        raise AssertionError(f"no {name} among {await self.event()}")

    async def levels(self, since: float, until: float = float("inf")) -> list[tuple[float, float, float]]:
        """Loudness and loudest frequency of the sound in that time."""
        return [(at, rms, hz) for at, rms, hz in await self.page.evaluate("levels") if since < at < until]

    async def quiet_after(self, since: float) -> float:
        """Milliseconds from `since` until silence."""
        for _ in range(int(WITHIN_S / LOOK_EVERY_S)):
            if quiet := [at for at, rms, _ in await self.levels(since) if rms < QUIET_RMS]:
                return quiet[0] - since
            await asyncio.sleep(LOOK_EVERY_S)
        raise AssertionError(await self.levels(since))


@asynccontextmanager
async def kit(running: RunningServer, script: str) -> AsyncIterator[Kit]:
    """A tab with the kit on a page of the server's own origin. Its microphone says what the test asks for."""
    async with chromium(microphone="asked", complaints="expected", more=LOCAL_PAGE) as tab:
        await tab.page.route(
            f"{running.url}/kit", lambda route: route.fulfill(content_type="text/html", body="<!doctype html>")
        )
        await tab.page.goto(f"{running.url}/kit")
        await tab.page.add_script_tag(content=script, type="module")
        await tab.page.wait_for_function("window.bundled")
        yield Kit(tab, running.url)


def heard(words: str) -> dict[str, Any]:
    """A sentence is one turn, though a machine that stalls may send it in segments."""
    return {"text": words, "voiced_ms": loud_ms(resample(samples(words), RATE, SAMPLE_RATE))}


@both_transports
async def test_a_spoken_question_is_answered_aloud_and_the_answer_interrupted(
    kind: str, peer: OfflinePeer, running: RunningServer, script: str, tmp_path: Path
) -> None:
    turns = [{"hear": heard(QUESTION), "reply": STORY}, {"hear": heard(INTERRUPTION), "reply": "All right."}, {}]
    await peer.follow({"turns": turns})
    question = microphone_wav(tmp_path / "question.wav", QUESTION)
    interruption = microphone_wav(tmp_path / "interruption.wav", INTERRUPTION)
    async with kit(running, script) as page:
        ready = await page.call(kind)
        assert ready["version"].startswith("2.") and ready["about"] == {"library": "responder-thinker"}
        await page.say(question)
        _, _, transcript = await page.waits_for("userTranscript", lambda data: data["final"])
        assert transcript["text"] == QUESTION
        speaking, _, _ = await page.waits_for("botStartedSpeaking")
        await asyncio.sleep(INTO_THE_ANSWER_S)
        await page.say(interruption)
        interrupted, _, _ = await page.waits_for("userStartedSpeaking", count=2)
        stopped, _, _ = await page.waits_for("botStoppedSpeaking")
        assert speaking < stopped <= interrupted + 500
        quiet_ms = await page.quiet_after(interrupted)
        levels = await page.levels(speaking + 700, interrupted - 900)
        received = await page.event()
    loud = [hz for _, rms, hz in levels if rms > SPOKEN_RMS]
    assert len(loud) > len(levels) * 0.8, levels
    assert sum(abs(hz - 440) < 30 for hz in loud) > len(loud) * 0.9, loud
    assert quiet_ms < QUIET_WITHIN_MS
    names = [name for _, name, _ in received]
    order = ["botReady", "userStartedSpeaking", "userStoppedSpeaking", "botLlmStarted", "botStartedSpeaking"]
    assert sorted(order, key=names.index) == order
    outputs = [data for _, name, data in received if name == "botOutput"]
    assert [(each["text"], each["spoken_status"]) for each in outputs[:2]] == [
        ("It is sunny.", "new"),
        ("It stays warm all day long.", "new"),
    ]
    assert ("It is sunny.", "completed") in [(each["text"], each["spoken_status"]) for each in outputs]
    assert ("It stays warm all day long.", "completed") not in [(e["text"], e["spoken_status"]) for e in outputs]
    assert "error" not in names, received


@both_transports
async def test_typed_words_a_function_of_the_clients_and_hanging_up(
    kind: str, peer: OfflinePeer, running: RunningServer, script: str
) -> None:
    call = {"name": "look_outside", "arguments": {"window": "north"}}
    turn = {"reply": {"calls": [call]}, "after_results": [{"text": "It rains.", "tone": {"hz": 440, "ms": 600}}]}
    await peer.follow({"turns": [turn, {"reply": {"text": "Goodbye.", "tone": {"hz": 440, "ms": 400}}}]})
    async with kit(running, script) as page:
        await page.call(kind)
        tool = {"type": "function", "name": "look_outside", "description": "Look out.", "parameters": {}}
        update = "(tools) => client.sendClientRequest('update-session', { instructions: 'Be brief.', tools })"
        shown = await page.page.evaluate(update, [tool])
        assert shown["instructions"] == "Be brief." and shown["tools"] == [tool]
        await page.page.evaluate("client.sendText('What is it like outside?')")
        _, _, answer = await page.waits_for("botOutput", lambda data: data["spoken_status"] == "completed")
        assert answer["text"] == "It rains."
        assert await page.page.evaluate("calledWith") == [
            {"functionName": "look_outside", "arguments": {"window": "north"}}
        ]
        stopped = (await page.waits_for("llmFunctionCallStopped"))[2]
        assert (stopped["cancelled"], stopped["result"]) == (False, '{"sky": "rain"}')
        with pytest.raises(Exception, match="update-session"):
            await page.page.evaluate(
                "client.sendClientRequest('no-such-thing', {}).catch((e) => { throw e.data.error })"
            )
        await page.page.evaluate("client.disconnectBot()")
        await page.waits_for("disconnected")
    instructions = (await peer.connections())[-1]["received"]
    sent = [each["event"] for each in instructions if each["event"]["type"] == "session.update"]
    assert sent[-1]["session"]["instructions"].startswith("Be brief.")

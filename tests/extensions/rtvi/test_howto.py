"""The how-to's programs, bundled and run in Chromium against the whole server."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.support.browser import chromium
from tests.support.bundling import LOCAL_PAGE, bundle
from tests.support.microphone import microphone_wav
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import RunningServer

pytestmark = pytest.mark.browser

HOWTO = Path(__file__).parents[3] / "docs" / "howto" / "rtvi.md"
PROGRAMS = [block for block in re.findall(r"```js\n(.*?)```", HOWTO.read_text(), re.S) if "import" in block]
FUNCTIONS = next(
    block for block in re.findall(r"```js\n(.*?)```", HOWTO.read_text(), re.S) if "update-session" in block
)


@pytest.mark.parametrize(
    "number", [pytest.param(0, id="websocket", marks=pytest.mark.long), pytest.param(1, id="webrtc")]
)
async def test_a_program_of_the_how_to_prints_the_answer(
    number: int, peer: OfflinePeer, running: RunningServer, tmp_path: Path
) -> None:
    await peer.follow({"turns": [{"reply": {"text": "It is sunny.", "tone": {"hz": 440, "ms": 600}}}]})
    # The functions are given before the question, which is asked in the program's last line.
    *before, question = PROGRAMS[number].rstrip().split("\n")
    program = tmp_path / "program.js"
    program.write_text("\n".join([*before, FUNCTIONS, question]).replace("localhost:8000", running.url.split("//")[1]))
    script, said = await bundle(program), asyncio.Queue[str]()
    silence = microphone_wav(tmp_path / "silence.wav", 60.0)
    async with chromium(speaks=silence, complaints="expected", more=LOCAL_PAGE) as tab:
        tab.page.on("console", lambda message: said.put_nowait(message.text))
        page = f"{running.url}/program"
        await tab.page.route(page, lambda route: route.fulfill(content_type="text/html", body="<!doctype html>"))
        await tab.page.goto(page)
        await tab.page.add_script_tag(content=script, type="module")
        async with asyncio.timeout(30):
            while "Assistant: It is sunny." not in await said.get():
                pass
    received = [each["event"] for each in (await peer.connections())[-1]["received"]]
    sessions = [each["session"] for each in received if each["type"] == "session.update"]
    assert any("look_outside" in str(session.get("tools")) for session in sessions)

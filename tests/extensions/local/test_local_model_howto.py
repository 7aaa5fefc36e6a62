"""docs/howto/local-model.md as it is written: its three commands start a server, and calls are answered by the model.

The model's server is a stand-in that speaks as Ollama's does; everything else is real: `make run`, the call over
WebRTC, the voice, the recognition, the Thinker and its tool.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from backend.extensions.local.synthesis.voice import speak
from backend.testing.services.open_meteo import answering_today
from backend.testing.services.server import serving
from tests.extensions.local.hearing import share_of_words
from tests.support.ollama import Json, Ollama, Said, ollama
from tests.support.running_server import PlacedCall, RunningServer, environment, placed_call, when_ready
from tests.support.speech import silence
from tests.support.waiting import until

ROOT = Path(__file__).parents[3]
HOWTO = ROOT / "docs" / "howto" / "local-model.md"
ADDRESS = "http://localhost:11434"
"""Where Ollama listens by default; the test's listens on another port."""
STORY = "Once upon a time there was a fox. "
MORE: list[str | float] = [STORY, 0.1]
END = "And there the story ends."
END_WITHIN_S = 20.0
WARM_WITHIN_S = 30.0
ANSWER_WITHIN_S = 20.0


def says(messages: list[Json], tools: list[str]) -> Said:
    """What the model says: it tells stories by itself, asks the Thinker about weather, and the Thinker its tool."""
    last = messages[-1]
    if last["role"] == "tool":
        return [_told(json.loads(last["content"]), is_tool="get_current_weather" in tools)]
    asked = str(last["content"]).lower()
    if "get_current_weather" in tools:
        return [("get_current_weather", {"location": "London", "unit": "celsius"})]
    if "story" in asked:
        return [STORY, 0.3, *(MORE * 8), 15.0, END]
    if "route_to_thinker" in tools and "weather" in asked:
        return [("route_to_thinker", {"domain": "weather", "query": last["content"]})]
    return ["Hello there."]


def _told(result: Any, *, is_tool: bool) -> str:
    """The Thinker's words for what its tool found; the call's for what the Thinker answered."""
    if is_tool:
        return f"The thermometer in {result['place']['name']} shows {result['current']['temperature']} degrees."
    return str(result.get("answer", "One moment."))  # there is none while the Thinker is at work


@asynccontextmanager
async def made_to_run(model: Ollama, folder: Path, weather_url: str) -> AsyncIterator[RunningServer]:
    """The how-to's commands, typed into a shell; what they started ends with an interrupt, as by Ctrl-C."""
    model.program(folder)
    weather = {
        "OPEN_METEO_FORECAST_URL": f"{weather_url}/v1/forecast",
        "OPEN_METEO_GEOCODING_URL": f"{weather_url}/v1/search",
    }
    given = environment(folder) | weather | {"PORT": "0", "COLUMNS": "200", "HOME": str(folder)}
    given |= {"PATH": f"{folder}:{os.environ['PATH']}", "OLLAMA_HOST": model.api.url.removeprefix("http://")}
    process = await asyncio.to_thread(typed, three_commands().replace(ADDRESS, model.api.url), folder, given)
    try:
        yield await asyncio.to_thread(when_ready, process, folder)
    finally:
        os.killpg(process.pid, signal.SIGINT)
        await asyncio.to_thread(process.communicate, timeout=END_WITHIN_S)


def three_commands() -> str:
    """The commands that the how-to begins with."""
    (commands,) = re.findall(r"three commands:\n\n```sh\n(.*?)```", HOWTO.read_text(), re.S)
    assert len(commands.splitlines()) == 3 and commands.count(ADDRESS) == 1
    return str(commands)


def typed(commands: str, folder: Path, given: dict[str, str]) -> subprocess.Popen[bytes]:
    """A shell that runs them in the checkout, in a process group of its own."""
    with (folder / "stderr.log").open("wb") as log:
        return subprocess.Popen(
            ["bash", "-euc", commands],
            cwd=ROOT,
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )


async def asked(call: PlacedCall, question: str) -> None:
    """Ask by voice, and wait until the page shows what was understood."""
    await call.say(silence(500) + await asyncio.to_thread(speak, question))
    await until(lambda: any(share_of_words(question, each) >= 0.8 for each in transcripts(call, "user")), 8)


def transcripts(call: PlacedCall, role: str) -> list[str]:
    """What one side has said: of the server's, what was heard to its end."""
    return [each["content"] for each in call.all_told("transcript") if each["role"] == role]


@pytest.mark.slow
@pytest.mark.realtime
async def test_its_three_commands_start_a_server_whose_calls_the_model_answers(tmp_path: Path) -> None:
    async with (
        serving(answering_today) as weather,
        ollama(says) as model,
        made_to_run(model, tmp_path, weather.url) as server,
    ):
        assert model.pulled == {"llama3.2:latest"}
        await until(lambda: model.asked != [], WARM_WITHIN_S)  # the model is loaded while the server starts
        async with placed_call(server, within_s=30) as call:

            async def is_loaded() -> bool:
                config = (await call.http.get("/api/config")).json()
                return "llama3.2" in json.dumps(config) and not config["loading"]

            await until(is_loaded, WARM_WITHIN_S)

            await asked(call, "What is the weather in London?")
            done = await call.told("thinker", ANSWER_WITHIN_S, event="complete")
            assert (done.data["domain"], done.data["source"]) == ("weather", "live")
            answer = "The thermometer in London shows 11 degrees."
            await until(lambda: answer in " ".join(transcripts(call, "assistant")), ANSWER_WITHIN_S)
            await call.hears_nothing_for(1.5)

            heard = len(call.audible())
            await asked(call, "Please tell me a story.")
            await until(lambda: len(call.audible()) > heard + 50, ANSWER_WITHIN_S)
            model.api.hung_up.clear()
            assert model.api.open  # the model still streams what is being spoken
            await call.say(await asyncio.to_thread(speak, "Stop, that is enough."))
            await asyncio.wait_for(model.api.hung_up.wait(), 3)
            await call.hears_nothing_for(1.0)
        stories = [each for each in call.all_told("transcript_interrupted") if STORY.strip() in each["content"]]
        assert stories and END not in json.dumps([event.data for event in call.events])
    assert model.faults == []
    assert {body["model"] for body in model.asked} == {"llama3.2"}

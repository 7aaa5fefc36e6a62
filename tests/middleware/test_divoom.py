"""The example step for a Divoom display, loaded from its folder. A real HTTP server plays the display."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.responses import JSONResponse

from backend.middleware.base import Asked, WholeTurn
from backend.middleware.pipeline import Pipeline, discover
from backend.tools.discovery import folder_modules
from tests.http.test_chat import say
from tests.http.world import world
from tests.support.http_server import serve
from tests.support.waiting import until

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "divoom"


class Display:
    """A display that takes commands, refuses them with `error_code`, or hangs."""

    def __init__(self, *, error_code: int = 0, status: int = 200, hangs: bool = False) -> None:
        self.commands: list[Any] = []
        self.wakes = asyncio.Event()
        self.app = FastAPI()

        @self.app.post("/post")
        async def post(command: dict[str, Any]) -> JSONResponse:
            self.commands.append(command)
            if hangs:
                await self.wakes.wait()
            return JSONResponse({"error_code": error_code}, status)


@asynccontextmanager
async def steps(url: str, **options: Any) -> AsyncIterator[Pipeline]:
    """All steps of the server and the step of the display, set as by `PLUGIN_FOLDERS` and `PIPELINE__OPTIONS`."""
    async with httpx2.AsyncClient(timeout=10) as http:
        found = [each for each in discover(folder_modules(FOLDER)) if each.name == "divoom"]
        chosen = {"divoom": {"device": url.removeprefix("http://"), **options}}
        pipeline = Pipeline(found, {httpx2.AsyncClient: http}, options=chosen)
        try:
            yield pipeline
        finally:
            await pipeline.close(5)


@pytest.mark.document("002", "built-in brainlets")
async def test_the_display_shows_the_answer_to_a_typed_turn(tmp_path: Path) -> None:
    display = Display()
    async with (
        serve(display.app) as url,
        steps(url, color="#00FF00") as pipeline,
        world(tmp_path, scenes=[["Light rain,\nfrom noon."]], pipeline=pipeline) as here,
        here.browser() as browser,
    ):
        assert (await say(browser, "Will it rain?"))["text"] == "Light rain,\nfrom noon."
        await until(lambda: display.commands != [])
    assert display.commands == [
        {
            "Command": "Draw/SendHttpText",
            "TextId": 1,
            "x": 0,
            "y": 24,
            "dir": 0,
            "font": 4,
            "TextWidth": 64,
            "speed": 50,
            "TextString": "Light rain, from noon.",
            "color": "#00FF00",
            "align": 1,
        }
    ]


async def test_a_display_that_hangs_delays_no_answer_and_times_out(caplog: pytest.LogCaptureFixture) -> None:
    display = Display(hangs=True)
    async with serve(display.app) as url, steps(url) as pipeline:
        turn = WholeTurn(Asked("Will it rain?", "ada"), "No.")
        began = time.monotonic()
        assert (await pipeline.after(turn)).answer == "No."
        assert time.monotonic() - began < 2
        await until(lambda: display.commands != [])
        with caplog.at_level(logging.WARNING):
            await until(lambda: "divoom took longer than 3.0 s" in caplog.text, within_s=15)
        display.wakes.set()


@pytest.mark.parametrize(("error_code", "status"), [(1, 200), (0, 500)])
async def test_the_log_names_a_display_that_refuses(
    error_code: int, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    display = Display(error_code=error_code, status=status)
    async with serve(display.app) as url, steps(url) as pipeline:
        turn = WholeTurn(Asked("Will it rain?", "ada"), "A secret.")
        assert (await pipeline.after(turn)).answer == "A secret."
        await until(lambda: "step divoom failed and is skipped: The Divoom display" in caplog.text)
    assert "secret" not in caplog.text


async def test_the_display_shows_one_users_answers_cut_to_length() -> None:
    display = Display()
    async with serve(display.app) as url, steps(url, user="ada") as pipeline:
        for user, answer in (("bo", "For Bo."), ("ada", "é" * 300)):
            await pipeline.after(WholeTurn(Asked("?", user), answer))
        await until(lambda: display.commands != [])
    [command] = display.commands
    assert command["TextString"] == "é" * 255

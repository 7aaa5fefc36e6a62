"""The mode and the platform decide which steps run around typed turns and the Thinkers they consult."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.agent.context import Note
from backend.middleware.base import Amended, Asked, WholeTurn, step
from tests.http.test_chat import ROUTE, say, shown_to_model
from tests.http.world import world
from tests.middleware.world import pipeline
from tests.support.agents import call

MODES = """
[terse]
steps = ["cut"]

[whole]
"""


@step("cut", stage="post")
async def cut(turn: WholeTurn) -> Amended:
    """Keep only the first word."""
    return Amended(turn.answer.split()[0])


@step("loud", stage="post", modes=["whole"])
async def loud(turn: WholeTurn) -> Amended:
    """Shout the answer in one mode."""
    return Amended(turn.answer.upper())


@step("small_screen", stage="pre", platforms=["phone"])
async def small_screen(asked: Asked) -> Note:
    """Add a note on one platform."""
    return Note("Where it is read", {"platform": asked.platform, "asked_of": asked.domain or "chat"}, personal=False)


async def test_a_mode_decides_which_steps_run(tmp_path: Path) -> None:
    (tmp_path / "modes.toml").write_text(MODES)
    steps = pipeline(cut, loud)
    scenes = [["One two."]] * 4
    async with (
        world(tmp_path, scenes=scenes, pipeline=steps, modes_file=tmp_path / "modes.toml") as here,
        here.browser() as browser,
    ):
        assert (await say(browser, "Hello.", conversation_id="c1"))["text"] == "One"
        whole = await say(browser, "Hello.", mode="whole", conversation_id="c1")
        assert whole["text"] == "ONE TWO.", "the last step did not win"
        assert shown_to_model(here.model) == ["Hello.", "One", "Hello."], "the history has the unamended answer"
        assert (await browser.post("/mode/terse")).status_code == 200
        assert (await say(browser, "Hello."))["text"] == "One"
        assert (await say(browser, "Hello.", mode="default"))["text"] == "One"


@pytest.mark.parametrize(("platform", "is_shown"), [("phone", True), ("terminal", False), ("", False)])
async def test_a_platform_reaches_the_steps_of_the_turn_and_of_the_thinker_it_consults(
    tmp_path: Path, platform: str, is_shown: bool
) -> None:
    scenes = ([call("route_to_thinker", ROUTE)], ["Because of the air."], ["Because of the air, in short."])
    async with world(tmp_path, scenes=scenes, pipeline=pipeline(small_screen)) as here, here.browser() as browser:
        reply = await say(browser, "Why is the sky blue?", platform=platform)
        assert reply["thinkers"] == ["knowledge"]
        chat, thinker, _ = ([str(m["content"]) for m in request["messages"]] for request in here.model.requests)
        assert any('"asked_of": "chat"' in content for content in chat) == is_shown
        assert any('"asked_of": "knowledge"' in content for content in thinker) == is_shown

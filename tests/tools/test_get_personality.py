"""The active mode, as the tool gives it: the turn's, the user's choice, or a named one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backend.storage.memory import Memory
from backend.testing.memory import FakeMemory
from backend.tools.base import ToolContext
from backend.tools.get_personality import get_personality
from backend.users.modes import Modes, load_modes
from backend.users.profile_updates import SetMode, update_profile
from tests.support.agents import toolbox
from tests.support.consent import tool_context


async def asked(who: ToolContext, mode: str = "", *, memory: Any = None) -> dict[str, Any]:
    services = {Memory: memory or FakeMemory(), Modes: load_modes()}
    arguments = json.dumps({"mode": mode} if mode else {})
    result = await toolbox(get_personality, services=services).run("get_personality", arguments, who)
    content: dict[str, Any] = json.loads(result.content)
    return content


@pytest.mark.document("002", "built-in tools")
async def test_the_users_choice_is_active_and_an_unknown_user_has_the_default() -> None:
    memory = FakeMemory()
    await update_profile(memory, "ada", SetMode("concise"))
    ada = await asked(tool_context("ada"), memory=memory)
    assert (ada["mode"], ada["is_on"]) == ("concise", True)
    assert (await asked(tool_context("ada", mode="expert"), memory=memory))["mode"] == "expert", "that of the turn"
    await update_profile(memory, "cy", SetMode("gone"))
    assert ada["personality"] == "Matter-of-fact and quick; no pleasantries."
    assert ada["spoken"].startswith("The mode concise is on. ")
    assert (await asked(tool_context("ada"), "expert", memory=memory))["spoken"].startswith(
        "The mode expert is not on. "
    )
    assert ada["told"].startswith("Answer in one short sentence")
    for nobody in (tool_context(""), tool_context("bo"), tool_context("cy")):
        stranger = await asked(nobody, memory=memory)
        assert (stranger["mode"], stranger["personality"]) == ("default", "as usual")
    assert stranger["modes"] == ["default", "concise", "expert"]


async def test_a_named_mode_is_described_and_an_unknown_one_answered_with_the_list() -> None:
    named = await asked(tool_context("ada"), "Expert")
    assert (named["mode"], named["model"], named["is_on"]) == ("expert", "advanced", False)
    error = (await asked(tool_context("ada"), "pirate"))["error"]
    assert error["message"] == "There is no such mode. The modes are: default, concise, expert."

"""Standing instructions through the tool: added, listed, deleted; bounded, and the user's own."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from backend.storage.memory import Memory
from backend.testing.memory import FakeMemory
from backend.tools.base import ToolContext
from backend.tools.manage_prompt import manage_prompt
from backend.tools.registry import Registry
from backend.users.profile import INSTRUCTION_CHARS, INSTRUCTION_LIMIT
from backend.users.profile_updates import SetPreference, update_profile
from tests.support.agents import toolbox
from tests.support.consent import tool_context

ADA, BO = tool_context("ada", "c1", "1"), tool_context("bo", "c2", "1")


def box(memory: Any = None) -> Registry:
    return toolbox(manage_prompt, services={Memory: memory or FakeMemory()})


async def run(tools: Registry, who: ToolContext = ADA, **arguments: Any) -> dict[str, Any]:
    """The result of a call: its data, or its error."""
    content: dict[str, Any] = json.loads((await tools.run("manage_prompt", json.dumps(arguments), who)).content)
    return content


def texts(answer: dict[str, Any]) -> list[str]:
    return [one["text"] for one in answer["instructions"]]


@pytest.mark.document("002", "built-in tools")
async def test_instructions_are_added_listed_and_deleted_by_their_id() -> None:
    tools = box()
    assert texts(await run(tools, action="add", text=" Always answer\nin one sentence. ")) == [
        "Always answer in one sentence."
    ]
    added = await run(tools, action="add", text="Call me captain.")
    assert added["added"] == "Call me captain." and len(added["instructions"]) == 2
    listed = await run(tools, action="list")
    assert listed["instructions"] == added["instructions"]
    assert (added["spoken"], listed["spoken"]) == (
        "All right, from now on: Call me captain.",
        "You have asked me for this: Always answer in one sentence. Call me captain.",
    )
    first = listed["instructions"][0]["id"]
    gone = await run(tools, action="delete", instruction_id=first)
    assert gone["deleted"] == "Always answer in one sentence."
    assert gone["spoken"] == "All right, no longer: Always answer in one sentence."
    assert texts(await run(tools, action="list")) == ["Call me captain."]


async def test_a_repeated_instruction_keeps_its_id() -> None:
    tools = box()
    first = await run(tools, action="add", text="Call me captain.")
    again = await run(tools, action="add", text="call me Captain")
    assert again["instructions"] == first["instructions"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"action": "add"}, "add takes the text"),
        ({"action": "add", "text": " ... "}, "A standing instruction has 1 to"),
        ({"action": "add", "text": "x" * (INSTRUCTION_CHARS + 1)}, "text:"),
        ({"action": "delete"}, "delete takes an instruction_id. List them"),
        ({"action": "delete", "instruction_id": "ins_1"}, "The user has no standing instruction of this id. There are"),
        ({"action": "replace"}, "action:"),
    ],
)
async def test_an_impossible_call_names_the_possible_ones(arguments: dict[str, Any], message: str) -> None:
    tools = box()
    assert (await run(tools, **arguments))["error"]["message"].startswith(message)
    assert texts(await run(tools, action="list")) == []


async def test_instructions_are_their_users_only_and_change_nothing_else() -> None:
    memory = FakeMemory()
    await update_profile(memory, "ada", SetPreference("name", "Ada"))
    tools = box(memory)
    id_ = (await run(tools, action="add", text="Call me captain."))["instructions"][0]["id"]
    assert texts(await run(tools, BO, action="list")) == []
    assert "error" in await run(tools, BO, action="delete", instruction_id=id_)
    assert await memory.user_context("ada") == {
        "preferences": {"name": "Ada"},
        "instructions": ["Call me captain."],
    }
    assert (await run(tools, tool_context(""), action="list"))["error"]["type"] == "not_allowed"


async def test_an_instruction_over_the_limit_is_refused_and_none_is_lost() -> None:
    tools = box()
    answers = await asyncio.gather(*(run(tools, action="add", text=f"Rule {n}.") for n in range(INSTRUCTION_LIMIT + 1)))
    [refused] = [answer["error"]["message"] for answer in answers if "error" in answer]
    assert refused.endswith("no room for another. Delete one first.")
    assert len(texts(await run(tools, action="list"))) == INSTRUCTION_LIMIT

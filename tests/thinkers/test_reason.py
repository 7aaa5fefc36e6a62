"""Reasoning by voice: the outcome is spoken, the thoughts are not."""

import json

from tests.support.agents import call
from tests.thinkers.world import world

QUESTION = "Three tickets cost twelve dollars each; what change do I get from fifty?"


async def test_only_the_outcome_of_a_task_is_spoken() -> None:
    scenes = (
        [call("calculate", '{"expression": "50 - 3 * 12"}')],
        ["<deep_thinking>SECRET</deep_thinking>TASK_DONE"],
        ["<deliverable>Output: You get **14** dollars.</deliverable>"],
    )
    async with world(*scenes) as here:
        answer = await here.ask("reason", QUESTION)
        assert (answer.text, answer.source, answer.tool_calls) == ("You get 14 dollars.", "live", 1)
        assert here.progress == ["thinking", "calling calculate", "round 2: thinking"]
        kept = json.dumps(await here.memory.export_user("ada"), default=str)
    assert "SECRET" not in f"{answer}{here.progress}{kept}"
    assert "on the phone" in here.system(0)


async def test_a_repeated_task_is_thought_through_again() -> None:
    async with world(["One."], ["Two."]) as here:
        assert [(await here.ask("reason", QUESTION)).text for _ in range(2)] == ["One.", "Two."]

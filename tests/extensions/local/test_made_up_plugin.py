"""An invented plugin that no rule knows is asked, its tool's arguments are filled, and its result is spoken."""

import json
from pathlib import Path
from typing import Any

import pytest

from backend.app.extensions import installed
from backend.extensions.local.dialogue.conversation import of_messages
from backend.extensions.local.dialogue.without_model import complete, respond
from backend.thinkers.base import Manifest
from backend.tools.base import Tool
from backend.tools.registry import Registry, tools_of
from tests.extensions.local.orders import MANIFESTS, NOW, route
from tests.support.agents import toolbox
from tests.support.consent import tool_context

FERRIES = """
from typing import Annotated
from backend.thinkers.base import Manifest
from backend.tools.base import Result, tool

MANIFEST = Manifest(
    domain="ferries", label="Ferries", description="departures of ferries from a harbour",
    example="When does the ferry leave Dover on Sunday?", prompt="Look it up.", tools=("ferry_times",),
)

@tool("ferry_times", "When ferries leave a harbour on a day.")
async def ferry_times(harbour: Annotated[str, "A harbour, e.g. 'Dover'."], day: str) -> Result:
    return Result({"ferry": f"from {harbour} at half past nine", "day": day})
"""
PAINT = """
from typing import Literal
from backend.thinkers.base import Manifest
from backend.tools.base import Result, tool

MANIFEST = Manifest(
    domain="paint", label="Paint", description="how much paint a wall needs",
    example="How much white paint does a wall of ten square meters need?", prompt="Look it up.", tools=("paint",),
)

@tool("paint", "Litres of paint for a wall.")
async def paint(color: Literal["white", "blue", "red"], square_meters: float) -> Result:
    return Result({"liters": square_meters / 8, "paint": color})
"""
QUESTIONS = (
    # the plugin, a question, the arguments of its tool, and the words of the answer
    (FERRIES, "What time does the next ferry leave Calais tomorrow?", {"harbour": "Calais", "day": "tomorrow"},
     "Ferry: from Calais at half past nine; day: tomorrow."),
    (FERRIES, "Is there a ferry from Ostend on Friday?", {"harbour": "Ostend", "day": "Friday"},
     "Ferry: from Ostend at half past nine; day: Friday."),
    (PAINT, "How many liters of blue paint do I need for a wall of forty square meters?",
     {"color": "blue", "square_meters": 40}, "Liters: 5.0; paint: blue."),
    (PAINT, "How much blue paint? Do I need for a wall of 40 square meters?",  # as recognition wrote it once
     {"color": "blue", "square_meters": 40}, "Liters: 5.0; paint: blue."),
    (PAINT, "How much red paint does my wall of 12.5 square meters need?", {"color": "red", "square_meters": 12.5},
     "Liters: 1.5625; paint: red."),
)  # fmt: skip


def loaded(folder: Path, source: str) -> tuple[Manifest, Tool, Registry]:
    """The manifest of a plugin with this source, its tool, and the runner of that tool."""
    (folder / "plugin.py").write_text(source)
    (module,) = installed([folder]).plugins
    (tool,) = tools_of(module)
    manifest: Manifest = module.MANIFEST
    return manifest, tool, toolbox(getattr(module, tool.name))


def answer(question: str, tool: Tool, *rounds: dict[str, Any]) -> Any:
    """The words or calls of the Thinker."""
    return complete([{"role": "user", "content": question}, *rounds], [tool.schema()], NOW)


@pytest.mark.parametrize(("source", "question", "arguments", "words"), QUESTIONS)
async def test_a_question_is_routed_its_arguments_are_filled_and_its_result_is_spoken(
    tmp_path: Path, source: str, question: str, arguments: dict[str, Any], words: str
) -> None:
    manifest, tool, box = loaded(tmp_path, source)
    (routed,) = respond(of_messages([("user", question)]), [route(*MANIFESTS, manifest)], NOW).calls
    assert json.loads(routed.arguments) == {"domain": manifest.domain, "query": question}

    (call,) = answer(question, tool).calls
    assert (call.name, json.loads(call.arguments)) == (tool.name, arguments)
    result = await box.run(call.name, call.arguments, tool_context("ada", "s1"))
    made = {"id": "c1", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    done = {"role": "tool", "tool_call_id": "c1", "content": result.content}
    assert answer(question, tool, {"role": "assistant", "tool_calls": [made]}, done).text == words


def test_a_missing_required_argument_is_asked_for(tmp_path: Path) -> None:
    _, tool, _ = loaded(tmp_path, FERRIES)
    assert answer("When does the next ferry leave Calais?", tool).text == "On which day?"
    assert answer("When does the ferry leave tomorrow?", tool).text == "Which harbour do you mean?"
    _, tool, _ = loaded(tmp_path, PAINT)
    assert answer("How much paint does a wall of ten square meters need?", tool).text == "Which color do you mean?"

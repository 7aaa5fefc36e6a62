"""The blocks of the Brain document for authors run as plugins: a tool, and a brainlet with its configuration."""

import json
from pathlib import Path
from typing import Any

import pytest

from backend.agent.context import Exchange
from backend.errors import BadPlugin
from backend.middleware.base import Aside, Asked, MiddlewareStep
from backend.middleware.pipeline import Pipeline, steps_of
from backend.models.base import ChatModel
from backend.models.chat_completions import ChatCompletions
from backend.testing.services.server import serving
from backend.tools.base import ToolContext
from backend.tools.discovery import folder_modules
from tests.documents.blocks import adapted
from tests.support import chat_api as api
from tests.thinkers.world import world

CONFIGURATION: dict[str, Any] = json.loads(adapted("002/brainlet-config.json"))
ASKED = Asked("Where is my bike?", "ada", "c1", mode="default")
ASK = 'await request.ask("Name keywords.")'


def pasted(folder: Path, result: str = ASK, **changed: Any) -> MiddlewareStep:
    """The document's brainlet as a plugin, with this result and these changes to its configuration."""
    folder.mkdir(exist_ok=True)
    (folder / "brainlet-config.json").write_text(json.dumps(CONFIGURATION | changed))
    (folder / "brainlet.py").write_text(adapted("002/brainlet.py").replace(ASK, result))
    [step] = steps_of(folder_modules(folder)[0])
    return step


@pytest.mark.document("002", "tools and their registry")
@pytest.mark.block("002/tool.py")
async def test_the_documented_tool_loads_and_runs(tmp_path: Path) -> None:
    (tmp_path / "my_tool.py").write_text(adapted("002/tool.py"))
    async with world(folders=(tmp_path,)) as w:
        registry: Any = w.thinkers.registry.dependencies.toolbox
        made = registry.get_tool("my_tool")
        assert (made.persistent, made.clients) == (True, {"internal", "copilot"})
        assert made in registry.get_always_tools("copilot") and made not in registry.get_always_tools("voice")
        assert made.guidance == "Optional extra context injected into system prompt"
        assert made.schema()["function"]["parameters"]["required"] == ["thing"]
        assert json.loads((await registry.call_tool("my_tool", {"thing": "it"})).content) == {"status": "ok"}
        refused = await registry.call_tool("my_tool", {}, ToolContext("ada"))
    assert refused.error == "invalid_arguments" and "thing missing" in refused.content


@pytest.mark.document("002", "brainlets")
@pytest.mark.block("002/brainlet.py", "002/brainlet-config.json")
async def test_the_documented_brainlet_asks_its_model_with_its_options(tmp_path: Path) -> None:
    async with serving(lambda request: api.stream(api.words("bike cellar"), api.ended())) as server:
        model = ChatCompletions(base_url=f"{server.url}/v1", api_key="k")
        pipeline = Pipeline([pasted(tmp_path)], {ChatModel: model})
        prepared = await pipeline.before(ASKED)
        await model.close()
        other = await pipeline.before(Asked("x", mode="expert"))
    [request] = server.requests
    sent = request.json()
    assert prepared.outputs["remembered"] == Exchange("remembered", {}, {"result": "bike cellar"})
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("gpt-4.1", 0.7, 64)
    assert [message["content"] for message in sent["messages"]] == ["Name keywords.", "Where is my bike?"]
    assert not other.outputs, "it runs in its modes alone"


@pytest.mark.document("002", "brainlets")
async def test_a_brainlet_gets_the_results_of_those_it_depends_on(tmp_path: Path) -> None:
    seen = '{"seen": brainlets_output}'
    after = {"depends_on": ["two"], "execution_stage": "post"}
    steps = [
        pasted(tmp_path / "1", '["a", "b"]', name="one"),
        pasted(tmp_path / "2", seen, name="two", depends_on=["one"]),
        pasted(tmp_path / "3", "[brainlets_output, request.messages[-1]]", name="three", **after),
    ]
    pipeline = Pipeline(steps)
    prepared = await pipeline.before(ASKED)
    turn = await pipeline.after(prepared.turn("In the cellar."))
    answer = {"role": "assistant", "content": "In the cellar."}
    assert turn.earlier["three"] == Aside([{"two": {"seen": {"one": ["a", "b"]}}}, answer])
    assert turn.answer == "In the cellar."


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"options": {"tempreture": 0.7}}, r"brainlet\.py:\d+ .*remembered.*`tempreture`"),
        ({"options": {"temperature": 7}}, "temperature"),
        ({"provider": "elsewhere"}, "'elsewhere'"),
    ],
)
def test_a_wrong_configuration_is_named(tmp_path: Path, changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadPlugin, match=problem):
        pasted(tmp_path, **changed)

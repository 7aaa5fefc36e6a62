"""The examples run as their docstrings say, against a chat server on this machine. The `.env` files are settings."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from dotenv import dotenv_values

from backend.settings.settings import groups, load_settings
from backend.testing.services.server import Reply, Request, serving
from tests.support import chat_api as api

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TAGGED = '<function_call>{"name": "calculate", "args": {"expression": "50 - 3 * 12"}}</function_call>'
CALLED = api.call_pieces(0, "c1", "calculate", '{"expression": "50 - 3 * 12"}')
DELIVERED = api.words("<shallow_thinking>SECRET</shallow_thinking>TASK_DONE<deliverable>Output: 14.</deliverable>")
PLAN = api.words("<deep_thinking>SECRET</deep_thinking>TASK_DONE<instruction>Compute and deliver.</instruction>")
RUNS = {
    "run_model_service.py": ([("fast", api.words("You get 14."))], "You get 14.\n"),
    "run_function_calling.py": ([("fast", api.words(TAGGED))], "\ncalculate: {"),
    "run_reasoner_without_func_calling.py mono": ([("clever", DELIVERED)], "Output: 14.\n"),
    "run_reasoner_without_func_calling.py dual": ([("clever", PLAN), ("fast", DELIVERED)], "Output: 14.\n"),
    "run_mono_reasoner_with_func_calling.py": ([("clever", CALLED), ("clever", DELIVERED)], "Output: 14.\n"),
    "run_dual_reasoner_with_func_calling.py": (
        [("clever", PLAN), ("fast", CALLED), ("fast", DELIVERED)],
        "Output: 14.\n",
    ),
}


@pytest.mark.document("004", "generate")
@pytest.mark.parametrize("command", RUNS)
async def test_an_example_runs(command: str, tmp_path: Path) -> None:
    script, printed = list(RUNS[command][0]), RUNS[command][1]
    asked = list[str]()

    def answer(request: Request) -> Reply:
        asked.append(request.json()["model"])
        said = script.pop(0)[1]
        return api.stream(said, api.ended("tool_calls" if said is CALLED else "stop"))

    async with serving(answer) as server:
        settings = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url}
        settings |= {"THINKER_MODEL": "fast", "THINKER_MODEL_ADVANCED": "clever"}
        output = await ran(command, tmp_path, settings)
        last = [each.json()["messages"][-1] for each in server.requests]
    assert printed in output and "14" in output and "SECRET" not in output, output
    assert asked == [model for model, _ in RUNS[command][0]]
    results = [message["content"] for message in last if message["role"] == "tool"]
    assert len(results) == sum(said is CALLED for _, said in RUNS[command][0])
    assert all("14" in result for result in results)


async def test_without_a_key_an_example_says_what_to_set(tmp_path: Path) -> None:
    assert "Set OPENAI_API_KEY" in await ran("run_model_service.py", tmp_path, {}, status=1)


async def ran(command: str, folder: Path, settings: dict[str, str], status: int = 0) -> str:
    """The output of a script in a folder without `.env`."""
    name, *arguments = command.split()
    kept = {each: os.environ[each] for each in ("PATH", "HOME") if each in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        EXAMPLES / name,
        *arguments,
        cwd=folder,
        env=kept | settings,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == status, output.decode()
    return output.decode()


def test_this_module_runs_every_script() -> None:
    assert {path.name for path in EXAMPLES.glob("run_*.py")} == {command.split()[0] for command in RUNS}


@pytest.mark.document("004", "generate")
@pytest.mark.parametrize("provider", ["gemini", "qwen", "deepseek"])
def test_an_env_file_sets_what_thinkers_need_and_has_no_unknown_setting(provider: str) -> None:
    file = EXAMPLES / f"{provider}.env"
    values = dotenv_values(file)
    assert set(values) <= {name for kind in groups().values() for name, _ in kind.variables()}
    settings = load_settings(_env_file=file)
    assert settings.provider.openai_base_url == values["OPENAI_BASE_URL"] and settings.provider.names == ["local"]
    models = (settings.models.thinker_model, settings.models.thinker_model_advanced)
    assert all(each.startswith(provider) for each in models)
    assert settings.provider.openai_api_key and settings.provider.openai_api_key.get_secret_value().startswith("your-")

"""The first document's quick start, new Thinker, variables and cache times hold here."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from backend.app.extensions import installed
from backend.errors import BadPlugin
from backend.settings.unknown import unknown_settings
from backend.tools.discovery import folder_modules
from backend.users.profile import load_profile
from scripts.settings_table import ROOT, variables
from scripts.thinkers_table import manifests
from tests.documents.blocks import adapted, block
from tests.support.running_server import end, environment
from tests.support.waiting import until
from tests.thinkers.world import world


@contextmanager
def started(script: str, folder: Path) -> Iterator[Path]:
    """Run a script of the shell that becomes a server, and yield its log; the server ends with the block."""
    settings = environment(folder) | {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "PYTHONPATH": str(ROOT)}
    settings["PATH"] = f"{Path(sys.executable).parent}:{settings['PATH']}"
    log = folder / "log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            ["bash", "-c", script], cwd=folder, env=settings, stdout=written, stderr=written, start_new_session=True
        )
    try:
        yield log
    finally:
        end(process)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the reloader may leave its child


@pytest.mark.process
@pytest.mark.document("001", "offer and page")
@pytest.mark.block("001/local-development.sh")
async def test_the_quick_start_serves_the_page(tmp_path: Path) -> None:
    with started(adapted("001/local-development.sh"), tmp_path) as log:
        await until(lambda: "startup complete" in log.read_text(), 90)
        [address] = re.findall(r"running on (http://[\d.:]+)", log.read_text())
        async with httpx2.AsyncClient(base_url=address, trust_env=False) as http:
            assert "<!doctype html>" in (await http.get("/")).text
    suggested = re.sub("^# (?=[A-Z_]+=)", "", (tmp_path / ".env").read_text(), flags=re.M)
    (tmp_path / ".env").write_text(suggested)
    assert unknown_settings({}, tmp_path / ".env", installed().settings) == []


@pytest.mark.block("001/new-thinker.py", "001/registration.py", "001/routing-enum.py", "001/routing-description.py")
async def test_a_new_thinker_is_routed_to_and_leaves_a_fact(tmp_path: Path) -> None:
    plugin = tmp_path / "your_domain.py"
    plugin.write_text(adapted("001/new-thinker.py"))
    async with world(["It is so."], folders=(tmp_path,)) as w:
        routing = w.thinkers.registry.route_tool("chat")["parameters"]["properties"]["domain"]
        assert "your_domain" in routing["enum"]
        assert "- your_domain: for What this thinker does" in w.thinkers.registry.guide()
        assert (await w.ask("your_domain", "How is it?")).text == "It is so."
        assert "Your focused system prompt..." in w.system()
        assert (await load_profile(w.memory, "ada")).facts == ("User asked about your domain",)
    plugin.write_text(re.sub(r"from (langsmith|openai) .*\n", "", block("001/new-thinker.py")))  # they take seconds
    with pytest.raises(BadPlugin, match=r"your_domain\.py:"):
        folder_modules(tmp_path)


@pytest.mark.document("001", "silence")
@pytest.mark.block("001/configuration.env")
def test_the_variables_have_the_documented_defaults() -> None:
    wanted = dict(line.split("=", 1) for line in adapted("001/configuration.env").splitlines())
    defaults = {each.name: each.default for each in variables()}
    assert {name for name in wanted if not name.startswith("LANGSMITH_")} <= defaults.keys()
    assert {name: defaults.get(name, value) for name, value in wanted.items()} == wanted
    assert (defaults["IDLE_NUDGE_S"], defaults["IDLE_DISCONNECT_S"]) == ("15", "60")


@pytest.mark.document("001", "cached answers")
def test_answers_are_cached_for_the_documented_times() -> None:
    times = {each.domain: each.cache_ttl_s for each in manifests()}
    documented = {"weather": 600, "news": 300, "stocks": 60, "knowledge": 120}
    assert times.items() >= documented.items()

"""A server decides at its start who may call: with keys it refuses to be open to others, and it logs who is admitted.

The processes are real. They end in time by themselves, or the test ends them.
"""

import subprocess
import tempfile

import httpx2
import pytest

from tests.support.running_server import COMMAND, a_browser, running_server

SECRET = "s" * 32
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_open_server_with_credentials_does_not_start_on_a_public_address(workers: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        env = {"DATA_DIR": f"{folder}/var", "WORKERS": workers, "OPENAI_API_KEY": "test-key"}
        started = subprocess.run(
            [COMMAND, "serve", "--host", "0.0.0.0", "--port", "0"],
            cwd=folder,
            env=env | {"PATH": "/usr/bin:/bin", "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert started.returncode == 2, started.stdout + started.stderr
    assert "OPENAI_API_KEY" in started.stderr and "ACCESS=key" in started.stderr
    assert "test-key" not in started.stderr


async def test_it_starts_there_if_the_operator_allows_it_and_warns() -> None:
    with running_server(None, options=["--host", "0.0.0.0"], FINNHUB_API_KEY="t", ACCESS_OPEN_ANYWHERE="1") as server:
        assert "ACCESS_OPEN_ANYWHERE" in server.printed
        async with a_browser(server) as browser:
            tools = (await browser.get("/api/tools")).json()["tools"]
        assert {each["scope"] for each in tools} == {"anonymous"}, "even for this machine: others reach it, too"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_server_accepts_a_token_that_the_command_makes(workers: str) -> None:
    settings = {"ACCESS": "key", "API_KEYS": f"shop:{SECRET}"}
    with running_server(None, WORKERS=workers, **settings) as server:
        assert "key: programs with a key" in server.printed and SECRET not in server.printed
        made = subprocess.run(
            [COMMAND, "token", "ada", "--grant", "memory", "--minutes", "5"],
            cwd=server.folder,
            env=settings | {"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert made.returncode == 0, made.stderr
        shown = {"authorization": f"Bearer {made.stdout.strip()}"}
        with httpx2.Client(base_url=server.url, headers=shown, trust_env=False) as program:
            statuses = [program.get(path).status_code for path in ("/api/me", "/api/tasks")]
        assert statuses == [200, httpx2.codes.FORBIDDEN]

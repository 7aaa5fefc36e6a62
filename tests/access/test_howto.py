"""The program of the how-to and the command make tokens that the server takes."""

import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from backend.access.keys import ApiKeys
from backend.app.cli import app
from tests.http.test_keys import PAGE, SECRET, keyed, shown

HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "access.md"


async def test_the_program_of_the_howto_has_ten_lines_and_opens_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOICE_SECRET", SECRET)
    (snippet,) = re.findall(r"```python\n(.*?)```", HOWTO.read_text(), re.S)
    assert len([line for line in snippet.splitlines() if line.strip()]) <= 10
    program: dict[str, Any] = {}
    exec(compile(snippet, str(HOWTO), "exec"), program)
    transport = httpx2.ASGITransport(program["app"])
    async with httpx2.AsyncClient(transport=transport, base_url="https://shop.example") as page:
        token = (await page.get("/voice-token")).json()["token"]
    async with keyed(tmp_path) as here, here.browser(headers=shown(token, PAGE)) as browser:
        session = await browser.post("/api/sessions", json={})
        assert session.status_code == 200
        assert session.headers["access-control-allow-origin"] == PAGE
        assert (await browser.get("/api/me")).status_code == 403


def test_the_command_makes_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEYS", f"other:{'o' * 32},shop:{SECRET}")
    options = ["--grant", "call", "--tool", "calculate", "--key", "shop", "--minutes", "5", "--origin", PAGE]
    made = CliRunner().invoke(app, ["token", "ada", *options])
    assert made.exit_code == 0, made.output
    signed = ApiKeys({"shop": SECRET}).read(made.output.strip())
    assert (signed.user, signed.tools, signed.claims.origin) == ("shop.ada", frozenset({"calculate"}), PAGE)
    assert signed.claims.exp - signed.claims.iat == 300


def test_the_command_makes_a_token_for_an_editor_that_is_valid_for_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEYS", f"shop:{SECRET}")
    made = CliRunner().invoke(app, ["token", "ada", "--grant", "mcp_copilot", "--days", "90"])
    assert made.exit_code == 0, made.output
    claims = ApiKeys({"shop": SECRET}).read(made.output.strip()).claims
    assert claims.exp - claims.iat == 90 * 86_400
    refused = CliRunner().invoke(app, ["token", "ada", "--grant", "call", "--days", "90"])
    assert refused.exit_code != 0 and "lives longer" in str(refused.exception)


def test_the_command_without_a_key_names_the_missing_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEYS", "")
    failed = CliRunner().invoke(app, ["token", "ada", "--grant", "call"])
    assert failed.exit_code != 0 and "API_KEYS" in str(failed.exception)

"""`responder-thinker doctor`: its checks, its words, and its status."""

import asyncio
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from backend.app.doctor import CHECKS, Finding, Verdict
from backend.settings.settings import load_settings
from tests.app.test_cli import run
from tests.support.http_server import serve
from tests.support.offline_peer import running_peer
from tests.support.redis_server import running_redis

KEY = "sk-never-shown"
NAMES = ["Python", "Settings", "Codecs", "Detector", "Disk", "Redis", "Database", "Provider", "Models", "ICE"]


def findings(said: str) -> dict[str, tuple[str, str]]:
    """Return the mark and the words of each check; the words end with the advice."""
    found: dict[str, tuple[str, str]] = {}
    name = ""
    for line in said.splitlines():
        if line[:1] in "✓!✗":
            mark, name, words = line.split(maxsplit=2)
            found[name] = mark, words
        elif name:
            found[name] = found[name][0], f"{found[name][1]} {line.strip()}"
    return found


async def check(name: str, **given: Any) -> Finding:
    """Make one check with these settings."""
    return await CHECKS[name](load_settings(_env_file=None, **given))


def test_without_a_key_every_check_is_made_and_no_file_is_left(tmp_path: Path) -> None:
    ended = run("doctor", folder=tmp_path)
    found = findings(ended.stdout)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [*found] == NAMES
    assert "local" in found["Provider"][1] and "ms" in found["Provider"][1]
    assert "libopus encodes" in found["Codecs"][1]
    assert not [*tmp_path.rglob("*.db")]


def test_a_broken_part_is_named_with_advice(tmp_path: Path) -> None:
    ended = run(
        "doctor",
        folder=tmp_path,
        OPENAI_API_KEY=KEY,
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
        REDIS_URL="redis://:secret@127.0.0.1:1",
        DATABASE_URL="postgresql://ann:secret@127.0.0.1:1/voice",
        SESION_CAP="3",
        ICE_SERVERS='[{"urls": "stun:127.0.0.1:9"}]',
    )
    found = findings(ended.stdout)
    broken = {name for name, (mark, _) in found.items() if mark == "✗"}
    assert ended.returncode == 1 and broken == {"Redis", "Database", "Provider", "ICE"}
    assert all("→" in found[name][1] for name in broken)
    assert "SESSION_CAP" in found["Settings"][1]
    assert KEY not in ended.stdout + ended.stderr and "secret" not in ended.stdout + ended.stderr


def test_the_check_of_a_provider_opens_a_real_session() -> None:
    with running_peer() as peer, running_redis() as redis:
        given: dict[str, Any] = {"openai_api_key": KEY, "openai_base_url": f"{peer.url}/v1", "redis_url": redis.url}
        provider, memory = (asyncio.run(check(name, **given)) for name in ("Provider", "Redis"))
    assert provider.verdict is Verdict.FINE and "gpt-realtime-2 in" in provider.message
    assert memory.verdict is Verdict.FINE


async def test_a_model_that_the_api_does_not_list_is_named() -> None:
    async def list_models(_: Request) -> JSONResponse:
        return JSONResponse({"data": [{"id": "gpt-5.4-mini"}, {"id": "gpt-5.4"}]})

    async with serve(Starlette(routes=[Route("/v1/models", list_models)])) as url:
        models = await check("Models", openai_api_key=KEY, openai_base_url=f"{url}/v1")
    assert models.verdict is Verdict.BROKEN and "EMBEDDING_MODEL=text-embedding-3-small" in models.message
    assert "THINKER_MODEL" not in models.message

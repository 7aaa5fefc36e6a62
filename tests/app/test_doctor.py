"""`responder-thinker doctor`: what it tries, what it says, and its status."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.app.test_cli import run
from tests.support.offline_peer import running_peer
from tests.support.redis_server import running_redis

KEY = "sk-never-shown"
NAMES = [
    *("Python", "Settings", "Codecs", "Detector", "Disk", "Clock", "Redis", "Database", "Provider", "Models", "ICE"),
    *("Ports", "Microphone"),
]


def findings(said: str) -> dict[str, tuple[str, str]]:
    """Each check's mark and words; advice follows in the words."""
    found: dict[str, tuple[str, str]] = {}
    name = ""
    for line in said.splitlines():
        if line[:1] in "✓!✗":
            mark, name, words = line.split(maxsplit=2)
            found[name] = mark, words
        elif name:
            found[name] = found[name][0], f"{found[name][1]} {line.strip()}"
    return found


@contextmanager
def a_model_list(models: tuple[str, ...], ahead: timedelta = timedelta()) -> Iterator[str]:
    """An API that lists models, by a clock of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"data": [{"id": model} for model in models]}).encode()
            self.send_response_only(200)
            self.send_header("Date", format_datetime(datetime.now(UTC) + ahead, usegmt=True))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_on_a_machine_without_a_key_everything_is_tried_and_nothing_is_left_behind(tmp_path: Path) -> None:
    ended = run("doctor", folder=tmp_path)
    found = findings(ended.stdout)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [*found] == NAMES
    assert "local" in found["Provider"][1] and "ms" in found["Provider"][1]
    assert "libopus encodes" in found["Codecs"][1]
    assert not [*tmp_path.rglob("*.db")]


def test_what_is_broken_is_named_with_what_to_do(tmp_path: Path) -> None:
    ended = run(
        "doctor",
        folder=tmp_path,
        OPENAI_API_KEY=KEY,
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
        REDIS_URL="redis://:secret@127.0.0.1:1",
        DATABASE_URL="postgresql://ann:secret@127.0.0.1:1/voice",
        SESION_CAP="3",
        ICE_SERVERS='[{"urls": "stun:127.0.0.1:9"}]',
        ALLOWED_ORIGINS="http://voice.example.com",
    )
    found = findings(ended.stdout)
    broken = {name for name, (mark, _) in found.items() if mark == "✗"}
    assert ended.returncode == 1 and broken == {"Redis", "Database", "Provider", "ICE", "Microphone"}
    assert all("→" in found[name][1] for name in broken)
    assert "SESSION_CAP" in found["Settings"][1] and "voice.example.com" in found["Microphone"][1]
    assert KEY not in ended.stdout + ended.stderr and "secret" not in ended.stdout + ended.stderr


def test_a_provider_is_asked_for_a_real_session(tmp_path: Path) -> None:
    with running_peer() as peer, running_redis() as redis:
        ended = run(
            "doctor",
            folder=tmp_path,
            OPENAI_API_KEY=KEY,
            OPENAI_BASE_URL=f"{peer.url}/v1",
            REDIS_URL=redis.url,
        )
    found = findings(ended.stdout)
    assert found["Provider"][0] == "✓" and "gpt-realtime-2 in" in found["Provider"][1], ended.stdout
    assert found["Redis"][0] == "✓"


@pytest.mark.parametrize(("minutes", "mark"), [pytest.param(0, "✓", marks=pytest.mark.long), (10, "✗")])
def test_the_clock_is_compared_with_the_providers(tmp_path: Path, minutes: int, mark: str) -> None:
    with a_model_list(("gpt-5.4-mini", "gpt-5.4"), timedelta(minutes=minutes)) as url:
        ended = run("doctor", folder=tmp_path, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=url, RESPONDER="local")
    clock, models = findings(ended.stdout)["Clock"], findings(ended.stdout)["Models"]
    assert clock[0] == mark
    assert not minutes or "behind" in clock[1]
    assert models[0] == "✗" and "EMBEDDING_MODEL=text-embedding-3-small" in models[1]
    assert "THINKER_MODEL" not in models[1]


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = run("doctor", "--port", str(taken.getsockname()[1]), folder=tmp_path)
    assert findings(ended.stdout)["Ports"][0] == "!" and "in use" in findings(ended.stdout)["Ports"][1]

"""The command, as a process: what it prints, its status, and a traceback for nobody."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.media.sound_file import read_audio, write_wav
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import COMMAND, RunningServer, running_server
from tests.support.speech import frames_of, speech
from tests.support.tones import audible, pitch

RUN_WITHIN_S = 60.0


def run(*arguments: str | Path, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """`responder-thinker …` in `folder`, to its end."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=folder,
        env=kept | {"COLUMNS": "200"} | env,
        capture_output=True,
        text=True,
        timeout=RUN_WITHIN_S,
        check=False,
    )


def refused(ended: subprocess.CompletedProcess[str]) -> str:
    """What a command said that ended with status 2, in words and not with a traceback."""
    said = ended.stdout + ended.stderr
    assert ended.returncode == 2, said
    assert "Traceback" not in said
    return said


@pytest.fixture(scope="module")
def server(peer: OfflinePeer) -> Iterator[RunningServer]:
    with running_server(peer) as running:
        yield running


@pytest.fixture
def question(tmp_path: Path) -> Path:
    path = tmp_path / "question.wav"
    write_wav(path, speech("how high is the Eiffel tower"))
    return path


@pytest.mark.parametrize(("command", "words"), [((), ("serve", "talk")), (("serve",), ("--port", "--host"))])
def test_help_names_what_there_is(tmp_path: Path, command: tuple[str, ...], words: tuple[str, ...]) -> None:
    ended = run(*command, "--help", folder=tmp_path)
    assert ended.returncode == 0
    assert all(word in ended.stdout for word in words)


def test_a_setting_that_makes_no_sense_is_named_with_its_mend(tmp_path: Path) -> None:
    said = refused(run("serve", folder=tmp_path, VAD__THRESHOLD="2", REDIS_URL="localhost"))
    assert "VAD__THRESHOLD" in said and "REDIS_URL" in said and "redis://localhost:6379/0" in said
    assert ".env.example" in said


def test_an_address_that_is_not_this_machines_is_refused_in_words(tmp_path: Path) -> None:
    assert "--host" in refused(run("serve", "--host", "192.0.2.1", folder=tmp_path))


def test_the_log_level_is_a_setting_too(tmp_path: Path) -> None:
    assert "LOG_LEVEL" in refused(run("serve", folder=tmp_path, LOG_LEVEL="loud"))
    assert "--port" in refused(run("serve", "--port", "70000", folder=tmp_path, LOG_LEVEL="INFO"))


def test_talking_to_nobody_says_how_to_start_a_server(tmp_path: Path, question: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    said = refused(run("talk", question, "--url", url, folder=tmp_path))
    assert url in said and "make run" in said


def test_a_file_that_is_no_sound_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.wav").write_text("not sound")
    assert "notes.wav" in refused(run("talk", "notes.wav", folder=tmp_path))
    assert "missing.wav" in refused(run("talk", "missing.wav", folder=tmp_path))


@pytest.mark.parametrize("transport", ["webrtc", "ws"])
async def test_talk_prints_the_conversation_and_saves_what_it_hears(
    peer: OfflinePeer, server: RunningServer, tmp_path: Path, question: Path, transport: str
) -> None:
    asked = {"name": "route_to_thinker", "arguments": {"domain": "knowledge", "query": "height of the Eiffel tower"}}
    turn = {
        "hear": "how high is the Eiffel tower",
        "reply": {"calls": [asked]},
        "after_results": [{"text": "It is 330 metres high.", "tone": {"hz": 660, "ms": 900}}],
    }
    await peer.follow({"turns": [turn], "chat": [{"text": "330 metres."}]})
    out = tmp_path / "reply.wav"
    options = ("--out", out, "--url", server.url, "--transport", transport)
    ended = await asyncio.to_thread(run, "talk", question, *options, folder=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = ended.stdout.splitlines()
    assert "you: how high is the Eiffel tower" in lines
    assert sum(line.startswith("Talking to: ") for line in lines) == 1
    assert "assistant: It is 330 metres high." in lines
    assert any("asked: “height of the Eiffel tower”" in line for line in lines)
    assert any("answered after" in line and "(model's knowledge)" in line for line in lines)
    heard = [frame for frame in frames_of(read_audio(out)) if audible(frame)]
    assert abs(len(heard) * 20 - 900) <= 60
    assert abs(pitch(b"".join(heard)) - 660) < 15

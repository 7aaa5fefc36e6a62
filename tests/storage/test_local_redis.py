"""Without REDIS_URL the server uses this machine's own Redis if it is empty or ours, and says what it chose."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.app.doctor import CHECKS, Verdict
from backend.errors import SettingsError
from backend.settings.memory import LOCAL_REDIS, with_password
from backend.settings.settings import load_settings
from backend.storage import client, embedded, local_redis, redis_server
from backend.storage.embedded import OpenedMemory, join_memory, open_memory
from backend.storage.local_redis import MARKER
from tests.storage.test_embedded import HELLO, remember_hello
from tests.storage.test_guarded_redis import PASSWORD, asked, guarded_redis
from tests.support.ports import free_port

TRIAL = {"PUBLISH_ON": "127.0.0.1"}
"""What docker-compose.yml gives to its Redis where nothing is set."""
WITHIN_S = local_redis.WITHIN_S


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait long for Redis: tests share the machine, and only one of these is about the time."""
    monkeypatch.setattr(local_redis, "WITHIN_S", 10.0)
    monkeypatch.setattr(client, "TIMEOUT_S", 10.0)
    monkeypatch.setattr(client, "SOCKET_TIMEOUT_S", 9.0)
    monkeypatch.setattr(redis_server, "READY_WITHIN_S", 60.0)


@pytest.fixture
def no_binary(monkeypatch: pytest.MonkeyPatch) -> None:
    """No redis-server is installed."""
    monkeypatch.setattr(embedded, "find_binary", lambda: None)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of an empty Redis, started as `docker compose up -d redis` starts it."""
    with guarded_redis(tmp_path, **TRIAL) as port:
        yield f"redis://127.0.0.1:{port}/0"


async def opened_at(url: str, folder: Path) -> OpenedMemory:
    """Open the memory and close it again."""
    opened = await open_memory(None, folder, local_url=url)
    await opened.memory.close()
    return opened


@pytest.mark.document("001", "traces, settings and Docker")
async def test_an_empty_redis_of_this_machine_becomes_ours_and_keeps_what_was_said(url: str, tmp_path: Path) -> None:
    opened = await open_memory(None, tmp_path, local_url=url)
    assert opened.label.startswith("Redis ") and f"at {url[8:]} (survives a restart)" in opened.label
    assert (opened.detail, opened.url) == ("", url)
    await remember_hello(opened)
    again = await open_memory(None, tmp_path, local_url=url)
    assert await again.memory.recent_messages("u1", "s1") == [HELLO]
    await again.memory.close()
    assert not (tmp_path / "redis").exists(), "the embedded server was started"
    assert await asked(with_password(url.replace("//", "//default@"), "any"), "PING"), "a container cannot reach it"


async def test_a_redis_with_data_of_others_is_left_as_it_is(url: str, tmp_path: Path) -> None:
    await asked(url, "SET", "theirs", "1")
    opened = await opened_at(url, tmp_path)
    assert opened.label.startswith("embedded Redis ")
    assert f"Redis at {url[8:]} is not used: it holds data of other programs." in opened.detail
    assert (await asked(url, "DBSIZE"), await asked(url, "EXISTS", MARKER)) == (1, 0)
    await asked(url, "DEL", "theirs")
    opened = await opened_at(url, tmp_path)
    assert opened.label.startswith("embedded Redis "), "earlier memory was left behind for an empty Redis"
    assert f"REDIS_URL=redis://{url[8:]}" in opened.detail and await asked(url, "DBSIZE") == 0


@pytest.mark.usefixtures("no_binary")
async def test_without_a_redis_server_another_database_is_used_so_that_memory_survives(
    url: str, tmp_path: Path
) -> None:
    for number in (0, 1):
        await asked(f"{url[:-1]}{number}", "SET", "theirs", "1")
    for _ in range(2):
        opened = await opened_at(url, tmp_path)
        assert opened.url == f"{url[:-1]}2" and "survives a restart" in opened.label
        assert "holds data of other programs" in opened.detail


@pytest.mark.usefixtures("no_binary")
async def test_an_empty_redis_is_used_where_earlier_memory_cannot_be_read(url: str, tmp_path: Path) -> None:
    (tmp_path / "redis" / "appendonlydir").mkdir(parents=True)
    opened = await opened_at(url, tmp_path)
    assert opened.url == url and "not used" not in opened.detail


@pytest.mark.usefixtures("no_binary")
@pytest.mark.parametrize("given", ["", "wrong"])
async def test_a_refused_password_is_named_and_never_shown(tmp_path: Path, given: str) -> None:
    with guarded_redis(tmp_path, REDIS_PASSWORD=PASSWORD, **TRIAL) as port:
        bare = f"redis://127.0.0.1:{port}/0"
        opened = await opened_at(with_password(bare, given), tmp_path)
        assert "REDIS_PASSWORD is not its password" in opened.detail and ":wrong@" not in opened.detail
        assert (await opened_at(with_password(bare, PASSWORD), tmp_path / "other")).label.startswith("Redis ")


@pytest.mark.usefixtures("no_binary")
@pytest.mark.parametrize("protected", [{}, {"ACCESS": "key"}, {"PUBLISH_ON": "0.0.0.0"}], ids=str)
async def test_composes_redis_needs_a_password_unless_all_of_it_is_for_this_machine_alone(
    tmp_path: Path, protected: dict[str, str]
) -> None:
    given = TRIAL | protected if protected else {}
    with guarded_redis(tmp_path, **given) as port:
        assert "not its password" in (await opened_at(f"redis://127.0.0.1:{port}/0", tmp_path)).detail


@pytest.mark.usefixtures("no_binary")
async def test_where_nothing_listens_the_server_says_so(tmp_path: Path) -> None:
    opened = await opened_at(f"redis://127.0.0.1:{free_port()}/0", tmp_path)
    assert opened.url is None and "no Redis answers there" in opened.detail


@pytest.mark.usefixtures("no_binary")
async def test_a_silent_port_delays_the_start_by_less_than_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_redis, "WITHIN_S", WITHIN_S)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        before = time.monotonic()
        opened = await opened_at(f"redis://127.0.0.1:{silent.getsockname()[1]}/0", tmp_path)
        assert WITHIN_S < 1.0 and time.monotonic() - before < 5.0
    assert "it does not answer in time" in opened.detail


async def test_a_worker_joins_the_redis_of_the_server_but_never_makes_one_ours(url: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        await join_memory(None, tmp_path, local_url=url)
    assert await asked(url, "DBSIZE") == 0
    await opened_at(url, tmp_path)
    joined = await join_memory(None, tmp_path, local_url=url)
    await joined.memory.close()
    assert joined.url == url


def test_only_an_unset_redis_url_leads_to_this_machines_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    def address(redis_url: str) -> str | None:
        return load_settings(_env_file=None, redis_url=redis_url, redis_password="a/b").memory.local_redis_url

    assert (address("embedded"), address("redis://elsewhere")) == (None, None)
    assert load_settings(_env_file=None).memory.local_redis_url is None, "a test could write into a developer's Redis"
    monkeypatch.delenv("REDIS_URL")
    found = load_settings(_env_file=None, redis_password="a/b").memory
    assert found.local_redis_url == with_password(LOCAL_REDIS, "a/b") and found.redis_url is None


async def test_the_doctor_names_the_redis_that_the_server_would_use_and_changes_nothing(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REDIS_URL")
    monkeypatch.setattr("backend.settings.memory.LOCAL_REDIS", url)
    settings = load_settings(_env_file=None, data_dir=tmp_path)
    finding = await CHECKS["Redis"](settings)
    assert finding.verdict is Verdict.FINE and url[8:] in finding.message
    assert await asked(url, "DBSIZE") == 0
    await asked(url, "SET", "theirs", "1")
    finding = await CHECKS["Redis"](settings)
    assert "embedded" in finding.message and "data of other programs" in finding.message

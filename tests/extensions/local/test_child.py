"""The local Responder as a child process: started, kept at its address, and ended."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import psutil
import pytest

from backend.errors import SetupError
from backend.extensions.local.child import LocalResponder
from backend.settings.settings import load_settings
from tests.support.processes import children
from tests.support.waiting import until

_others: set[int] = set()


@pytest.fixture(autouse=True)
def _remember_who_else_is_there() -> None:
    """Children that other tests left running."""
    _others.clear()
    _others.update(process.pid for process in children(os.getpid()))


def ours() -> list[psutil.Process]:
    """The children of this test."""
    return [process for process in children(os.getpid()) if process.pid not in _others]


def the_child() -> psutil.Process:
    """The local Responder itself: a process that it starts has the same command line for a moment."""
    direct = [process for process in psutil.Process().children() if process.pid not in _others]
    [only] = [process for process in direct if "backend.extensions.local" in process.cmdline()]
    return only


@asynccontextmanager
async def running() -> AsyncIterator[tuple[LocalResponder, psutil.Process]]:
    """A started child, and its process."""
    offline = LocalResponder(load_settings())
    try:
        await offline.start()
        yield offline, the_child()
    finally:
        await offline.close()


async def answers(url: str) -> bool:
    async with httpx2.AsyncClient(trust_env=False) as http:
        try:
            return (await http.get(f"{url}/v1/models")).status_code == 200
        except httpx2.TransportError:
            return False


async def test_a_child_that_dies_comes_back_at_the_same_address() -> None:
    async with running() as (offline, process):
        url = offline.url
        process.kill()
        await until(lambda: not offline.running)
        await until(lambda: answers(url), 15)
        assert offline.running and offline.url == url
        assert the_child().pid != process.pid


async def test_a_child_that_cannot_start_is_an_error_that_says_where_to_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    offline = LocalResponder(load_settings())
    with pytest.raises(SetupError) as failed:
        await offline.start()
    assert "python -m backend.extensions.local" in failed.value.hint
    await offline.close()
    assert not offline.running and ours() == []

"""Two machines and one Redis: a call whose media goes to one of them, asked about at the other."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as NotYet

from tests.support.hosts import Host, can_make_hosts, hosts
from tests.support.running_server import RunningServer, a_browser, placed_call, running_server
from tests.support.speech import speech

pytestmark = pytest.mark.skipif(not can_make_hosts(), reason="needs root and iproute2, to make network namespaces")


@contextmanager
def redis_on(host: Host) -> Iterator[str]:
    """A Redis that the whole network reaches."""
    binary = shutil.which("redis-server")
    assert binary
    with tempfile.TemporaryDirectory() as folder:
        options = ["--bind", "0.0.0.0", "--protected-mode", "no", "--port", "6379", "--save", "", "--dir", folder]
        process = subprocess.Popen([*host.prefix, binary, *options], stdout=subprocess.DEVNULL)
        try:
            _wait_for(host.address)
            yield f"redis://{host.address}:6379/0"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(5)


def _wait_for(address: str) -> None:
    deadline = time.monotonic() + 5
    with Redis(host=address, socket_timeout=1, socket_connect_timeout=1) as client:
        while True:
            try:
                client.ping()
            except NotYet:
                assert time.monotonic() < deadline, "Redis did not start"
                time.sleep(0.05)
            else:
                return


@contextmanager
def server_on(host: Host, redis_url: str) -> Iterator[RunningServer]:
    options = ["--host", host.address]
    with running_server(
        prefix=host.prefix, options=options, REDIS_URL=redis_url, SHARE_SESSIONS="true", SECRET_KEY="k" * 32
    ) as server:
        yield server


async def test_a_call_on_one_host_is_followed_and_ended_from_another() -> None:
    with (
        hosts(2) as (_, (first, second)),
        redis_on(first) as redis_url,
        server_on(first, redis_url) as here,
        server_on(second, redis_url) as there,
    ):
        async with placed_call(here) as call, a_browser(there) as elsewhere:
            elsewhere.headers["authorization"] = f"Bearer {call.ticket.token}"
            path = f"/api/sessions/{call.ticket.session_id}"
            await call.say(speech("What's the weather in Seattle?"))
            await call.told("thinker", within_s=20, event="complete", domain="weather")
            await call.hears_something()

            assert (await elsewhere.get(path)).json()["state"] == "live"
            told = []
            async with elsewhere.stream("GET", f"/api/events/{call.ticket.session_id}") as stream:
                async for line in stream.aiter_lines():
                    told += [line.removeprefix("event: ")] if line.startswith("event: ") else []
                    if "thinker" in told:
                        break
            assert told[0] == "session_started"
            assert (await elsewhere.delete(path)).status_code == 200
            ended = await call.told("session_ended", within_s=10)
            assert ended.data == {"reason": "deleted"}

"""What strangers try to have more than their share: made-up addresses behind a proxy, and sockets that never speak."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.access.test_two_processes import OTHER, STRANGER, browser
from tests.support.offline_peer import running_peer
from tests.support.running_server import RunningServer, placed_call, running_server

TRIED = 6
MOST = 2
DISGUISES: dict[str, Callable[[int], str]] = {
    "a port": lambda n: f"198.51.100.1:{1000 + n}",
    "an address before it": lambda n: f"10.9.{n}.1, 198.51.100.2",
    "our own before it": lambda _: "127.0.0.1, 198.51.100.3",
    "another of its network": lambda n: f"2001:db8::{n:x}",
    "a port behind IPv6": lambda n: f"[2001:db8:1::1]:{1000 + n}",
    "an interface": lambda n: f"fe80::1%eth{n}",
    "a name": lambda n: f"host-{n}.example",
    "our own": lambda _: "127.0.0.1",
    "nothing": lambda _: "",
}
"""What differs from request to request of one stranger → the header that the proxy would pass on."""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    limits = {"BUDGETS__ADDRESS__TASKS": str(MOST), "BACKGROUND__WORKER": "off"}
    with running_peer() as peer, running_server(peer, **limits) as running:
        yield running


@pytest.mark.parametrize("differs", DISGUISES)
async def test_no_disguise_of_an_address_is_a_new_address(server: RunningServer, differs: str) -> None:
    statuses: Counter[int] = Counter()
    for number in range(TRIED):
        async with browser(server, {"X-Forwarded-For": DISGUISES[differs](number)}) as client:  # without a cookie
            task = {"instruction": f"look {differs} {number}"}
            statuses[(await client.post("/api/tasks", json=task)).status_code] += 1
    assert statuses[202] <= MOST and statuses[429] >= TRIED - MOST, statuses


async def test_an_address_holds_sixteen_sockets_that_say_nothing_and_keeps_nobody_out(server: RunningServer) -> None:
    address = f"{server.url.replace('http', 'ws')}/ws/{'a' * 22}"

    async def hold(_: int) -> int:
        try:
            async with connect(address, additional_headers=STRANGER, proxy=None) as socket:
                await socket.wait_closed()
                return socket.close_code or 0
        except InvalidStatus as refused:
            return refused.response.status_code

    holding = [asyncio.create_task(hold(number)) for number in range(40)]
    async with browser(server, OTHER) as other, placed_call(server, transport="ws", browser=other):
        assert not all(task.done() for task in holding), "they are being held meanwhile"
    assert Counter(await asyncio.gather(*holding)) == {4404: 16, 403: 24}

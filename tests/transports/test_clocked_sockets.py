"""Sockets read by the media clock: every datagram arrives whole and once, and no socket blocks the others."""

import asyncio
import socket
from math import inf
from typing import Any

from backend.transports.udp import AT_ONCE, ClockedSocket, current_socket_reader
from tests.support.waiting import until


class Received(asyncio.DatagramProtocol):
    """Keeps its datagrams."""

    def __init__(self) -> None:
        self.datagrams: list[tuple[bytes, tuple[Any, ...]]] = []
        self.errors: list[Exception] = []
        self.made: asyncio.BaseTransport | None = None
        self.lost = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.made = transport

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        self.datagrams.append((data, addr))

    def error_received(self, exc: Exception) -> None:
        self.errors.append(exc)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost += 1


def bound() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    sock.bind(("127.0.0.1", 0))
    return sock


def opened(heard: asyncio.DatagramProtocol) -> ClockedSocket:
    return ClockedSocket(bound(), heard, current_socket_reader())


async def test_every_datagram_arrives_whole_and_in_order_with_its_address() -> None:
    heard, back = Received(), Received()
    here, there = opened(heard), opened(back)
    sent = [bytes([number]) * (number + 1) for number in range(200)]
    for data in sent:
        there.sendto(data, here.get_extra_info("sockname"))
    await until(lambda: len(heard.datagrams) == len(sent))
    assert [data for data, _ in heard.datagrams] == sent
    assert {address for _, address in heard.datagrams} == {there.get_extra_info("sockname")}
    assert heard.made is here
    here.close()
    there.close()


async def test_when_time_is_up_the_rest_waits_and_every_socket_gets_a_turn() -> None:
    intake, loop = current_socket_reader(), asyncio.get_running_loop()
    heard = [Received() for _ in range(3 * AT_ONCE)]
    here = [opened(each) for each in heard]
    there = bound()
    for sock in here:
        for data in (b"first", b"second"):
            there.sendto(data, sock.get_extra_info("sockname"))
    turns = []
    for _ in range(6):
        assert intake._read(until=loop.time()) is None  # is up already
        turns.append(sum(len(each.datagrams) for each in heard))
        if len(turns) == 3:
            assert all(len(each.datagrams) == 1 for each in heard)
    assert turns == [AT_ONCE * turn for turn in range(1, 7)]
    before = loop.time()
    assert before <= (intake._read(until=inf) or 0) <= loop.time()
    assert all([data for data, _ in each.datagrams] == [b"first", b"second"] for each in heard)
    for sock in here:
        sock.close()
    there.close()


async def test_a_closed_socket_notifies_its_protocol_once_and_frees_its_port() -> None:
    heard = Received()
    here = opened(heard)
    name, sock = here.get_extra_info("sockname"), here.get_extra_info("socket")
    assert not here.is_closing()
    here.close()
    here.abort()
    here.sendto(b"late", name)
    await until(lambda: heard.lost == 1)
    assert here.is_closing()
    assert sock.fileno() == -1


async def test_a_socket_that_a_datagram_has_closed_is_not_read_again() -> None:
    class Closes(Received):
        def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
            super().datagram_received(data, addr)
            for each in pair:
                each.close()

    first, second = Closes(), Closes()
    pair = opened(first), opened(second)
    for each in pair:
        each.sendto(b"end", each.get_extra_info("sockname"))
    await until(lambda: first.lost + second.lost == 2)
    assert len(first.datagrams) + len(second.datagrams) == 1


async def test_a_datagram_that_cannot_be_sent_is_reported_and_costs_nothing_else() -> None:
    heard = Received()
    here = opened(heard)
    here.sendto(bytes(70_000), here.get_extra_info("sockname"))
    assert isinstance(heard.errors[0], OSError)
    here.sendto(b"next", here.get_extra_info("sockname"))
    await until(lambda: bool(heard.datagrams))
    here.close()


async def test_a_fault_of_one_protocol_spares_the_others(caplog: Any) -> None:
    class Fails(Received):
        def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
            raise RuntimeError("not today")

    heard = Received()
    bad, good = opened(Fails()), opened(heard)
    for each in (bad, good):
        each.sendto(b"hello", each.get_extra_info("sockname"))
    await until(lambda: bool(heard.datagrams))
    await until(lambda: "a datagram could not be handled" in caplog.text)
    bad.close()
    good.close()

"""Addresses and ports of a call: the bound ones, the advertised ones, and a range without free ports."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
from aioice import stun
from aioice.ice import get_host_addresses
from aiortc import RTCIceServer

from backend.errors import SettingsError, TooMany
from backend.transports.udp import Binding, choose_bindings, open_sockets
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.peer import PeerState
from backend.transports.webrtc.transport import accept_offer
from responder_thinker.webrtc import WebRTCCaller
from tests.support.callers import webrtc_call

OWN_ADDRESSES = get_host_addresses(use_ipv4=True, use_ipv6=True)
LOOPBACK_ONLY = IceConfig(force_host="127.0.0.1")


def advertised(sdp: str) -> list[tuple[str, int]]:
    return [(host, int(port)) for host, port in re.findall(r"a=candidate:\S+ 1 udp \d+ (\S+) (\d+)", sdp)]


def bindings(*addresses: str) -> list[Binding]:
    return [Binding(address, address) for address in addresses]


@contextmanager
def free_ports(count: int) -> Iterator[tuple[int, int]]:
    """A range of `count` ports that are free now."""
    for low in range(41_000, 60_000, count):
        try:
            for port in range(low, low + count):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                    probe.bind(("0.0.0.0", port))
        except OSError:
            continue
        yield low, low + count - 1
        return


def test_every_own_address_is_bound_and_advertised() -> None:
    assert choose_bindings(["10.0.0.5", "fd00::5"], None) == [
        Binding("10.0.0.5", "10.0.0.5"),
        Binding("fd00::5", "fd00::5"),
    ]


def test_a_machine_without_a_network_calls_itself() -> None:
    assert choose_bindings([], None) == [Binding("127.0.0.1", "127.0.0.1")]


def test_only_a_forced_address_of_our_own_is_bound() -> None:
    assert choose_bindings(["10.0.0.5", "10.1.0.5"], "10.1.0.5") == [Binding("10.1.0.5", "10.1.0.5")]
    assert choose_bindings(["10.0.0.5"], "127.0.0.1") == [Binding("127.0.0.1", "127.0.0.1")]


@pytest.mark.document("001", "traces, settings and Docker")
def test_a_forced_foreign_address_is_advertised_for_every_interface() -> None:
    assert choose_bindings(["172.17.0.2"], "203.0.113.7") == [Binding("0.0.0.0", "203.0.113.7")]
    assert choose_bindings(["172.17.0.2"], "2001:db8::7") == [Binding("::", "2001:db8::7")]


def test_sockets_of_a_range_share_one_port() -> None:
    with free_ports(4) as ports:
        sockets = [sock for _, sock in open_sockets(bindings("127.0.0.1", "127.0.0.2"), ports)]
        bound = {sock.getsockname()[1] for sock in sockets}
        for sock in sockets:
            sock.close()
        assert len(sockets) == 2
        assert len(bound) == 1
        assert ports[0] <= bound.pop() <= ports[1]


def test_a_missing_address_is_left_out() -> None:
    [(binding, sock)] = open_sockets(bindings("198.51.100.77", "127.0.0.1"), None)
    assert binding.address == sock.getsockname()[0] == "127.0.0.1"
    sock.close()


@pytest.mark.document("001", "traces, settings and Docker")
async def test_calls_stay_within_the_port_range_and_the_last_one_is_refused() -> None:
    with free_ports(2) as ports:
        wire = IceConfig(force_host="127.0.0.1", port_range=ports)
        caller = WebRTCCaller(LOOPBACK_ONLY)
        offer = await caller.offer()
        calls = [await accept_offer(offer, wire) for _ in range(2)]
        assert {port for answer, _ in calls for _, port in advertised(answer)} == set(range(ports[0], ports[1] + 1))
        with pytest.raises(TooMany) as refused:
            await accept_offer(offer, wire)
        assert refused.value.retry_after_s > 0
        await calls[0][1].close()
        _, again = await accept_offer(offer, wire)
        for transport in (calls[1][1], again):
            await transport.close()
        await caller.close()


async def test_a_call_over_loopback_only_connects() -> None:
    async with webrtc_call(LOOPBACK_ONLY) as (transport, _):
        assert transport._peer.state is PeerState.CONNECTED


async def test_a_call_to_a_socket_on_every_interface_connects() -> None:
    """As in a container: the advertised address is not ours, and packets come in by any interface."""
    caller = WebRTCCaller(LOOPBACK_ONLY)
    answer, transport = await accept_offer(await caller.offer(), IceConfig(force_host="203.0.113.7"))
    await caller.accept(answer.replace("203.0.113.7", "127.0.0.1"))
    await caller.connected()
    await caller.close()
    await transport.close()


async def answer_of(wire: IceConfig) -> str:
    caller = WebRTCCaller(LOOPBACK_ONLY)
    answer, transport = await accept_offer(await caller.offer(), wire)
    await transport.close()
    await caller.close()
    return answer


async def test_without_ice_servers_only_own_addresses_are_offered() -> None:
    answer = await answer_of(IceConfig())
    assert {host for host, _ in advertised(answer)} == set(OWN_ADDRESSES or ["127.0.0.1"])
    assert "srflx" not in answer


async def test_a_stun_server_adds_the_address_it_sees_unless_one_is_forced() -> None:
    async with stun_server("203.0.113.44") as url:
        wire = IceConfig(ice_servers=(RTCIceServer(url),))
        answer = await answer_of(wire)
        forced = await answer_of(replace(wire, force_host="203.0.113.7"))
    assert ("203.0.113.44", 40_404) in advertised(answer) and "typ srflx" in answer
    assert {host for host, _ in advertised(forced)} == {"203.0.113.7"} and "c=IN IP4 203.0.113.7" in forced


class StunServer(asyncio.DatagramProtocol):
    """Answers every client with the same address, port 40404."""

    def __init__(self, seen_as: str) -> None:
        self._seen_as = seen_as

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        request = stun.parse_message(data)
        response = stun.Message(request.message_method, stun.Class.RESPONSE, request.transaction_id)
        response.attributes["XOR-MAPPED-ADDRESS"] = (self._seen_as, 40_404)
        self._transport.sendto(bytes(response), addr)


@asynccontextmanager
async def stun_server(seen_as: str) -> AsyncIterator[str]:
    """Its URL."""
    loop = asyncio.get_running_loop()
    host = next((address for address in OWN_ADDRESSES if ":" not in address), "127.0.0.1")
    transport, _ = await loop.create_datagram_endpoint(lambda: StunServer(seen_as), local_addr=(host, 0))
    try:
        yield f"stun:{host}:{transport.get_extra_info('sockname')[1]}"
    finally:
        transport.close()


@pytest.mark.parametrize("host", ["voice.example.com", "0.0.0.0", "224.0.0.1", "10.0.0"])
def test_an_unreachable_address_is_a_settings_error(host: str) -> None:
    with pytest.raises(SettingsError, match="RTC_FORCE_HOST"):
        IceConfig(force_host=host)


def test_a_malformed_ice_server_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="ICE_SERVERS"):
        IceConfig(ice_servers=(RTCIceServer("http://stun.example.com"),))

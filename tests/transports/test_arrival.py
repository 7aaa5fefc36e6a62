"""A caller over WebRTC arrives with the first connectivity check that has the credentials of our answer."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from aioice import stun

from backend.errors import NeverConnected
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.transport import WebRTCTransport, accept_offer
from tests.support.callers import webrtc_call
from tests.support.offers import CHROMIUM
from tests.support.waiting import until

CALLERS_FRAGMENT = "xU99"
"""The `ice-ufrag` of the offer."""


@dataclass
class Answered:
    """An answered offer, and an address for packets to the answer's first candidate."""

    transport: WebRTCTransport
    address: tuple[str, int]
    fragment: str
    password: str

    def arrived(self) -> asyncio.Task[None]:
        return asyncio.ensure_future(self.transport.wait_arrived())

    def check(self, *, user: str | None = None, password: str | None = None, signed: bool = True) -> bytes:
        """A connectivity check as a browser sends it, or a wrong one."""
        request = stun.Message(message_method=stun.Method.BINDING, message_class=stun.Class.REQUEST)
        request.attributes["USERNAME"] = f"{user or self.fragment}:{CALLERS_FRAGMENT}"
        request.attributes["PRIORITY"] = 1_853_824_767
        request.attributes["ICE-CONTROLLING"] = 7
        if signed:
            request.add_message_integrity((password or self.password).encode())
        return bytes(request)

    def send(self, *datagrams: bytes) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for datagram in datagrams:
                sock.sendto(datagram, self.address)


@asynccontextmanager
async def answered(connect_within_s: float = 10.0) -> AsyncIterator[Answered]:
    wire = IceConfig(force_host="127.0.0.1", connect_within_s=connect_within_s)
    sdp, transport = await accept_offer(CHROMIUM, wire)
    [fragment] = re.findall(r"a=ice-ufrag:(\S+)", sdp)
    [password] = re.findall(r"a=ice-pwd:(\S+)", sdp)
    [port] = re.findall(r"a=candidate:\S+ 1 udp \d+ 127.0.0.1 (\d+)", sdp)
    try:
        yield Answered(transport, ("127.0.0.1", int(port)), fragment, password)
    finally:
        await transport.close()


async def test_a_valid_check_is_an_arrival() -> None:
    async with answered() as call:
        arrived = call.arrived()
        call.send(call.check())
        await asyncio.wait_for(arrived, 10)


async def test_other_packets_to_the_socket_are_no_arrival() -> None:
    async with answered() as call:
        arrived = call.arrived()
        unsigned, foreign = call.check(signed=False), call.check(user="other")
        guessed = call.check(password="x" * len(call.password))
        call.send(unsigned, foreign, guessed, b"", b"\x00", b"\x16\xfe\xff" + bytes(60), b"\x80\x00" + bytes(60))
        await asyncio.sleep(0.3)
        assert not arrived.done()
        arrived.cancel()


async def test_a_caller_who_never_comes_does_not_arrive_and_the_call_ends_as_never_connected() -> None:
    async with answered(connect_within_s=0.2) as call:
        arrived = call.arrived()
        with pytest.raises(NeverConnected):
            await call.transport.receive_frames(lambda frame: None)
        await asyncio.sleep(0)
        assert not arrived.done()
        arrived.cancel()


async def test_a_real_caller_arrives() -> None:
    async with webrtc_call() as (transport, _):
        await until(lambda: asyncio.wait_for(_arrived(transport), 10))


async def _arrived(transport: WebRTCTransport) -> bool:
    await transport.wait_arrived()
    return True

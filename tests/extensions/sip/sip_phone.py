"""A telephone that speaks SIP and RTP over real sockets, like the server's peers, but without their repetitions."""

from __future__ import annotations

import asyncio
import secrets
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiosipua import SipMessage, SipRequest, SipResponse
from aiosipua.auth import SipDigestAuth, answer_challenge
from aiosipua.dialog import Dialog

from backend.extensions.sip.codecs import PacketEncoder, open_decoder, open_encoder
from backend.extensions.sip.keys import EVENTS
from backend.extensions.sip.sdp import FORMATS, CodecName
from backend.media.frame import FRAME_BYTES, Frame
from backend.transports.udp import bind_udp
from backend.transports.webrtc.srtp import MARKER, read_packet, write_packet
from tests.support.tones import audible
from tests.support.waiting import until

HERE = "127.0.0.1"
KEYS = 101


class _Signals(asyncio.DatagramProtocol):
    def __init__(self, phone: SipPhone) -> None:
        self.phone = phone

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.phone.receive(data)


class _Sound(asyncio.DatagramProtocol):
    def __init__(self, phone: SipPhone) -> None:
        self.phone = phone

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.phone.hear(data)


@dataclass
class SipPhone:
    """One telephone with one call; `server` is the address that it calls."""

    server: tuple[str, int]
    number: str = "+15550123456"
    codec: CodecName = CodecName.PCMU
    tcp: bool = False
    auth: SipDigestAuth | None = None
    offers_keys: bool = True
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with the INVITE."""
    refers: list[str] = field(default_factory=list)
    """The addresses that the server has asked us to call."""
    refer_status: int = 202
    refer_news: int = 200
    """The outcome that we report; 0: nothing."""
    responses: list[SipResponse] = field(default_factory=list)
    requests: list[SipRequest] = field(default_factory=list)
    heard: list[Frame] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """The keys the server has pressed."""
    packets: int = 0
    challenges: str = ""
    """The challenge for a BYE of the server's."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by a BYE of the server's."""
    sends: bool = True
    """Whether it sends sound."""

    def __post_init__(self) -> None:
        self.call_id, self.tag, self.cseq = secrets.token_hex(8), secrets.token_hex(4), 0
        self.to_tag = ""
        self.remote: tuple[str, int] | None = None
        self.invite: SipRequest | None = None
        self._outgoing: deque[bytes] = deque()
        self._pressed: deque[str] = deque()
        self._tasks: list[asyncio.Task[None]] = []
        self._encoder: PacketEncoder = open_encoder(self.codec)
        self._decoder = open_decoder(self.codec)
        self._source, self._sequence, self._timestamp = secrets.randbits(32), 100, 1_000
        self._key_at = -1
        self._writer: asyncio.StreamWriter | None = None
        self._signals: asyncio.DatagramTransport | None = None

    async def open(self) -> None:
        """Bind the sockets."""
        loop = asyncio.get_running_loop()
        if self.tcp:
            reader, self._writer = await asyncio.open_connection(*self.server)
            self.port = self._writer.get_extra_info("sockname")[1]
            self._tasks.append(asyncio.create_task(self._read(reader)))
        else:
            self._signals, _ = await loop.create_datagram_endpoint(lambda: _Signals(self), sock=bind_udp(HERE, 0))
            self.port = self._signals.get_extra_info("sockname")[1]
        self._sound, _ = await loop.create_datagram_endpoint(lambda: _Sound(self), sock=bind_udp(HERE, 0))
        self.rtp_port = self._sound.get_extra_info("sockname")[1]

    async def close(self) -> None:
        """Release the sockets; an open call is hung up."""
        if self.to_tag and not self.over.is_set():
            self.send(self.request("BYE"))
            await asyncio.sleep(0.05)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._signals is not None:
            self._signals.close()
        if self._writer is not None:
            self._writer.transport.abort()
        self._sound.close()

    # --- signalling -----------------------------------------------------------------------------------

    def sdp(self, direction: str = "sendrecv", port: int | None = None) -> str:
        """Our session description."""
        number, name = FORMATS[self.codec]
        keys = f"a=rtpmap:{KEYS} telephone-event/8000\r\na=fmtp:{KEYS} 0-15\r\n" if self.offers_keys else ""
        return (
            f"v=0\r\no=- 1 {self.cseq + 1} IN IP4 {HERE}\r\ns=-\r\nc=IN IP4 {HERE}\r\nt=0 0\r\n"
            f"m=audio {port or self.rtp_port} RTP/AVP {number}{f' {KEYS}' if keys else ''}\r\n"
            f"a=rtpmap:{number} {name}\r\n{keys}a=ptime:20\r\na={direction}\r\n"
        )

    def request(
        self, method: str, body: str = "", kind: str = "application/sdp", headers: Mapping[str, str] | None = None
    ) -> SipRequest:
        """A request of this call; it is not sent."""
        if method not in ("ACK", "CANCEL"):
            self.cseq += 1
        server = f"sip:assistant@{self.server[0]}:{self.server[1]}"
        caller = f"sip:{self.number}@phone.test"
        dialog = Dialog(self.call_id, self.tag, self.to_tag, caller, server, server, local_cseq=self.cseq - 1)
        transport = "TCP" if self.tcp else "UDP"
        request = dialog.create_request(method, via_host=HERE, via_port=self.port, via_transport=transport)
        request.headers.set_single("Contact", f"<sip:{self.number}@{HERE}:{self.port}>")
        for name, value in (headers or {}).items():
            request.headers.set_single(name, value)
        if body:
            request.text = body
            request.headers.set_single("Content-Type", kind)
        return request

    def send(self, message: SipMessage | bytes) -> None:
        """Send any message."""
        data = message if isinstance(message, bytes) else bytes(message)
        if self._writer is not None:
            self._writer.write(data)
        elif self._signals is not None:
            self._signals.sendto(data, self.server)

    async def ask(self, request: SipRequest, within_s: float = 5.0) -> SipResponse:
        """Send a request; return its final answer."""
        self.send(request)
        return await self.answer_to(request, within_s)

    async def answer_to(self, request: SipRequest, within_s: float = 5.0) -> SipResponse:
        """Wait for the final answer to a sent request."""
        cseq = request.headers.get_first("cseq")

        def final() -> list[SipResponse]:
            return [r for r in self.responses if r.headers.get_first("cseq") == cseq and r.status_code >= 200]

        await until(lambda: final() != [], within_s)
        return final()[0]

    async def call(self, direction: str = "sendrecv", within_s: float = 8.0) -> int:
        """Call, answering a challenge; return the final status. The call is acknowledged."""
        self.invite = self.request("INVITE", self.sdp(direction), headers=self.headers)
        answer = await self.ask(self.invite, within_s)
        if answer.status_code == 401 and self.auth is not None:
            self.ack(answer)
            shown = answer_challenge(self.auth, answer, 401, "INVITE", self.invite.uri)
            assert shown
            self.invite = self.request("INVITE", self.sdp(direction), headers={**self.headers, shown[0]: shown[1]})
            answer = await self.ask(self.invite, within_s)
        self.ack(answer)
        if answer.status_code == 200:
            self.begin(answer)
        return answer.status_code

    def begin(self, answer: SipResponse) -> None:
        """Speak and listen as the answer says."""
        self.remote = _sound_address(answer.text)
        self._tasks.append(asyncio.create_task(self._speak()))

    def ack(self, answer: SipResponse, body: str = "") -> None:
        """Acknowledge a final answer to our INVITE."""
        assert self.invite
        if answer.status_code < 300:
            address = answer.to_addr
            self.to_tag = (address.tag if address else "") or ""
        cseq = answer.cseq
        ack = self.request("ACK", body)
        ack.headers.set_single("CSeq", f"{cseq.seq if cseq else 1} ACK")
        if answer.status_code >= 300:
            ack.headers.set_single("To", answer.headers.get_first("to") or "")
            ack.headers.get("via")[0] = self.invite.headers.get("via")[0]
        self.send(ack)

    def cancel(self) -> SipRequest:
        """Give up the pending INVITE; return the request."""
        assert self.invite
        cancel = self.request("CANCEL")
        cancel.headers.get("via")[0] = self.invite.headers.get("via")[0]
        self.send(cancel)
        return cancel

    async def change(self, direction: str) -> SipResponse:
        """Send a re-INVITE, as for a hold; acknowledge its answer."""
        self.invite = self.request("INVITE", self.sdp(direction))
        answer = await self.ask(self.invite)
        self.ack(answer)
        return answer

    async def hang_up(self) -> int:
        """Send a BYE; return the answer's status."""
        return (await self.ask(self.request("BYE"))).status_code

    def receive(self, data: bytes) -> None:
        """Take a message of the server's."""
        message = SipMessage.parse(data)
        if isinstance(message, SipResponse):
            self.responses.append(message)
            return
        self.requests.append(message)
        if message.method == "ACK":
            return
        if message.method == "BYE":
            self.over.set()
        if message.method == "REFER":
            self.refers.append(message.headers.get_first("refer-to") or "")
        if message.method == "BYE" and self.challenges:
            self.send(self._answer(message, 401, {"WWW-Authenticate": self.challenges}))
            return
        self.send(self._answer(message, self.refer_status if message.method == "REFER" else 200))
        if message.method == "REFER" and self.refer_status == 202 and self.refer_news:
            news = self.request("NOTIFY", f"SIP/2.0 {self.refer_news} Whatever\r\n", "message/sipfrag")
            news.headers.set_single("Event", "refer")
            news.headers.set_single("Subscription-State", "terminated;reason=noresource")
            self.send(news)

    def _answer(self, request: SipRequest, status: int, headers: Mapping[str, str] | None = None) -> SipResponse:
        answer = SipResponse(status_code=status, reason_phrase="Fine")
        for name, value in (headers or {}).items():
            answer.headers.set_single(name, value)
        for name in ("Via", "From", "To", "Call-ID", "CSeq"):
            answer.headers.append(name, request.headers.get_first(name) or "")
        if request.method == "INVITE":
            answer.headers.set_single("Contact", f"<sip:{self.number}@{HERE}:{self.port}>")
            answer.text = self.sdp()
            answer.headers.set_single("Content-Type", "application/sdp")
        return answer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = SipMessage.parse(head).headers.get_first("content-length") or "0"
            self.receive(head + await reader.readexactly(int(length)))

    # --- sound ----------------------------------------------------------------------------------------

    def say(self, pcm: bytes) -> None:
        """Speak 24 kHz PCM16 in real time, after the present speech."""
        pcm += bytes(-len(pcm) % FRAME_BYTES)
        for at in range(0, len(pcm), FRAME_BYTES):
            self._outgoing.append(self._encoder.encode(Frame(pcm[at : at + FRAME_BYTES])))

    async def said(self) -> None:
        """Wait until all of it is spoken."""
        await until(lambda: not self._outgoing, 30)

    def press(self, keys: str) -> None:
        """Press keys, as RFC 4733 has it."""
        self._pressed.extend(keys)

    def audible(self) -> list[Frame]:
        """The frames heard that are not silence."""
        return [frame for frame in self.heard if audible(frame)]

    def hear(self, data: bytes) -> None:
        """Take a packet of sound, or a key."""
        packet = read_packet(data)
        if packet is None:
            return
        self.packets += 1
        if packet.payload_type == KEYS:
            if packet.timestamp != self._key_at:
                self._key_at = packet.timestamp
                self.keys.append(EVENTS[packet.payload[0]])
            return
        self.heard.append(Frame(self._decoder.decode(packet.payload)))

    async def _speak(self) -> None:
        loop = asyncio.get_running_loop()
        due, step, silent = loop.time(), self._decoder.clock // 50, self._encoder.rest
        while True:
            if self._pressed:
                code = EVENTS.index(self._pressed.popleft())
                for slot in range(5):
                    event = struct.pack("!BBH", code, 10 | (0x80 if slot == 4 else 0), (slot + 1) * 160)
                    self._send_sound(KEYS, event, marker=slot == 0)
                    due += 0.02
                    await asyncio.sleep(max(0.0, due - loop.time()))
                self._timestamp += 5 * step
            payload = self._outgoing.popleft() if self._outgoing else silent()
            if self.sends:
                self._send_sound(FORMATS[self.codec][0], payload)
            self._timestamp += step
            due += 0.02
            await asyncio.sleep(max(0.0, due - loop.time()))

    def _send_sound(self, kind: int, payload: bytes, *, marker: bool = False) -> None:
        self._sequence += 1
        kind |= MARKER if marker else 0
        packet = write_packet(kind, self._sequence & 0xFFFF, self._timestamp & 0xFFFFFFFF, self._source, payload)
        self._sound.sendto(packet, self.remote)


def _sound_address(sdp: str) -> tuple[str, int]:
    lines = sdp.splitlines()
    host = next(line.split()[2] for line in lines if line.startswith("c="))
    return host, int(next(line.split()[1] for line in lines if line.startswith("m=audio")))


@asynccontextmanager
async def sip_phone(server: tuple[str, int], **options: Any) -> AsyncIterator[SipPhone]:
    """A telephone that is closed at the end."""
    phone = SipPhone(server, **options)
    await phone.open()
    try:
        yield phone
    finally:
        await phone.close()


def free_port() -> int:
    """Return a free UDP port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((HERE, 0))
        port: int = probe.getsockname()[1]
    return port

"""Measured callers on the telephone: G.711 at 8 kHz in both directions, by Twilio's media stream over a WebSocket.

They have the interface of `benchmarks.caller.MeasuredCaller`. The webhook is signed with `TOKEN`, which the server must
have as TWILIO__AUTH_TOKEN. A media stream is empty while nothing sounds, so silence is counted by the clock.
"""

import asyncio
import json
import re
import time
from base64 import b64decode, b64encode
from html import unescape
from itertools import pairwise

import httpx2
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from backend.errors import TransportLost
from backend.extensions.telephone.twilio import signature
from backend.media import g711
from backend.media.frame import FRAME_BYTES
from backend.testing.speech import frames_of
from benchmarks.caller import CONNECT_WITHIN_S, MeasuredCaller
from benchmarks.heard import Decoded, Heard
from benchmarks.measurements import Packets
from benchmarks.microphone import Speech, Spoken

TOKEN = "benchmark-auth-token"
SETTINGS = {"TWILIO__AUTH_TOKEN": TOKEN}
LAW = g711.Law.MU
SILENT = bytes([LAW.silence]) * g711.PACKET_BYTES
SLOT_S = 0.02
SOUNDING = 100
"""A sample (of 32,767) that counts as heard: sent silence has none."""
PAUSE_S = 0.2
"""Seconds between two packets of a media stream from which it was silent; less is a gap in the sound."""
CODEC_DELAY = 96
"""Samples of 24 kHz by which G.711 is late: the server's filter and ours (4 ms)."""
STREAM = re.compile(r'<Stream url="([^"]+)"><Parameter name="token" value="([^"]+)"')


def encoded(pcm: bytes) -> Speech:
    """24 kHz PCM16 as a telephone network passes it on."""
    encoder = g711.Encoder(LAW)
    return Speech([encoder.encode(frame) for frame in frames_of(pcm)], [], [SILENT])


def spoken_by_telephone(pcm: bytes) -> Spoken:
    """24 kHz PCM16 for a caller on the telephone, who sends silence as well."""
    sent = encoded(pcm)
    return Spoken(sent, sent)


def decoded(payloads: list[bytes]) -> list[bytes]:
    """The received sound, as 24 kHz PCM16 of 20 ms each."""
    decoder = g711.Decoder(LAW)
    return [decoder.decode(payload).ljust(FRAME_BYTES, b"\0") for payload in payloads]


class PhoneHeard(Heard):
    """One call's payloads in the order of arrival. After `PAUSE_S` without a packet, it was silent."""

    def decoded(self) -> Decoded:
        raw = self.raw()
        packets, sounds = Packets(), list[bytes]()

        def add(at: float, pcm: bytes, *, ends: bool) -> None:
            samples = memoryview(pcm).cast("h")
            packets.at.append(at)
            packets.sequence.append(len(sounds) & 0xFFFF)
            packets.timestamp.append(len(sounds) * 960)
            packets.peak.append(max(max(samples), -min(samples)))
            packets.ends.append(ends)
            sounds.append(pcm)

        followed = [*(later - earlier for (earlier, _), (later, _) in pairwise(raw)), 0.0]
        for (at, _), pcm, gap in zip(raw, decoded([payload for _, payload in raw]), followed, strict=True):
            paused = gap > PAUSE_S
            add(at, pcm, ends=paused)
            for slot in range(1, int(gap / SLOT_S) if paused else 0):
                add(at + slot * SLOT_S, bytes(FRAME_BYTES), ends=True)
        return Decoded(packets, sounds, 0.0)


class PhoneCaller(MeasuredCaller):
    """One call by Twilio's media stream; its received sound is kept as G.711 payloads."""

    codec_delay = CODEC_DELAY

    def __init__(self, url: str, number: int) -> None:
        """`number` makes the callers different."""
        super().__init__()
        self._url = url
        self._call, self._from = f"CA{number:032}", f"+1555{number:07}"
        self._socket: ClientConnection | None = None
        self.heard = PhoneHeard()
        self._tasks: list[asyncio.Task[None]] = []
        self._gone = False
        self._came = False  # something, since the last slot

    def __repr__(self) -> str:
        return f"PhoneCaller({self._call[-4:]}, {self.heard})"

    @property
    def stands(self) -> bool:
        return bool(self._tasks) and not self._gone

    @property
    def _lost(self) -> bool:
        return self._gone

    async def place(self) -> None:
        """Place the call. Raises `TransportLost`."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(CONNECT_WITHIN_S):
                address, token = await self._announce()
                socket = self._socket = await connect(address, proxy=None, compression=None)
                await self._send({"event": "connected", "protocol": "Call", "version": "1.0.0"})
                media = {"encoding": "audio/x-mulaw", "sampleRate": g711.RATE, "channels": 1}
                start = {"callSid": self._call, "mediaFormat": media, "customParameters": {"token": token}}
                await self._send({"event": "start", "start": start})
        except (TimeoutError, OSError, InvalidHandshake, ConnectionClosed, httpx2.HTTPError) as error:
            raise TransportLost(f"The call could not be placed ({type(error).__name__}).") from None
        self.record.setup_s = time.monotonic() - began
        self._tasks = [asyncio.create_task(self._receive(socket)), asyncio.create_task(self._speak())]

    async def close(self) -> None:
        """Hang up."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._socket is not None:
            await self._socket.close()

    async def _speak(self) -> None:
        due = asyncio.get_running_loop().time()
        while not self._gone:
            self._paused, self._came = not self._came, False
            payload = self._next_payload()
            await self._send_sound(payload if len(payload) == g711.PACKET_BYTES else SILENT)
            due += SLOT_S
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))

    def _is_gone(self) -> None:
        self._gone = True
        self._news.set()

    def _keep(self, packet: bytes, at: float) -> None:
        self._came = True
        self.heard.keep(packet, at)
        samples = memoryview(g711.decode(packet, LAW)).cast("h")
        if max(max(samples), -min(samples)) > SOUNDING:
            self._quiet_packets = 0
            if self._awaited == 0:
                self._news.set()
        else:
            self._was_quiet()

    async def _announce(self) -> tuple[str, str]:
        form = {"CallSid": self._call, "From": self._from, "To": "+15550100"}
        webhook = f"{self._url}/twilio/voice"
        headers = {"X-Twilio-Signature": signature(TOKEN, webhook, list(form.items()))}
        async with httpx2.AsyncClient(trust_env=False, timeout=CONNECT_WITHIN_S) as http:
            answer = await http.post(webhook, data=form, headers=headers)
        found = STREAM.search(answer.text)
        if found is None:
            raise TransportLost(f"The webhook was answered with {answer.status_code}, and no stream.")
        return unescape(found[1]), unescape(found[2])

    async def _receive(self, socket: ClientConnection) -> None:
        try:
            async for text in socket:
                message = json.loads(text)
                if message["event"] == "media":
                    self._keep(b64decode(message["media"]["payload"]), time.monotonic())
                elif message["event"] == "mark":  # the server paces its sound, so nothing is waiting here
                    await self._send({"event": "mark", "mark": message["mark"]})
        except ConnectionClosed:
            pass
        self._is_gone()

    async def _send_sound(self, payload: bytes) -> None:
        await self._send({"event": "media", "media": {"track": "inbound", "payload": b64encode(payload).decode()}})

    async def _send(self, message: dict[str, object]) -> None:
        assert self._socket is not None
        try:
            await self._socket.send(json.dumps(message | {"streamSid": "MZ" + self._call[2:]}))
        except ConnectionClosed:
            self._is_gone()

"""Plivo: its signed webhook, Plivo XML, audio streaming and REST API.

https://www.plivo.com/docs/voice/concepts/signature-validation, …/docs/voice/xml/audiostream,
…/docs/voice/audio-streaming/audio-streaming, …/docs/voice/api/call#hang-up-a-call
"""

from __future__ import annotations

import hmac
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit
from xml.sax.saxutils import escape

import httpx2
import msgspec

from backend.errors import LineFailed
from backend.extensions.telephone.provider import IncomingCall, WebhookRequest, give_order, response
from backend.media.g711 import RATE
from backend.transports.media_stream_framing import (
    MarkPlayed,
    StreamAudio,
    StreamMessage,
    StreamStarted,
    StreamStopped,
    checked_id,
    decoded,
    key_pressed,
    law_of,
)

SIGNATURE, NONCE = "x-plivo-signature-v3", "x-plivo-signature-v3-nonce"
FORMAT = 'bidirectional="true" keepCallAlive="true" audioTrack="inbound" contentType="audio/x-mulaw;rate=8000"'
TOKEN_PARAMETER = "token"
TOKEN = re.compile(r"\btoken\W{1,4}([0-9a-f]{2,512})\b")
"""The token in the stream's headers. Their values may have letters and digits only, so it is written in hexadecimal."""


class _Format(msgspec.Struct, frozen=True):
    encoding: str = "audio/x-mulaw"
    sample_rate: int = msgspec.field(default=RATE, name="sampleRate")


class _Start(msgspec.Struct, frozen=True):
    call: str = msgspec.field(default="", name="callId")
    stream: str = msgspec.field(default="", name="streamId")
    format: _Format = msgspec.field(default_factory=_Format, name="mediaFormat")


class _Media(msgspec.Struct, frozen=True):
    payload: bytes = b""
    track: str = "inbound"


class _Key(msgspec.Struct, frozen=True):
    digit: str = ""


class _Message(msgspec.Struct, frozen=True):
    event: str
    start: _Start = msgspec.field(default_factory=_Start)
    media: _Media = msgspec.field(default_factory=_Media)
    dtmf: _Key = msgspec.field(default_factory=_Key)
    name: str = ""
    headers: Any = msgspec.field(default="", name="extra_headers")


@dataclass(slots=True)
class PlivoFraming:
    """Plivo audio streams, bidirectional. A checkpoint is its mark; the stream's end is that of its socket."""

    stream: str = ""
    _decoder: msgspec.json.Decoder[_Message] = field(default_factory=lambda: msgspec.json.Decoder(_Message))

    def read(self, text: str) -> StreamMessage | None:
        message = decoded(self._decoder, text)
        match message.event:
            case "media":
                return StreamAudio(message.media.payload) if message.media.track == "inbound" else None
            case "start":
                start = message.start
                self.stream = checked_id(start.stream)
                law = law_of(start.format.encoding, start.format.sample_rate)
                return StreamStarted(self.stream, checked_id(start.call), _parameters(str(message.headers)), law)
            case "playedStream":
                return MarkPlayed(message.name)
            case "dtmf":
                return key_pressed(message.dtmf.digit)
            case "stop":
                return StreamStopped()
        return None

    def audio(self, payload: bytes) -> str:
        sound = b64encode(payload).decode()
        media = f'{{"contentType":"audio/x-mulaw","sampleRate":{RATE},"payload":"{sound}"}}'
        return f'{{"event":"playAudio","streamId":"{self.stream}","media":{media}}}'

    def mark(self, name: str) -> str:
        return json.dumps({"event": "checkpoint", "streamId": self.stream, "name": name})

    def clear(self) -> str:
        return json.dumps({"event": "clearAudio", "streamId": self.stream})


class Plivo:
    """The operator's account at Plivo."""

    name = "plivo"

    def __init__(self, http: httpx2.AsyncClient, *, auth_token: str, auth_id: str, api_url: str) -> None:
        """`auth_id`: without it calls are taken, and ended by closing the stream."""
        self._http = http
        self._auth_token = auth_token
        self._auth_id = auth_id
        self._api_url = api_url.rstrip("/")

    def __repr__(self) -> str:
        return f"Plivo({self._api_url}, {'takes' if self.takes_orders else 'no'} orders)"

    def is_signed(self, request: WebhookRequest) -> bool:
        """Return whether one of the signatures fits: there is one for each auth token that is valid."""
        nonce = request.headers.get(NONCE, "")
        given = [each.strip().encode() for each in request.headers.get(SIGNATURE, "").split(",")]
        expected = [signature(self._auth_token, url, request.form, nonce).encode() for url in request.urls]
        return bool(nonce) and any(hmac.compare_digest(one, other) for one in expected for other in given)

    def incoming(self, request: WebhookRequest) -> IncomingCall:
        return IncomingCall(checked_id(request.field("CallUUID")), request.field("From"))

    def accept(self, stream_url: str, token: str) -> str:
        headers = f'extraHeaders="{TOKEN_PARAMETER}={token.encode().hex()}"'
        return response(f"<Stream {FORMAT} {headers}>{escape(stream_url)}</Stream>")

    def reject(self) -> str:
        return response('<Hangup reason="busy"/>')

    def framing(self) -> PlivoFraming:
        return PlivoFraming()

    @property
    def takes_orders(self) -> bool:
        return bool(self._auth_id)

    @property
    def transfers(self) -> bool:
        """Whether calls can be transferred: Plivo's API takes no XML for that, but the address of some."""
        return False

    async def transfer(self, call: str, target: str) -> None:
        raise LineFailed("Calls cannot be transferred by this telephone provider.")

    async def hang_up(self, call: str) -> None:
        path = f"/v1/Account/{quote(self._auth_id, safe='')}/Call/{quote(call, safe='')}/"
        await give_order(self._http, "DELETE", self._api_url + path, auth=(self._auth_id, self._auth_token))


def signature(auth_token: str, url: str, form: Sequence[tuple[str, str]], nonce: str) -> str:
    """Return Plivo's third signature of a POST: HMAC-SHA256 over the address, the fields by name, and the nonce."""
    parts = urlsplit(url)
    query = "&".join(f"{name}={value}" for name, value in sorted(parse_qsl(parts.query, keep_blank_values=True)))
    signed = f"{parts.scheme}://{parts.netloc}{parts.path}"
    if query or form:
        signed += f"?{query}"
    if query and form:
        signed += "."
    signed += "".join(name + value for name, value in sorted(form))
    return b64encode(hmac.new(auth_token.encode(), f"{signed}.{nonce}".encode(), sha256).digest()).decode()


def _parameters(headers: str) -> dict[str, str]:
    """Return the token that the stream's headers hold, as the parameters of any stream."""
    found = TOKEN.search(headers)
    try:
        return {} if found is None else {TOKEN_PARAMETER: bytes.fromhex(found[1]).decode()}
    except ValueError:
        return {}

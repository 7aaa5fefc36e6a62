"""Telnyx: its signed webhook, TeXML, media streaming and TeXML REST API.

https://developers.telnyx.com/docs/voice/programmable-voice/texml-verbs/stream,
…/api-reference/websockets/stream-call-media-over-websocket, …/api-reference/texml-rest-commands/update-call
"""

from __future__ import annotations

import json
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

import httpx2
import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from backend.extensions.telephone.provider import IncomingCall, WebhookRequest, dialled, give_order, response
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

SIGNATURE, TIMESTAMP = "telnyx-signature-ed25519", "telnyx-timestamp"
SIGNED_WITHIN_S = 300
"""Seconds by which the time of a signature may differ from ours."""
TOKEN_PARAMETER = "token"
FORMAT = 'bidirectionalMode="rtp" bidirectionalCodec="PCMU" codec="PCMU" track="inbound_track"'
"""What is streamed both ways; without it Telnyx takes sound files (MP3) alone."""


class _Format(msgspec.Struct, frozen=True):
    encoding: str = "PCMU"
    sample_rate: int = RATE


class _Start(msgspec.Struct, frozen=True):
    call: str = msgspec.field(default="", name="call_control_id")
    parameters: dict[str, str] = msgspec.field(default_factory=dict, name="custom_parameters")
    format: _Format = msgspec.field(default_factory=_Format, name="media_format")


class _Media(msgspec.Struct, frozen=True):
    payload: bytes = b""
    track: str = "inbound"
    chunk: str | int = ""


class _Mark(msgspec.Struct, frozen=True):
    name: str = ""


class _Key(msgspec.Struct, frozen=True):
    digit: str = ""


class _Message(msgspec.Struct, frozen=True):
    event: str
    stream: str = msgspec.field(default="", name="stream_id")
    start: _Start = msgspec.field(default_factory=_Start)
    media: _Media = msgspec.field(default_factory=_Media)
    mark: _Mark = msgspec.field(default_factory=_Mark)
    dtmf: _Key = msgspec.field(default_factory=_Key)


@dataclass(slots=True)
class TelnyxFraming:
    """Telnyx media streaming, bidirectional by RTP payloads."""

    _newest: int = -1
    """The number of the newest chunk of sound: Telnyx does not promise their order, and late ones are left out."""
    _decoder: msgspec.json.Decoder[_Message] = field(default_factory=lambda: msgspec.json.Decoder(_Message))

    def read(self, text: str) -> StreamMessage | None:
        message = decoded(self._decoder, text)
        match message.event:
            case "media":
                return self._audio(message.media)
            case "start":
                start = message.start
                law = law_of(start.format.encoding, start.format.sample_rate)
                return StreamStarted(checked_id(message.stream), checked_id(start.call), start.parameters, law)
            case "mark":
                return MarkPlayed(message.mark.name)
            case "dtmf":
                return key_pressed(message.dtmf.digit)
            case "stop":
                return StreamStopped()
        return None

    def audio(self, payload: bytes) -> str:
        return f'{{"event":"media","media":{{"payload":"{b64encode(payload).decode()}"}}}}'

    def mark(self, name: str) -> str:
        return json.dumps({"event": "mark", "mark": {"name": name}})

    def clear(self) -> str:
        return '{"event":"clear"}'

    def _audio(self, media: _Media) -> StreamAudio | None:
        if media.track not in ("inbound", "inbound_track"):
            return None
        chunk = str(media.chunk)
        if chunk.isdecimal() and len(chunk) < 16:
            if int(chunk) <= self._newest:
                return None
            self._newest = int(chunk)
        return StreamAudio(media.payload)


class Telnyx:
    """The operator's account at Telnyx."""

    name = "telnyx"

    def __init__(
        self,
        http: httpx2.AsyncClient,
        *,
        public_key: str,
        api_key: str,
        account: str,
        api_url: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`api_key`, `account`: without them calls are taken, and ended by closing the stream."""
        self._http = http
        self._public_key = Ed25519PublicKey.from_public_bytes(b64decode(public_key))
        self._api_key = api_key
        self._account = account
        self._api_url = api_url.rstrip("/")
        self._clock = clock

    def __repr__(self) -> str:
        return f"Telnyx({self._api_url}, {'takes' if self.takes_orders else 'no'} orders)"

    def is_signed(self, request: WebhookRequest) -> bool:
        """Return whether the request was signed, lately; the address is not part of what is signed."""
        timestamp = request.headers.get(TIMESTAMP, "")
        if not timestamp.isdecimal() or len(timestamp) > 12:
            return False
        if abs(self._clock() - int(timestamp)) > SIGNED_WITHIN_S:
            return False
        try:
            signature = b64decode(request.headers.get(SIGNATURE, ""), validate=True)
            self._public_key.verify(signature, f"{timestamp}|{request.body}".encode())
        except (ValueError, InvalidSignature):
            return False
        return True

    def incoming(self, request: WebhookRequest) -> IncomingCall:
        return IncomingCall(checked_id(request.field("CallSid")), request.field("From"))

    def accept(self, stream_url: str, token: str) -> str:
        parameter = f"<Parameter name={quoteattr(TOKEN_PARAMETER)} value={quoteattr(token)}/>"
        return response(f"<Connect><Stream url={quoteattr(stream_url)} {FORMAT}>{parameter}</Stream></Connect>")

    def reject(self) -> str:
        return response('<Reject reason="busy"/>')

    def framing(self) -> TelnyxFraming:
        return TelnyxFraming()

    @property
    def takes_orders(self) -> bool:
        return bool(self._api_key and self._account)

    @property
    def transfers(self) -> bool:
        return self.takes_orders

    async def transfer(self, call: str, target: str) -> None:
        await self._update(call, {"Texml": f"<Response><Dial>{dialled(target)}</Dial></Response>"})

    async def hang_up(self, call: str) -> None:
        await self._update(call, {"Status": "completed"})

    async def _update(self, call: str, form: dict[str, str]) -> None:
        path = f"/v2/texml/Accounts/{quote(self._account, safe='')}/Calls/{quote(call, safe='')}"
        headers = {"authorization": f"Bearer {self._api_key}"}
        await give_order(self._http, "POST", self._api_url + path, data=form, headers=headers)

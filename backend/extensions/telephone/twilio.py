"""Twilio: its signed webhook, TwiML, Media Streams and REST API.

https://www.twilio.com/docs/usage/webhooks/webhooks-security, …/docs/voice/twiml/stream,
…/docs/voice/media-streams/websocket-messages, …/docs/voice/api/call-resource
"""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

import httpx2
import msgspec

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

SIGNATURE = "x-twilio-signature"
TOKEN_PARAMETER = "token"


class _Format(msgspec.Struct, frozen=True):
    encoding: str = "audio/x-mulaw"
    sample_rate: int = msgspec.field(default=RATE, name="sampleRate")


class _Start(msgspec.Struct, frozen=True):
    call: str = msgspec.field(default="", name="callSid")
    parameters: dict[str, str] = msgspec.field(default_factory=dict, name="customParameters")
    format: _Format = msgspec.field(default_factory=_Format, name="mediaFormat")


class _Media(msgspec.Struct, frozen=True):
    payload: bytes = b""
    track: str = "inbound"


class _Mark(msgspec.Struct, frozen=True):
    name: str = ""


class _Key(msgspec.Struct, frozen=True):
    digit: str = ""


class _Message(msgspec.Struct, frozen=True):
    event: str
    stream: str = msgspec.field(default="", name="streamSid")
    start: _Start = msgspec.field(default_factory=_Start)
    media: _Media = msgspec.field(default_factory=_Media)
    mark: _Mark = msgspec.field(default_factory=_Mark)
    dtmf: _Key = msgspec.field(default_factory=_Key)


@dataclass(slots=True)
class TwilioFraming:
    """Twilio Media Streams, bidirectional (`<Connect><Stream>`)."""

    stream: str = ""
    """The stream's id, known once it has started; every message of ours names it."""
    _decoder: msgspec.json.Decoder[_Message] = field(default_factory=lambda: msgspec.json.Decoder(_Message))

    def read(self, text: str) -> StreamMessage | None:
        message = decoded(self._decoder, text)
        match message.event:
            case "media":
                return StreamAudio(message.media.payload) if message.media.track == "inbound" else None
            case "start":
                self.stream = checked_id(message.stream)
                start = message.start
                law = law_of(start.format.encoding, start.format.sample_rate)
                return StreamStarted(self.stream, checked_id(start.call), start.parameters, law)
            case "mark":
                return MarkPlayed(message.mark.name)
            case "dtmf":
                return key_pressed(message.dtmf.digit)
            case "stop":
                return StreamStopped()
        return None

    def audio(self, payload: bytes) -> str:
        sound = b64encode(payload).decode()
        return f'{{"event":"media","streamSid":"{self.stream}","media":{{"payload":"{sound}"}}}}'

    def mark(self, name: str) -> str:
        return json.dumps({"event": "mark", "streamSid": self.stream, "mark": {"name": name}})

    def clear(self) -> str:
        return json.dumps({"event": "clear", "streamSid": self.stream})


class Twilio:
    """The operator's account at Twilio."""

    name = "twilio"

    def __init__(self, http: httpx2.AsyncClient, *, auth_token: str, account: str, api_url: str) -> None:
        """`account`: the account's SID; without it calls are taken, and ended by closing the stream."""
        self._http = http
        self._auth_token = auth_token
        self._account = account
        self._api_url = api_url.rstrip("/")

    def __repr__(self) -> str:
        return f"Twilio({self._api_url}, {'takes' if self.takes_orders else 'no'} orders)"

    def is_signed(self, request: WebhookRequest) -> bool:
        given = request.headers.get(SIGNATURE, "")
        expected = (signature(self._auth_token, url, request.form) for url in request.urls)
        return any(hmac.compare_digest(each.encode(), given.encode()) for each in expected)

    def incoming(self, request: WebhookRequest) -> IncomingCall:
        return IncomingCall(checked_id(request.field("CallSid")), request.field("From"))

    def accept(self, stream_url: str, token: str) -> str:
        parameter = f"<Parameter name={quoteattr(TOKEN_PARAMETER)} value={quoteattr(token)}/>"
        return response(f"<Connect><Stream url={quoteattr(stream_url)}>{parameter}</Stream></Connect>")

    def reject(self) -> str:
        return response('<Reject reason="busy"/>')

    def framing(self) -> TwilioFraming:
        return TwilioFraming()

    @property
    def takes_orders(self) -> bool:
        return bool(self._account)

    @property
    def transfers(self) -> bool:
        return self.takes_orders

    async def transfer(self, call: str, target: str) -> None:
        await self._update(call, {"Twiml": f"<Response><Dial>{dialled(target)}</Dial></Response>"})

    async def hang_up(self, call: str) -> None:
        await self._update(call, {"Status": "completed"})

    async def _update(self, call: str, form: dict[str, str]) -> None:
        path = f"/2010-04-01/Accounts/{quote(self._account, safe='')}/Calls/{quote(call, safe='')}.json"
        auth = (self._account, self._auth_token)
        await give_order(self._http, "POST", self._api_url + path, data=form, auth=auth)


def signature(auth_token: str, url: str, form: Sequence[tuple[str, str]]) -> str:
    """Return Twilio's signature of a request: HMAC-SHA1 over the address and each field once, sorted by name."""
    signed = url + "".join(name + value for name, value in sorted(set(form)))
    return b64encode(hmac.new(auth_token.encode(), signed.encode(), sha1).digest()).decode()

"""Telnyx: its signed webhook, TeXML, media streaming and TeXML REST API.

https://developers.telnyx.com/docs/voice/programmable-voice/texml-verbs/stream,
…/api-reference/websockets/stream-call-media-over-websocket, …/api-reference/texml-rest-commands/update-call
"""

import json
import time
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

import httpx2
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from backend.extensions.telephone.framing import Media, ProviderFraming
from backend.extensions.telephone.provider import TelephoneProvider, WebhookRequest, dial, order
from backend.extensions.telephone.settings import TelnyxSettings

SIGNATURE, TIMESTAMP = "telnyx-signature-ed25519", "telnyx-timestamp"
API_URL = "https://api.telnyx.com"
SIGNED_WITHIN_S = 300
"""The largest difference between the time of a signature and ours, in seconds."""


@dataclass(slots=True)
class TelnyxFraming(ProviderFraming):
    """Telnyx's media streaming, bidirectional, with RTP payloads."""

    _newest: int = -1
    """The number of the newest chunk of sound. Telnyx does not promise their order; late chunks are left out."""

    def mark(self, name: str) -> str:
        return json.dumps({"event": "mark", "mark": {"name": name}})

    def clear(self) -> str:
        return '{"event":"clear"}'

    def _audio(self, sound: str) -> str:
        return f'{{"event":"media","media":{{"payload":"{sound}"}}}}'

    def sound(self, media: Media) -> bytes:
        sound, chunk = ProviderFraming.sound(self, media), str(media.chunk)
        if sound and chunk.isdecimal() and len(chunk) < 16:  # numbered plausibly
            if int(chunk) <= self._newest:
                return b""
            self._newest = int(chunk)
        return sound


class Telnyx(TelephoneProvider):
    """The operator's account at Telnyx."""

    name = "telnyx"
    framing = TelnyxFraming
    stream_format = ' bidirectionalMode="rtp" bidirectionalCodec="PCMU" codec="PCMU" track="inbound_track"'
    """Without these attributes Telnyx accepts only sound files (MP3)."""

    def __init__(
        self,
        settings: TelnyxSettings,
        http: httpx2.AsyncClient,
        api_url: str = API_URL,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(settings.public_url)
        self._http, self._api_url = http, api_url
        self._public_key = Ed25519PublicKey.from_public_bytes(b64decode(settings.public_key))
        self._api_key = settings.api_key.get_secret_value()
        self._account = settings.account_sid
        self._clock = clock
        self.transfers = bool(self._api_key and self._account)

    def is_signed(self, request: WebhookRequest) -> bool:
        """Return whether the request was signed recently. The signature does not cover the address."""
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

    async def transfer(self, call: str, target: str) -> None:
        path = f"/v2/texml/Accounts/{quote(self._account, safe='')}/Calls/{quote(call, safe='')}"
        headers = {"authorization": f"Bearer {self._api_key}"}
        await order(self._http, self._api_url + path, data={"Texml": dial(target)}, headers=headers)

"""Plivo: its signed webhook, Plivo XML and audio streaming.

https://www.plivo.com/docs/voice/concepts/signature-validation, …/docs/voice/xml/audiostream,
…/docs/voice/audio-streaming/audio-streaming. Calls are not transferred: its API does not take XML, but
only an address that serves it.
"""

import hmac
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import parse_qsl, urlsplit
from xml.sax.saxutils import escape

from backend.extensions.telephone.framing import TOKEN_PARAMETER, ProviderFraming, StreamMessage
from backend.extensions.telephone.provider import TelephoneProvider, WebhookRequest, response
from backend.extensions.telephone.settings import PlivoSettings
from backend.media.g711 import RATE

SIGNATURE, NONCE = "x-plivo-signature-v3", "x-plivo-signature-v3-nonce"
FORMAT = 'bidirectional="true" keepCallAlive="true" audioTrack="inbound" contentType="audio/x-mulaw;rate=8000"'
TOKEN = re.compile(r"\btoken\W{1,4}([0-9a-f]{2,512})\b")
"""Finds the token in the stream's headers. It is hexadecimal, since header values may have letters and digits only."""


class PlivoFraming(ProviderFraming):
    """Plivo's bidirectional audio streams. Plivo calls a mark a checkpoint; the stream ends with its socket."""

    def mark(self, name: str) -> str:
        return json.dumps({"event": "checkpoint", "streamId": self.stream, "name": name})

    def clear(self) -> str:
        return json.dumps({"event": "clearAudio", "streamId": self.stream})

    def _audio(self, sound: str) -> str:
        media = f'{{"contentType":"audio/x-mulaw","sampleRate":{RATE},"payload":"{sound}"}}'
        return f'{{"event":"playAudio","streamId":"{self.stream}","media":{media}}}'

    def _parameters(self, message: StreamMessage) -> dict[str, str]:
        """Return the token in the stream's headers."""
        found = TOKEN.search(str(message.extra_headers))
        try:
            return {} if found is None else {TOKEN_PARAMETER: bytes.fromhex(found[1]).decode()}
        except ValueError:
            return {}


class Plivo(TelephoneProvider):
    """The operator's account at Plivo."""

    name = "plivo"
    framing = PlivoFraming
    call_field = "CallUUID"
    busy = '<Hangup reason="busy"/>'

    def __init__(self, settings: PlivoSettings) -> None:
        super().__init__(settings.public_url)
        self._auth_token = settings.auth_token.get_secret_value()

    def is_signed(self, request: WebhookRequest) -> bool:
        """Return whether one of the signatures is right: there is one for each valid auth token."""
        nonce = request.headers.get(NONCE, "")
        given = [each.strip().encode() for each in request.headers.get(SIGNATURE, "").split(",")]
        expected = [signature(self._auth_token, url, request.form, nonce).encode() for url in request.urls]
        return bool(nonce) and any(hmac.compare_digest(one, other) for one in expected for other in given)

    def accept(self, stream_url: str, token: str) -> str:
        headers = f'extraHeaders="{TOKEN_PARAMETER}={token.encode().hex()}"'
        return response(f"<Stream {FORMAT} {headers}>{escape(stream_url)}</Stream>")


def signature(auth_token: str, url: str, form: Sequence[tuple[str, str]], nonce: str) -> str:
    """Return Plivo's signature (V3) of a POST: HMAC-SHA256 over the address, the sorted fields and the nonce."""
    parts = urlsplit(url)
    query = "&".join(f"{name}={value}" for name, value in sorted(parse_qsl(parts.query, keep_blank_values=True)))
    signed = f"{parts.scheme}://{parts.netloc}{parts.path}"
    if query or form:
        signed += f"?{query}"
    if query and form:
        signed += "."
    signed += "".join(name + value for name, value in sorted(form))
    return b64encode(hmac.new(auth_token.encode(), f"{signed}.{nonce}".encode(), sha256).digest()).decode()

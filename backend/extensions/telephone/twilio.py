"""Twilio: its signed webhook, TwiML, Media Streams and REST API.

https://www.twilio.com/docs/usage/webhooks/webhooks-security, …/docs/voice/twiml/stream,
…/docs/voice/media-streams/websocket-messages, …/docs/voice/api/call-resource
"""

import hmac
import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha1
from urllib.parse import quote

import httpx2

from backend.extensions.telephone.framing import ProviderFraming
from backend.extensions.telephone.provider import TelephoneProvider, WebhookRequest, dial, order
from backend.extensions.telephone.settings import TwilioSettings

SIGNATURE = "x-twilio-signature"
API_URL = "https://api.twilio.com"


class TwilioFraming(ProviderFraming):
    """Twilio's bidirectional Media Streams (`<Connect><Stream>`)."""

    def mark(self, name: str) -> str:
        return json.dumps({"event": "mark", "streamSid": self.stream, "mark": {"name": name}})

    def clear(self) -> str:
        return json.dumps({"event": "clear", "streamSid": self.stream})

    def _audio(self, sound: str) -> str:
        return f'{{"event":"media","streamSid":"{self.stream}","media":{{"payload":"{sound}"}}}}'


class Twilio(TelephoneProvider):
    """The operator's account at Twilio."""

    name = "twilio"
    framing = TwilioFraming

    def __init__(self, settings: TwilioSettings, http: httpx2.AsyncClient, api_url: str = API_URL) -> None:
        super().__init__(settings.public_url)
        self._http, self._api_url = http, api_url
        self._auth_token = settings.auth_token.get_secret_value()
        self._account = settings.account_sid
        self.transfers = bool(self._account)

    def is_signed(self, request: WebhookRequest) -> bool:
        given = request.headers.get(SIGNATURE, "")
        expected = (signature(self._auth_token, url, request.form) for url in request.urls)
        return any(hmac.compare_digest(each.encode(), given.encode()) for each in expected)

    async def transfer(self, call: str, target: str) -> None:
        path = f"/2010-04-01/Accounts/{quote(self._account, safe='')}/Calls/{quote(call, safe='')}.json"
        auth = (self._account, self._auth_token)
        await order(self._http, self._api_url + path, data={"Twiml": dial(target)}, auth=auth)


def signature(auth_token: str, url: str, form: Sequence[tuple[str, str]]) -> str:
    """Return Twilio's signature of a request: HMAC-SHA1 over the address and the distinct fields, sorted by name."""
    signed = url + "".join(name + value for name, value in sorted(set(form)))
    return b64encode(hmac.new(auth_token.encode(), signed.encode(), sha1).digest()).decode()

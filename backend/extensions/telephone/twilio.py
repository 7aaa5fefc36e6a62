"""Twilio: its signed webhook, TwiML, Media Streams and REST API.

https://www.twilio.com/docs/usage/webhooks/webhooks-security, …/docs/voice/twiml/stream,
…/docs/voice/media-streams/websocket-messages, …/docs/voice/api/call-resource
"""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha1
from urllib.parse import quote

import httpx2

from backend.extensions.telephone.framing import ProviderFraming
from backend.extensions.telephone.provider import TelephoneProvider, WebhookRequest, dial

SIGNATURE = "x-twilio-signature"


class TwilioFraming(ProviderFraming):
    """Twilio Media Streams, bidirectional (`<Connect><Stream>`)."""

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

    def __init__(self, http: httpx2.AsyncClient, *, auth_token: str, account: str, api_url: str) -> None:
        """`account`: the account's SID; without it calls are taken, and ended by closing the stream."""
        super().__init__(http, api_url)
        self._auth_token = auth_token
        self._account = account

    def is_signed(self, request: WebhookRequest) -> bool:
        given = request.headers.get(SIGNATURE, "")
        expected = (signature(self._auth_token, url, request.form) for url in request.urls)
        return any(hmac.compare_digest(each.encode(), given.encode()) for each in expected)

    @property
    def takes_orders(self) -> bool:
        return bool(self._account)

    async def transfer(self, call: str, target: str) -> None:
        await self._update(call, {"Twiml": dial(target)})

    async def hang_up(self, call: str) -> None:
        await self._update(call, {"Status": "completed"})

    async def _update(self, call: str, form: dict[str, str]) -> None:
        path = f"/2010-04-01/Accounts/{quote(self._account, safe='')}/Calls/{quote(call, safe='')}.json"
        await self._order("POST", path, data=form, auth=(self._account, self._auth_token))


def signature(auth_token: str, url: str, form: Sequence[tuple[str, str]]) -> str:
    """Return Twilio's signature of a request: HMAC-SHA1 over the address and each field once, sorted by name."""
    signed = url + "".join(name + value for name, value in sorted(set(form)))
    return b64encode(hmac.new(auth_token.encode(), signed.encode(), sha1).digest()).decode()

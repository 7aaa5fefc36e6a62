"""A telephone provider that calls the server: its signed webhook, and the stream that the answer asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from xml.etree import ElementTree

import httpx2
from twilio.request_validator import RequestValidator

from demo.services.twilio import ACCOUNT, TOKEN
from tests.support.media_streams import CALL, TwilioStream

CALLER = "+15550123456"


@dataclass
class Twiml:
    """An answer to the webhook."""

    status: int
    text: str

    @property
    def rejected(self) -> str | None:
        """The reason of `<Reject>`."""
        verb = ElementTree.fromstring(self.text).find("Reject")
        return None if verb is None else verb.get("reason")

    @property
    def stream(self) -> tuple[str, dict[str, str]]:
        """The address and the parameters of `<Connect><Stream>`."""
        stream = ElementTree.fromstring(self.text).find("Connect/Stream")
        assert stream is not None, self.text
        parameters = {each.get("name", ""): each.get("value", "") for each in stream.findall("Parameter")}
        return stream.get("url", ""), parameters


async def announce(
    url: str,
    *,
    number: str = CALLER,
    call: str = CALL,
    token: str = TOKEN,
    signed_for: str = "",
    headers: dict[str, str] | None = None,
) -> Twiml:
    """Call the webhook, signed by Twilio's own library; `signed_for`: the address that Twilio believes to call."""
    form = {"CallSid": call, "AccountSid": ACCOUNT, "From": number, "To": "+15550100", "CallStatus": "ringing"}
    webhook = f"{url}/twilio/voice"
    signature = RequestValidator(token).compute_signature(signed_for or webhook, form)
    async with httpx2.AsyncClient(trust_env=False, timeout=10) as http:
        answer = await http.post(webhook, data=form, headers={"X-Twilio-Signature": signature} | (headers or {}))
    return Twiml(answer.status_code, answer.text)


@asynccontextmanager
async def phone_call(
    url: str, *, number: str = CALLER, call: str = CALL, delay_s: float = 0.0
) -> AsyncIterator[TwilioStream]:
    """A call that is answered, its stream begun; hung up at the end."""
    answer = await announce(url, number=number, call=call)
    assert answer.status == 200, answer.text
    address, parameters = answer.stream
    stream = TwilioStream(call=call, delay_s=delay_s)
    try:
        await stream.connect(address, parameters)
        yield stream
    finally:
        await stream.close()

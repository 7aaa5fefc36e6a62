"""A telephone provider that calls the server: its signed webhook, and the stream that the answer asks for."""

import time
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode
from xml.etree import ElementTree

import httpx2
from twilio.request_validator import RequestValidator

from backend.extensions.telephone.extension import open_providers
from backend.extensions.telephone.plivo import signature as plivo_signature
from backend.extensions.telephone.provider import Telephone
from backend.settings.settings import load_settings
from tests.extensions.telephone.media_streams import (
    CALL,
    PLIVO_CALL,
    TELNYX_ACCOUNT,
    TELNYX_CALL,
    PlivoStream,
    TelnyxStream,
    TwilioStream,
)
from tests.extensions.telephone.stand_ins import ACCOUNT, PLIVO_TOKEN, PRIVATE_KEY, PUBLIC_KEY, TOKEN
from tests.extensions.telephone.stream import MediaStream
from tests.http.world import World, world

CALLER = "+15550123456"
S = TypeVar("S", bound=MediaStream)


@asynccontextmanager
async def telephone_world(folder: Path, *, public_url: str = "", **settings: Any) -> AsyncIterator[World]:
    """A server with the calls of every provider; `public_url` is the address that Twilio calls."""
    async with httpx2.AsyncClient() as http:
        twilio = {"auth_token": TOKEN, "public_url": public_url}
        account = {"twilio": twilio, "telnyx": {"public_key": PUBLIC_KEY}, "plivo": {"auth_token": PLIVO_TOKEN}}
        telephone = open_providers(load_settings(_env_file=None, **account), http)
        async with world(folder, services_with={"opened": {Telephone: telephone}}, **settings) as here:
            yield here


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
    """Call the webhook, signed by Twilio's own library; `signed_for`: the address in Twilio's signature."""
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
    """An answered call with a stream; hung up at the end."""
    answer = await announce(url, number=number, call=call)
    assert answer.status == 200, answer.text
    async with begun(TwilioStream(call=call, delay_s=delay_s), *answer.stream) as stream:
        yield stream


@asynccontextmanager
async def begun(stream: S, address: str, parameters: dict[str, str]) -> AsyncIterator[S]:
    """An open stream; hung up at the end."""
    try:
        await stream.connect(address, parameters)
        yield stream
    finally:
        await stream.close()


async def announce_telnyx(url: str, *, number: str = CALLER, call: str = TELNYX_CALL, late_s: float = 0.0) -> Twiml:
    """Call the webhook of a TeXML application, signed `late_s` seconds ago with Telnyx's private key."""
    form = {"CallSid": call, "AccountSid": TELNYX_ACCOUNT, "From": number, "To": "+15550100", "CallStatus": "ringing"}
    body, timestamp = urlencode(form), str(int(time.time() - late_s))
    signature = b64encode(PRIVATE_KEY.sign(f"{timestamp}|{body}".encode())).decode()
    headers = {"telnyx-signature-ed25519": signature, "telnyx-timestamp": timestamp}
    headers |= {"content-type": "application/x-www-form-urlencoded"}
    async with httpx2.AsyncClient(trust_env=False, timeout=10) as http:
        answer = await http.post(f"{url}/telnyx/voice", content=body, headers=headers)
    return Twiml(answer.status_code, answer.text)


async def announce_plivo(url: str, *, number: str = CALLER, call: str = PLIVO_CALL, token: str = PLIVO_TOKEN) -> Twiml:
    """Call the answer URL of a Plivo application."""
    form = {"CallUUID": call, "From": number, "To": "15550100", "CallStatus": "ringing", "Direction": "inbound"}
    webhook, nonce = f"{url}/plivo/voice", "05429567804466091622"
    signed = plivo_signature(token, webhook, list(form.items()), nonce)
    headers = {"X-Plivo-Signature-V3": f"another,{signed}", "X-Plivo-Signature-V3-Nonce": nonce}
    async with httpx2.AsyncClient(trust_env=False, timeout=10) as http:
        answer = await http.post(webhook, data=form, headers=headers)
    return Twiml(answer.status_code, answer.text)


@asynccontextmanager
async def telnyx_call(url: str) -> AsyncIterator[MediaStream]:
    """A call that Telnyx passes on; hung up at the end."""
    async with begun(TelnyxStream(), *(await announce_telnyx(url)).stream) as stream:
        yield stream


@asynccontextmanager
async def plivo_call(url: str) -> AsyncIterator[MediaStream]:
    """A call that Plivo passes on; hung up at the end."""
    answer = await announce_plivo(url)
    element = ElementTree.fromstring(answer.text).find("Stream")
    assert element is not None and element.get("bidirectional") == element.get("keepCallAlive") == "true", answer.text
    headers = {"extraHeaders": element.get("extraHeaders", "")}
    async with begun(PlivoStream(), (element.text or "").strip(), headers) as stream:
        yield stream

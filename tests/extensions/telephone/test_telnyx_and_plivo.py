"""Telnyx and Plivo: their messages, signatures and orders, their webhooks, and whole calls through the server."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from backend.errors import BadRequest, LineFailed
from backend.extensions.telephone.framing import ProviderFraming, StreamStarted
from backend.extensions.telephone.plivo import PlivoFraming, signature
from backend.extensions.telephone.provider import WebhookRequest
from backend.extensions.telephone.settings import TelnyxSettings
from backend.extensions.telephone.telnyx import SIGNED_WITHIN_S, Telnyx, TelnyxFraming
from backend.media.g711 import Law
from backend.testing.services.server import serving
from tests.extensions.telephone.announcing import (
    CALLER,
    announce_plivo,
    announce_telnyx,
    phone_call,
    plivo_call,
    telephone_world,
    telnyx_call,
)
from tests.extensions.telephone.media_streams import PLIVO_CALL, TELNYX_CALL, PlivoStream, TelnyxStream
from tests.extensions.telephone.stand_ins import (
    API_KEY,
    PLIVO_TOKEN,
    PRIVATE_KEY,
    PUBLIC_KEY,
    TELNYX_ACCOUNT,
    TOKEN,
    telnyx_api,
)
from tests.extensions.telephone.stream import MediaStream
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import RunningServer, running_server
from tests.support.speech import speech
from tests.support.tones import pitch
from tests.support.waiting import until

STORY: dict[str, Any] = {"text": "Once upon a time.", "tone": {"hz": 440, "ms": 9000}}
ANSWER: dict[str, Any] = {"text": "It is sunny.", "tone": {"hz": 880, "ms": 600}}
SETTINGS = {"TWILIO__AUTH_TOKEN": TOKEN, "TELNYX__PUBLIC_KEY": PUBLIC_KEY, "PLIVO__AUTH_TOKEN": PLIVO_TOKEN}


def opened(framing: ProviderFraming, stream: MediaStream, parameters: dict[str, str]) -> StreamStarted:
    """The stream's first messages, read."""
    *_, last = [framing.read(json.dumps(each | stream._envelope())) for each in stream._opening(parameters)]
    return framing.started(last)


def test_messages_of_telnyx_are_read_and_written() -> None:
    framing = TelnyxFraming()
    started = opened(framing, TelnyxStream(law=Law.A), {"token": "t"})
    assert (started.call, started.parameters, started.law) == (TELNYX_CALL, {"token": "t"}, Law.A)
    sound = b64encode(b"abc").decode()

    def heard(chunk: str, track: str = "inbound") -> bytes:
        media = {"track": track, "chunk": chunk, "payload": sound}
        return framing.sound(framing.read(json.dumps({"event": "media", "media": media})).media)

    assert heard("2") == b"abc"
    assert heard("1") == b"", "later sound has been heard already"
    assert heard("3", "outbound") == b""
    assert framing.read('{"event":"dtmf","dtmf":{"digit":"#"}}').dtmf.digit == "#"
    assert framing.read('{"event":"mark","mark":{"name":"m1"}}').mark.name == "m1"
    assert json.loads(framing.audio(b"abc")) == {"event": "media", "media": {"payload": sound}}
    assert json.loads(framing.mark("m1")) == {"event": "mark", "mark": {"name": "m1"}}
    assert json.loads(framing.clear()) == {"event": "clear"}


def test_messages_of_plivo_are_read_and_written() -> None:
    framing = PlivoFraming()
    started = opened(framing, PlivoStream(), {"extraHeaders": "token=" + "s.1-ü".encode().hex()})
    assert (started.call, started.parameters, started.law) == (PLIVO_CALL, {"token": "s.1-ü"}, Law.MU)
    sound = b64encode(b"abc").decode()
    assert framing.read(json.dumps({"event": "media", "media": {"chunk": 1, "payload": sound}})).media.payload == b"abc"
    assert framing.read('{"event":"playedStream","name":"m1"}').name == "m1"
    media = {"contentType": "audio/x-mulaw", "sampleRate": 8000, "payload": sound}
    stream = {"streamId": framing.stream}
    assert json.loads(framing.audio(b"abc")) == {"event": "playAudio", "media": media} | stream
    assert json.loads(framing.mark("m1")) == {"event": "checkpoint", "name": "m1"} | stream
    assert json.loads(framing.clear()) == {"event": "clearAudio"} | stream


@pytest.mark.parametrize("headers", ["", "token=zz", "token=c3", "other=61", '{"a": 1}'])
def test_a_plivo_stream_without_a_readable_token_has_none(headers: str) -> None:
    assert opened(PlivoFraming(), PlivoStream(), {"extraHeaders": headers}).parameters == {}


@pytest.mark.parametrize("message", ["", "{", "[]", '{"event": 5}', '{"event":"start"}', "[" * 5000, "x" * 70_000])
def test_an_invalid_message_is_refused(message: str) -> None:
    framing = TelnyxFraming()
    with pytest.raises(BadRequest):
        framing.started(framing.read(message))


@pytest.mark.parametrize(("encoding", "rate", "named"), [("PCMU", 16_000, "16000"), ("L16", 8_000, "L16")])
def test_a_format_that_is_not_g711_is_refused(encoding: str, rate: int, named: str) -> None:
    start = {"call_control_id": "c", "media_format": {"encoding": encoding, "sample_rate": rate}}
    message = TelnyxFraming().read(json.dumps({"event": "start", "stream_id": "s", "start": start}))
    with pytest.raises(BadRequest, match=named):
        TelnyxFraming().started(message)


URL = "https://voice.example.com/plivo/voice"


@pytest.mark.parametrize(
    ("url", "form", "expected"),
    [
        (URL, {"CallUUID": "c1", "From": "15550123", "To": "15550100"}, "XmwIJzRmpQxrAgh2VmZ2RrVU+YdAUS+fw2xmyOaORPk="),
        (f"{URL}?b=2&a=1", {"From": "1 555", "B": "u & =", "a": ""}, "VHr4/jqlkG5SL94sX+xDbprBgbHS/QEzGfTP8bwGR5M="),
        (f"{URL}?a=1", {}, "B9BR4IBr52ITXVFkI9EjVeNlybdTU9kputcX6kaH7oU="),
        (URL, {}, "KJQaPZPiNQBsrn3XvzQGCGNv98c1pPHgmlgnfD9pFzc="),
    ],
)
def test_our_signature_is_that_of_plivos_own_library(url: str, form: dict[str, str], expected: str) -> None:
    assert signature("secret", url, list(form.items()), "12345") == expected


def telnyx_account(api_key: str = "") -> TelnyxSettings:
    account = {"public_key": PUBLIC_KEY, "api_key": api_key, "account_sid": TELNYX_ACCOUNT}
    return TelnyxSettings.model_validate(account)


def telnyx_request(body: str, timestamp: str, signed: str = "") -> WebhookRequest:
    signature = b64encode(PRIVATE_KEY.sign((signed or f"{timestamp}|{body}").encode())).decode()
    return WebhookRequest([URL], {"telnyx-signature-ed25519": signature, "telnyx-timestamp": timestamp}, [], body)


async def test_a_signature_of_telnyx_is_for_this_body_at_this_time() -> None:
    async with httpx2.AsyncClient() as http:
        telnyx = Telnyx(telnyx_account(), http, clock=lambda: 1_000_000.0)
        assert telnyx.is_signed(telnyx_request("a=b", "1000000"))
        assert telnyx.is_signed(telnyx_request("a=b", str(1_000_000 - SIGNED_WITHIN_S)))
        assert not telnyx.is_signed(telnyx_request("a=b", str(1_000_000 - SIGNED_WITHIN_S - 1)))
        assert not telnyx.is_signed(telnyx_request("a=b", str(1_000_000 + SIGNED_WITHIN_S + 1)))
        assert not telnyx.is_signed(telnyx_request("a=c", "1000000", signed="1000000|a=b"))
        for timestamp in ("", "x", "-1", "9" * 40, "²"):
            assert not telnyx.is_signed(telnyx_request("a=b", timestamp))
        for broken in ("", "%%%", "AAAA"):
            headers = {"telnyx-signature-ed25519": broken, "telnyx-timestamp": "1000000"}
            assert not telnyx.is_signed(WebhookRequest([URL], headers, [], "a=b"))


async def test_an_order_to_telnyx_transfers_a_call() -> None:
    api = telnyx_api()
    async with serving(api.answering) as rest, httpx2.AsyncClient(trust_env=False) as http:
        telnyx = Telnyx(telnyx_account(API_KEY), http, rest.url)
        assert telnyx.transfers
        await telnyx.transfer(TELNYX_CALL, "+15550111")
        with pytest.raises(LineFailed, match="neither a telephone number"):
            await telnyx.transfer(TELNYX_CALL, "javascript:")
        wrong = Telnyx(telnyx_account("wrong"), http, rest.url)
        with pytest.raises(LineFailed, match="401"):
            await wrong.transfer(TELNYX_CALL, "+15550111")
    texml = "<Response><Dial><Number>+15550111</Number></Dial></Response>"
    assert api.orders == [(TELNYX_CALL, {"Texml": texml})]


async def test_strangers_are_refused_at_the_webhooks_and_at_the_streams(tmp_path: Path) -> None:
    async with telephone_world(tmp_path) as here:
        assert (await announce_telnyx(here.url, late_s=SIGNED_WITHIN_S + 5)).status == 403
        assert (await announce_plivo(here.url, token="another")).status == 403
        for stream, path in ((TelnyxStream(), "telnyx"), (PlivoStream(), "plivo")):
            await stream.connect(f"{here.url.replace('http', 'ws')}/{path}/media", {"token": "guessed"})
            async with asyncio.timeout(30):
                await stream.closed.wait()
            await stream.close()
        assert not here.calls and here.registry.live == 0


async def test_a_full_server_is_busy(tmp_path: Path) -> None:
    async with telephone_world(tmp_path, offers_per_minute=1) as here:
        assert (await announce_plivo(here.url)).status == 200
        assert '<Hangup reason="busy"/>' in (await announce_plivo(here.url)).text


@pytest.fixture(scope="module")
def server(peer: OfflinePeer) -> Iterator[RunningServer]:
    with running_server(peer, **SETTINGS) as running:
        yield running


OpenCall = Callable[[str], AbstractAsyncContextManager[MediaStream]]


@pytest.mark.realtime
@pytest.mark.parametrize("open_call", [phone_call, telnyx_call, plivo_call])
async def test_a_whole_call_with_an_interruption_and_keys(
    open_call: OpenCall, peer: OfflinePeer, server: RunningServer
) -> None:
    turns = [{"hear": "Tell me a story.", "reply": STORY}, {"hear": "Stop.", "reply": ANSWER}, {"reply": ANSWER}]
    await peer.follow({"turns": turns})
    async with open_call(server.url) as stream:
        await asyncio.sleep(0.8)
        stream.say(speech("Tell me a story."))
        await until(lambda: len(stream.audible()) > 60)
        assert pitch(b"".join(stream.audible()[-20:])) == pytest.approx(440, rel=0.03)
        stream.say(speech("Stop, I would like to know something else instead."))
        cleared = "clearAudio" if isinstance(stream, PlivoStream) else "clear"
        await until(lambda: stream.events(cleared) != [])
        before = len(stream.audible())
        await until(lambda: pitch(b"".join(stream.audible()[-20:])) > 800)
        assert before < 300
        await stream.press("42#")
        await asyncio.sleep(3)
        await stream.hang_up()
    printed = "".join(path.read_text(errors="replace") for path in server.folder.glob("*.log"))
    assert CALLER.strip("+") not in printed
    [connection] = (await peer.connections())[-1:]
    [cut, *_] = [each["event"] for each in connection["received"] if each["type"] == "conversation.item.truncate"]
    assert 0 < cut["audio_end_ms"] <= before * 20 + 120
    assert "4 2 #" in str(connection["received"])

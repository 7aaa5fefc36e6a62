"""Who may call by telephone: a signed webhook, and a stream with the token of its own call; strangers are refused."""

import asyncio
import logging
from pathlib import Path

import pytest
from twilio.request_validator import RequestValidator
from websockets.exceptions import InvalidStatus

from backend.extensions.telephone import routes
from backend.extensions.telephone.provider import Telephone
from backend.extensions.telephone.twilio import signature
from backend.http.callers import PHONE_USER, Callers
from backend.sessions.session import SessionState
from tests.extensions.telephone.announcing import CALLER, announce, phone_call, telephone_world
from tests.extensions.telephone.media_streams import CALL, TwilioStream
from tests.http.world import World, world
from tests.support.waiting import until


async def refused(here: World, parameters: dict[str, str], call: str = CALL) -> None:
    """Open a stream that must be closed without a call."""
    stream = TwilioStream(call=call)
    await stream.connect(here.url.replace("http", "ws") + "/twilio/media", parameters)
    async with asyncio.timeout(30):
        await stream.closed.wait()
    await stream.close()


@pytest.mark.parametrize(
    "form",
    [
        [("CallSid", "CA1"), ("From", "+15550123")],
        [("b", "2"), ("a", "1"), ("B", "ü & ="), ("empty", "")],
        [],
    ],
)
def test_our_signature_is_that_of_twilios_own_library(form: list[tuple[str, str]]) -> None:
    url = "https://voice.example.com/twilio/voice?a=b"
    assert signature("secret", url, form) == RequestValidator("secret").compute_signature(url, dict(form))


async def test_a_signed_webhook_is_answered_with_a_stream_and_the_call_runs(tmp_path: Path) -> None:
    async with telephone_world(tmp_path) as here, phone_call(here.url):
        await until(lambda: bool(here.calls))
        [session] = here.registry.newest(5)
        assert (session["state"], session["transport"]) == (SessionState.LIVE, "telephone")


async def test_a_webhook_without_the_right_signature_is_refused(tmp_path: Path) -> None:
    async with telephone_world(tmp_path) as here:
        assert (await announce(here.url, token="another")).status == 403
        assert (await announce(here.url, signed_for="https://elsewhere.example/twilio/voice")).status == 403
        async with here.browser() as browser:
            assert (await browser.post("/twilio/voice", data={"CallSid": CALL})).status_code == 403
            assert (await browser.post("/twilio/voice", content=b"\xff\xfe")).status_code == 422
        assert here.registry.live == 0


async def test_without_credentials_the_webhook_does_not_exist(tmp_path: Path) -> None:
    async with world(tmp_path, services_with={"opened": {Telephone: Telephone()}}) as here:
        assert (await announce(here.url)).status == 404
        with pytest.raises(InvalidStatus):
            await here.socket("/twilio/media")


@pytest.mark.parametrize("port", ["", ":443"])
async def test_behind_a_proxy_the_signature_is_for_the_address_that_twilio_called(tmp_path: Path, port: str) -> None:
    async with telephone_world(tmp_path, allowed_hosts=["voice.example.com"]) as here:
        answer = await announce(
            here.url,
            signed_for=f"https://voice.example.com{port}/twilio/voice",
            headers={"host": "voice.example.com", "x-forwarded-proto": "https", "x-forwarded-for": "54.172.60.1"},
        )
        assert answer.status == 200
        assert answer.stream[0] == "wss://voice.example.com/twilio/media"


async def test_a_configured_public_address_overrides_that_of_the_request(tmp_path: Path) -> None:
    async with telephone_world(tmp_path, public_url="https://voice.example.com/") as here:
        answer = await announce(here.url, signed_for="https://voice.example.com/twilio/voice")
        assert answer.stream[0] == "wss://voice.example.com/twilio/media"


async def test_a_stranger_cannot_open_the_media_socket(tmp_path: Path) -> None:
    async with telephone_world(tmp_path) as here:
        await refused(here, {})
        await refused(here, {"token": "guessed"})
        answer = await announce(here.url)
        _, parameters = answer.stream
        await refused(here, parameters, call="CAffffffffffffffffffffffffffffffff")  # another call's token
        assert not here.calls


async def test_a_token_opens_one_stream_only(tmp_path: Path) -> None:
    async with telephone_world(tmp_path) as here:
        _, parameters = (await announce(here.url)).stream
        first = TwilioStream()
        await first.connect(here.url.replace("http", "ws") + "/twilio/media", parameters)
        await until(lambda: bool(here.calls))
        await refused(here, parameters)
        assert len(here.calls) == 1
        await first.close()


async def test_a_streams_token_lasts_a_minute_and_opens_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with telephone_world(tmp_path) as here:
        _, parameters = (await announce(here.url)).stream
        [session] = here.registry.newest(5)
        shown = {"authorization": f"Bearer {parameters['token']}", "origin": CALL}
        async with here.browser() as stranger:
            answer = await stranger.get(f"/api/sessions/{session['session_id']}", headers=shown)
        assert answer.status_code in (403, 404)
        monkeypatch.setattr(routes, "TOKEN_AGE_S", -1)
        await refused(here, parameters)
        assert not here.calls


async def test_an_invalid_media_stream_is_closed(tmp_path: Path) -> None:
    async with telephone_world(tmp_path) as here:
        for message in ("nonsense", '{"event": "start"}', '{"event": 5}', "[" * 5000, '{"event":"media"}'):
            async with await here.socket("/twilio/media") as socket:
                for _ in range(3):
                    await socket.send(message)
                async with asyncio.timeout(30):
                    await socket.wait_closed()
        assert not here.calls


async def test_a_full_server_and_a_caller_with_too_many_calls_give_the_busy_tone(tmp_path: Path) -> None:
    async with telephone_world(tmp_path, session_cap=1) as here:
        assert (await announce(here.url)).rejected is None
        assert (await announce(here.url, number="+15550199")).rejected == "busy"
    async with telephone_world(tmp_path, budgets={"live_calls": 1}) as here:
        assert (await announce(here.url)).rejected is None
        assert (await announce(here.url)).rejected == "busy"
        assert (await announce(here.url, number="+15550199")).rejected is None
    async with telephone_world(tmp_path, offers_per_minute=1) as here:
        assert (await announce(here.url)).rejected is None
        assert (await announce(here.url)).rejected == "busy"


async def test_a_number_is_the_same_user_each_time_and_is_neither_stored_nor_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with telephone_world(tmp_path) as here:
        for number in (CALLER, CALLER, "+15550199", "anonymous", "anonymous"):
            assert (await announce(here.url, number=number)).status == 200
        owners = [session["owner"] for session in reversed(here.registry.newest(9))]
    assert owners[0] == owners[1] and owners[0].startswith(PHONE_USER)
    assert len(set(owners)) == 4
    assert CALLER.strip("+") not in caplog.text + "".join(owners)


def test_a_number_is_one_identity_in_every_notation_and_another_under_another_secret() -> None:
    callers = Callers(b"k" * 32)
    users = {callers.billed(number).user for number in ("+15550123456", "+1 (555) 012-3456", "sip:+15550123456")}
    assert len(users) == 1
    assert Callers(b"x" * 32).billed("+15550123456").user not in users


def test_callers_without_a_number_are_new_each_time_and_are_limited_together() -> None:
    callers = Callers(b"k" * 32)
    billing = [callers.billed(number) for number in ("", "anonymous", "+266696687", "sip:anonymous@anonymous.invalid")]
    assert len({billed.user for billed in billing}) == 4
    assert len({billed.address for billed in billing}) == 1

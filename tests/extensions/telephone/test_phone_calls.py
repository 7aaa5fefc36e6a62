"""The telephone side of a call: keys, hanging up, transfers, refusals of the provider; Twilio's API is a stand-in."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from backend.call.phone import HANG_UP, TRANSFER
from backend.testing.services.server import serving
from backend.turns.commands import AddUserText, SubmitResult
from backend.turns.events import ReplyAudio, ReplyFinished, ReplyStarted, ReplyText, ToolCalled
from tests.call.world import PlacedCall, placed_call
from tests.extensions.telephone.media_streams import CALL, TwilioStream
from tests.extensions.telephone.rigs import media_stream_call
from tests.extensions.telephone.stand_ins import ACCOUNT, CallApi, twilio_api
from tests.support.tones import tone
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

TRANSFERS = {"front_desk": "+15550111", "sales": "sip:sales@pbx.example.com"}


@dataclass
class PhoneWorld:
    """A call in progress, both ends of it, and Twilio's API."""

    call: PlacedCall
    stream: TwilioStream
    api: CallApi

    async def reply(self, name: str, arguments: str = "{}", *, ms: int = 300, request: int = -1) -> None:
        """Let the Responder answer the last request: some sound, and a tool call in the same reply."""
        responder = self.call.responder
        await until(lambda: bool(responder.requests))
        responder.say(
            ReplyStarted("r1", responder.requests[request].request),
            ReplyText("r1", "i1", "Goodbye, then."),
            ReplyAudio("r1", "i1", tone(440, ms)),
            ToolCalled("r1", "c1", name, arguments),
            ReplyFinished("r1", "completed"),
        )

    def results(self) -> list[str]:
        """The outcomes of tool calls in the Responder's input."""
        return [command.output for command in self.call.done(SubmitResult)]


@asynccontextmanager
async def phone_world(*, transfers: bool = True) -> AsyncIterator[PhoneWorld]:
    """A call over a real socket, with a scripted Responder; `transfers`: whether Twilio's API is configured."""
    api = twilio_api()
    async with (
        serving(api.answering) as rest,
        media_stream_call(api_url=rest.url, account=ACCOUNT if transfers else "") as (transport, stream),
        placed_call(transport=transport, transfers=TRANSFERS) as call,
    ):
        await until(lambda: call.events_of("session_started") != [])
        yield PhoneWorld(call, stream, api)


async def test_keys_become_one_message_and_the_page_sees_them() -> None:
    async with phone_world() as here:
        await here.stream.press("12345#")
        await until(lambda: here.call.done(AddUserText) != [])
        assert [command.text for command in here.call.done(AddUserText)] == [
            "(The caller pressed these keys on the telephone: 1 2 3 4 5 #)"
        ]
        assert here.call.events_of("keys_pressed") == [{"keys": "12345#"}]
        await until(lambda: bool(here.call.responder.requests))  # and they are answered


async def test_keys_without_an_end_are_joined_after_a_pause() -> None:
    async with phone_world() as here:
        await here.stream.press("1")
        await asyncio.sleep(0.4)
        await here.stream.press("2")
        await until(lambda: here.call.events_of("keys_pressed") != [])
        assert here.call.events_of("keys_pressed") == [{"keys": "12"}]


async def test_the_responder_knows_that_the_caller_is_on_the_telephone_and_the_transfer_targets() -> None:
    async with phone_world() as here:
        briefing = (
            here.call.responder.briefings[-1] if here.call.responder.briefings else here.call.live.parts.link.briefing
        )
        assert briefing is not None and "on the telephone" in briefing.instructions
        tools = {tool.name: tool for tool in briefing.tools}
        assert {HANG_UP, TRANSFER} <= tools.keys()
        assert tools[TRANSFER].parameters["properties"]["to"]["enum"] == ["front_desk", "sales"]


async def test_hanging_up_waits_until_the_goodbye_was_heard_and_closes_the_stream() -> None:
    async with phone_world(transfers=False) as here:
        assert {tool.name for tool in here.call.live.parts.phone.tools} == {HANG_UP}
        here.call.live.type_text("Goodbye.")
        await here.reply(HANG_UP, ms=600)
        assert await asyncio.wait_for(here.call.task, 30) == "hung_up"
        assert len(here.stream.audible()) == pytest.approx(30, abs=2)
        await asyncio.wait_for(here.stream.closed.wait(), 30)


async def test_a_transfer_has_twilio_dial_the_number_behind_the_name() -> None:
    async with phone_world() as here:
        here.call.live.type_text("Give me somebody real.")
        await here.reply(TRANSFER, '{"to": "front_desk"}')
        assert await asyncio.wait_for(here.call.task, 30) == "transferred"
        twiml = "<Response><Dial><Number>+15550111</Number></Dial></Response>"
        assert here.api.orders == [(CALL, {"Twiml": twiml})]


@pytest.mark.parametrize("arguments", ['{"to": "+15559999"}', "{}", "nonsense"])
async def test_a_caller_is_connected_only_with_targets_that_the_operator_has_named(arguments: str) -> None:
    async with phone_world() as here:
        here.call.live.type_text("Call my friend.")
        await here.reply(TRANSFER, arguments)
        await until(lambda: here.results() != [])
        assert "front_desk, sales only" in here.results()[0]
        assert here.api.orders == [] and not here.call.task.done()


async def test_a_transfer_that_the_provider_refuses_is_reported_and_the_call_goes_on() -> None:
    async with phone_world() as here:
        here.api.fails = True
        here.call.live.type_text("Give me somebody real.")
        await here.reply(TRANSFER, '{"to": "sales"}')
        await until(lambda: here.results() != [])
        assert "status 400" in here.results()[0]
        assert not here.call.task.done()
        assert here.call.events_of("thinker") == []  # no Thinker was at work


async def test_a_caller_who_speaks_before_the_goodbye_was_heard_is_not_hung_up_on() -> None:
    async with phone_world() as here:
        here.call.live.type_text("Goodbye.")
        await here.reply(HANG_UP, ms=3000)
        await until(lambda: len(here.stream.audible()) > 10)
        here.call.live.type_text("Wait, one more question!")
        await until(lambda: here.results() != [])
        assert "went on speaking" in here.results()[0]
        assert here.api.orders == [] and not here.call.task.done()

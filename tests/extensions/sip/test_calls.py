"""Calls by SIP between a user agent and a telephone over real sockets: sound, keys, hold, transfer, and every end."""

import asyncio
import json
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from aiosipua.auth import SipDigestAuth

from backend.call.phone import PRESS
from backend.errors import LineFailed, NeverConnected, TransportLost
from backend.extensions.sip import rtp_stream
from backend.extensions.sip.call import SipCall
from backend.extensions.sip.sdp import CodecName
from backend.media.frame import Frame
from backend.turns.commands import SubmitResult
from backend.turns.events import ReplyFinished, ReplyStarted, ToolCalled
from tests.call.world import placed_call
from tests.extensions.sip.rigs import sip_call
from tests.extensions.sip.sip_agents import user_agent
from tests.extensions.sip.sip_phone import HERE, sip_phone
from tests.support.tones import audible, pitch, tone
from tests.support.waiting import until

pytestmark = pytest.mark.realtime


def accept(call: SipCall) -> None:
    """Answer without ringing."""
    call.accept()


@pytest.mark.parametrize("codec", list(CodecName))
async def test_a_sound_goes_both_ways_in_every_codec(codec: CodecName) -> None:
    async with sip_call(codec=codec) as (transport, phone):
        frames: list[Frame] = []
        receiving = asyncio.create_task(transport.receive_frames(frames.append))
        phone.say(tone(500, 400))
        transport.play("a", tone(800, 400))
        await until(lambda: len(phone.audible()) >= 19 and len([f for f in frames if audible(f)]) >= 19)
        await asyncio.sleep(0.1)
        assert pitch(b"".join(f for f in frames if audible(f))) == pytest.approx(500, rel=0.04)
        assert pitch(b"".join(phone.audible())) == pytest.approx(800, rel=0.04)
        await phone.hang_up()
        await receiving


async def test_each_key_is_heard_once_and_does_not_disturb_the_sound() -> None:
    async with sip_call() as (transport, phone):
        keys: list[str] = []
        transport.listen_to_keys(keys.append)
        phone.press("12#A")
        await until(lambda: len(keys) == 4)
        await asyncio.sleep(0.2)
        assert keys == ["1", "2", "#", "A"]


async def test_keys_that_come_as_messages_count_as_well() -> None:
    async with sip_call() as (transport, phone):
        keys: list[str] = []
        transport.listen_to_keys(keys.append)
        for body, kind in (("Signal=5\r\nDuration=160\r\n", "application/dtmf-relay"), ("*", "application/dtmf")):
            assert (await phone.ask(phone.request("INFO", body, kind))).status_code == 200
        assert keys == ["5", "*"]


async def test_all_keys_are_pressed_through_a_renewed_agreement_and_the_sound_goes_on() -> None:
    async with sip_call() as (transport, phone):
        transport.play("a", tone(700, 600))
        pressing = asyncio.create_task(transport.press("1123456*#0"))
        await until(lambda: len(phone.keys) == 3)
        await phone.change("sendrecv")
        assert await asyncio.wait_for(pressing, 30) == 10
        assert "".join(phone.keys) == "1123456*#0"
        await until(lambda: len(phone.audible()) >= 28)


@pytest.mark.parametrize(("keys", "hold"), [("42#", False), ("1234567890", True), ("4 2", False)])
async def test_the_responder_hears_which_keys_were_pressed(keys: str, hold: bool) -> None:
    async with sip_call() as (transport, phone), placed_call(transport=transport) as call:
        await until(lambda: call.events_of("session_started") != [])
        call.live.type_text("Press them.")
        await until(lambda: bool(call.responder.requests))
        call.responder.say(
            ReplyStarted("r1", call.responder.requests[-1].request),
            ToolCalled("r1", "c1", PRESS, json.dumps({"keys": keys})),
            ReplyFinished("r1", "completed"),
        )
        if hold:
            await until(lambda: len(phone.keys) == 3)
            await phone.change("sendonly")
        await until(lambda: call.done(SubmitResult) != [])
        output, pressed = call.done(SubmitResult)[0].output, "".join(phone.keys)
        if " " in keys:
            assert "Only digits" in output and not pressed
        else:
            assert json.loads(output) == {"pressed": pressed, "not_pressed": keys.removeprefix(pressed)}
            assert (len(pressed) < len(keys)) == hold


async def test_on_hold_nothing_is_sent_or_lost_and_afterwards_the_reply_goes_on() -> None:
    async with sip_call() as (transport, phone):
        frames: list[Frame] = []
        receiving = asyncio.create_task(transport.receive_frames(frames.append))
        answer = await phone.change("sendonly")
        assert answer.status_code == 200 and "a=recvonly" in answer.text
        transport.play("a", tone(700, 300))
        phone.say(tone(500, 200))  # music
        await asyncio.sleep(0.1)
        before = phone.packets
        await asyncio.sleep(0.5)
        assert phone.packets == before and not any(audible(frame) for frame in frames)
        assert len(frames) > 10  # silence goes on, so that pauses count
        assert transport.queued_ms == 300
        answer = await phone.change("sendrecv")
        assert "a=sendrecv" in answer.text
        await until(lambda: len(phone.audible()) >= 15)
        assert "a=inactive" in (await phone.change("inactive")).text
        await phone.hang_up()
        await receiving


@pytest.mark.parametrize(("limit", "held"), [("HOLD_MAX_S", True), ("SILENCE_S", False)])
async def test_a_long_hold_and_a_stop_of_the_sound_end_the_call(
    limit: str, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rtp_stream, limit, 0.5)
    async with sip_call() as (transport, phone):
        if held:
            await phone.change("inactive")
        phone.sends = held
        with pytest.raises(TransportLost, match="on hold" if held else "No sound"):
            await asyncio.wait_for(transport.receive_frames(lambda frame: None), 30)
        await transport.close()
        await asyncio.wait_for(phone.over.wait(), 30)


async def test_a_foreign_packet_is_not_heard_and_gets_no_sound() -> None:
    async with sip_call() as (transport, phone):
        loop = asyncio.get_running_loop()
        heard: list[bytes] = []

        class Stranger(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, addr: Any) -> None:
                heard.append(data)

        stranger, _ = await loop.create_datagram_endpoint(Stranger, local_addr=("127.0.0.2", 0))
        await asyncio.sleep(0.1)
        for sequence in range(50):
            stranger.sendto(b"\x80\0" + sequence.to_bytes(2, "big") + bytes(8) + bytes(160), phone.remote)
        await asyncio.sleep(0.3)
        stranger.close()
        assert heard == []
        receiving = transport._stream._receiving
        assert receiving and receiving._source != 0, "the source that the stranger names"


async def test_a_repeated_invite_is_one_call_with_one_answer() -> None:
    calls: list[SipCall] = []

    def answer(call: SipCall) -> None:
        calls.append(call)
        call.accept()

    async with user_agent(answer) as agent, sip_phone((HERE, agent.port)) as phone:
        invite = phone.invite = phone.request("INVITE", phone.sdp())
        first = await phone.ask(invite)
        phone.send(invite)
        await until(lambda: len([each for each in phone.responses if each.status_code == 200]) >= 2)
        answers = {bytes(each) for each in phone.responses if each.status_code == 200}
        assert len(answers) == 1 and len(calls) == 1
        phone.ack(first)
        await until(lambda: calls[0].state == "up")
        assert await phone.hang_up() == 200
        phone.send(phone.request("BYE"))
        await until(lambda: phone.responses[-1].status_code == 481)


async def test_a_caller_who_gives_up_before_the_answer_gets_487() -> None:
    async with user_agent(lambda call: None) as agent, sip_phone((HERE, agent.port)) as phone:
        phone.invite = phone.request("INVITE", phone.sdp())
        phone.send(phone.invite)
        await until(lambda: any(each.status_code == 100 for each in phone.responses))
        phone.cancel()
        answer = await phone.answer_to(phone.invite)
        phone.ack(answer)
        assert answer.status_code == 487
        assert any(each.headers.get_first("cseq") == "1 CANCEL" and each.status_code == 200 for each in phone.responses)
        await until(lambda: agent.live == 0)


async def test_an_invite_without_an_offer_gets_one_of_ours() -> None:
    async with user_agent(accept) as agent, sip_phone((HERE, agent.port)) as phone:
        phone.invite = phone.request("INVITE")
        answer = await phone.ask(phone.invite)
        assert answer.status_code == 200 and "a=rtpmap:0 PCMU/8000" in answer.text
        phone.ack(answer, phone.sdp())
        phone.begin(answer)
        transport = agent_call(agent).transport
        transport.play("a", tone(600, 200))
        await until(lambda: len(phone.audible()) >= 9)


async def test_a_transfer_asks_the_telephone_to_call_another_number() -> None:
    async with sip_call() as (transport, phone):
        await asyncio.wait_for(transport.transfer("+15550111"), 30)
        assert phone.refers == ["<sip:+15550111@phone.test>"]


@pytest.mark.parametrize(("status", "news", "words"), [(603, 0, "status 603"), (202, 486, "status 486")])
async def test_a_transfer_that_fails_is_reported_and_the_call_goes_on(status: int, news: int, words: str) -> None:
    async with sip_call(refer_status=status, refer_news=news) as (transport, phone):
        with pytest.raises(LineFailed, match=words):
            await asyncio.wait_for(transport.transfer("sip:desk@pbx.test"), 30)
        transport.play("a", tone(600, 200))
        await until(lambda: len(phone.audible()) >= 9)


async def test_a_telephone_without_transfers_or_keys_is_not_offered_them() -> None:
    async with sip_call(headers={"Allow": "INVITE, ACK, BYE"}, offers_keys=False) as (transport, _):
        assert not transport.transfers and not transport.presses_keys


async def test_a_stranger_is_refused_and_accepted_with_the_password() -> None:
    callers: list[str] = []

    def answer(call: SipCall) -> None:
        callers.append(call.caller)
        call.accept()

    users = {"kitchen": "a-long-password"}
    async with user_agent(answer, peers=(), users=users) as agent:
        for auth, status in ((None, 401), (SipDigestAuth("kitchen", "wrong-password"), 403)):
            async with sip_phone((HERE, agent.port), auth=auth) as phone:
                assert await phone.call() == status
        assert callers == [] and not agent._calls and not agent._transactions
        async with sip_phone((HERE, agent.port), auth=SipDigestAuth("kitchen", "a-long-password")) as phone:
            assert await phone.call() == 200
            assert callers == ["sip-user:kitchen"]  # and not what From says
    async with user_agent(answer, peers=("10.0.0.0/8",)) as agent, sip_phone((HERE, agent.port)) as phone:
        assert await phone.call() == 403


async def test_calls_over_the_limit_get_503() -> None:
    async with user_agent(accept, max_calls=1) as agent:
        async with sip_phone((HERE, agent.port)) as first, sip_phone((HERE, agent.port)) as second:
            assert await first.call() == 200
            assert await second.call() == 503
            assert second.responses[-1].headers.get_first("retry-after")
            await first.hang_up()
        async with sip_phone((HERE, agent.port)) as third:
            assert await third.call() == 200


async def test_without_a_free_port_for_sound_a_call_is_refused() -> None:
    refused: list[str] = []

    def answer(call: SipCall) -> None:
        try:
            call.accept()
        except Exception as error:  # noqa: BLE001
            refused.append(str(error))
            call.refuse(503, 10)

    with taken_even_port() as port:
        async with (
            user_agent(answer, rtp_ports=f"{port}-{port + 1}") as agent,
            sip_phone((HERE, agent.port)) as phone,
        ):
            assert await phone.call() == 503
    assert refused == ["All RTP ports are in use."]


@contextmanager
def taken_even_port() -> Iterator[int]:
    """An even UDP port that this test holds."""
    with ExitStack() as sockets:
        port = 1
        while port % 2:
            taken = sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            taken.bind((HERE, 0))
            port = taken.getsockname()[1]
        yield port


async def test_garbage_is_dropped_and_calls_go_on(caplog: pytest.LogCaptureFixture) -> None:
    async with user_agent(accept) as agent, sip_phone((HERE, agent.port)) as phone:
        for size in range(1, 400, 7):
            phone.send(os.urandom(size))
        phone.send(b"INVITE sip:x SIP/2.0\r\nVia: \r\n\r\n")
        phone.send(b"SIP/2.0 abc\r\nVia: x\r\nCSeq: 1\r\n\r\n")
        phone.send(bytes(phone.request("INVITE", phone.sdp())).replace(b"CSeq: 1", b"CSeq: 99999999999"))
        phone.send(bytes(phone.request("ACK")))
        phone.send(bytes(phone.request("CANCEL")))
        assert await phone.call() == 200
        assert agent.live == 1
        assert await phone.hang_up() == 200
        assert agent.live == 0
    assert "could not be handled" not in caplog.text


async def test_options_are_answered_and_unknown_requests_are_refused() -> None:
    async with user_agent(accept) as agent, sip_phone((HERE, agent.port)) as phone:
        answer = await phone.ask(phone.request("OPTIONS"))
        assert answer.status_code == 200 and "INVITE" in (answer.headers.get_first("allow") or "")
        assert (await phone.ask(phone.request("SUBSCRIBE"))).status_code == 405
        needs = {"Require": "100rel"}
        phone.invite = phone.request("INVITE", phone.sdp(), headers=needs)
        assert (await phone.ask(phone.invite)).status_code == 420
        assert not agent._calls and not agent._transactions


async def test_an_acceptance_without_an_ack_ends_the_call() -> None:
    async with user_agent(accept) as agent, sip_phone((HERE, agent.port)) as phone:
        invite = phone.request("INVITE", phone.sdp())
        assert (await phone.ask(invite)).status_code == 200
        call = agent_call(agent)
        call.unacknowledged()
        assert call.transport is not None
        with pytest.raises(NeverConnected):
            await call.transport.receive_frames(lambda frame: None)
        await asyncio.wait_for(phone.over.wait(), 30)


async def test_a_call_comes_over_tcp_and_its_sound_by_udp() -> None:
    async with sip_call(tcp=True) as (transport, phone):
        transport.play("a", tone(600, 200))
        await until(lambda: len(phone.audible()) >= 9)
        assert ";transport=tcp" in (phone.responses[-1].headers.get_first("contact") or "")
        assert await phone.hang_up() == 200


async def test_at_the_end_of_the_server_every_call_gets_a_bye() -> None:
    async with user_agent(accept) as agent, sip_phone((HERE, agent.port)) as phone:
        assert await phone.call() == 200
        await agent.close()
        assert phone.over.is_set()
        assert agent.live == 0


def agent_call(agent: Any) -> Any:
    """The only call."""
    [call] = agent._calls.values()
    return call


async def test_only_the_trunks_challenge_is_answered() -> None:
    trunk: dict[str, Any] = {"trunk": "sip:account@sip.test", "trunk_password": "the-trunk's-password"}
    async with user_agent(accept, **trunk) as agent, sip_phone((HERE, agent.port)) as phone:
        assert await phone.call() == 200
        phone.challenges = 'Digest realm="x", nonce="y", algorithm=MD5, qop="auth"'
        agent_call(agent).hang_up()
        await asyncio.sleep(0.3)
        assert [each.headers.get_first("authorization") for each in phone.requests] == [None]

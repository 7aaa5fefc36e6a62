"""A fault in the audio of a call ends only that call, with an error on its page."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from backend.errors import MediaFailed
from backend.transports.webrtc.transport import WebRTCTransport
from responder_thinker.websocket import WebSocketCaller
from tests.call.world import placed_call
from tests.support.callers import webrtc_call, websocket_call
from tests.support.real_call import real_call
from tests.support.tones import tone
from tests.support.waiting import until


def broken(*_: object) -> Any:
    raise RuntimeError("out of order")


def break_encoder(transport: WebRTCTransport) -> None:
    vars(transport._sending)["next"] = broken


def break_protection(transport: WebRTCTransport) -> None:
    transport._peer.sender._srtp = None  # type: ignore[assignment]


def break_decoder(transport: WebRTCTransport) -> None:
    assert transport._receiving is not None
    transport._receiving._decoder.receive = broken  # type: ignore[assignment, method-assign]


def break_concealment(transport: WebRTCTransport) -> None:
    assert transport._receiving is not None
    transport._receiving.due = float("-inf")
    vars(transport._receiving)["expire"] = broken


def break_redundancy(transport: WebRTCTransport) -> None:
    vars(transport._sending)["on_loss"] = broken
    transport._on_loss(0.5)


FAULTS = [break_encoder, break_protection, break_decoder, break_concealment, break_redundancy]


@pytest.mark.parametrize("break_it", FAULTS)
async def test_a_fault_in_the_audio_ends_only_its_call_with_an_error(
    break_it: Callable[[WebRTCTransport], None],
) -> None:
    async with webrtc_call() as (beside, other), real_call() as (call, transport, caller, _):
        beside.play("a", tone(500, 5000))
        caller.say(tone(300, 5000))
        await asyncio.sleep(0.1)
        break_it(transport)
        await until(lambda: call.events_of("error") != [])
        assert await asyncio.wait_for(call.task, 20) == "error"
        [shown] = call.events_of("error")
        assert shown["message"].startswith("This call's audio failed") and shown["hint"]
        before = len(other.received.frames)
        await until(lambda: len(other.received.frames) > before + 10)
        assert other.received.frames[-1].audible
        await until(lambda: caller.hung_up, 20)


async def test_a_fault_of_the_decoder_is_raised_in_the_receiver() -> None:
    async with webrtc_call() as (transport, _):
        break_decoder(transport)
        with pytest.raises(MediaFailed):
            async with asyncio.timeout(20):
                await transport.receive_frames(lambda frame: None)


@pytest.mark.parametrize("part", ["_playout.pull", "_dtx.delivered"])
async def test_a_fault_in_the_audio_over_a_websocket_ends_the_call_with_an_error(part: str) -> None:
    async with websocket_call() as (transport, caller), placed_call(transport=transport) as call:
        assert isinstance(caller, WebSocketCaller)
        caller.say(tone(300, 2000))
        await until(lambda: call.events_of("session_started") != [])
        owner, name = part.split(".")
        vars(vars(transport)[owner])[name] = broken
        await until(lambda: call.events_of("error") != [])
        assert await asyncio.wait_for(call.task, 20) == "error"
        await until(lambda: caller.hung_up)


async def test_a_fault_while_the_responder_connects_ends_the_call() -> None:
    connecting = asyncio.Event()
    async with webrtc_call() as (transport, _), placed_call(connecting, transport=transport) as call:
        break_encoder(transport)
        await until(lambda: call.events_of("error") != [])
        assert await asyncio.wait_for(call.task, 20) == "error"


async def test_a_caller_who_leaves_while_the_responder_connects_ends_the_call() -> None:
    async with placed_call(asyncio.Event()) as call:
        call.transport.finish()
        assert await asyncio.wait_for(call.task, 20) == "disconnected"

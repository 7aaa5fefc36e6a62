"""Echo over real wires: a caller whose microphone picks up what it is played."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from backend.media.echo import EchoGuard
from backend.media.endpointing import Endpointing, open_endpointing
from backend.media.frame import Frame
from backend.media.opus import OpusEncoder
from backend.settings.vad import VadSettings
from backend.turns.events import SpeechStopped
from responder_thinker.webrtc import WebRTCCaller
from responder_thinker.websocket import WebSocketCaller
from tests.support.callers import webrtc_call, websocket_call
from tests.support.speech import pcm_of, samples_of, speech

pytest.importorskip("pywebrtc_audio")
pytestmark = pytest.mark.realtime

REPLY = "I have looked at your booking, and the flight leaves on Tuesday at nine in the morning."
DEVICE_S = 0.15
LOSS = 0.4
"""8 dB."""


def echo_back(caller: WebRTCCaller | WebSocketCaller) -> None:
    """Let the caller's microphone pick up what it receives, `DEVICE_S` later."""
    loop, encoder, receive = asyncio.get_running_loop(), OpusEncoder(), caller.received.add

    def pick_up(frame: Frame) -> None:
        quieter = Frame(pcm_of(samples_of(frame) * LOSS))
        if isinstance(caller, WebRTCCaller):
            caller.say_packets([encoder.encode(quieter)])
        else:
            caller.say(quieter)

    def add(frame: Frame, at: float) -> None:
        receive(frame, at)
        loop.call_later(DEVICE_S, pick_up, frame)

    caller.received.add = add  # type: ignore[method-assign]


def longest_voiced_ms(endpointing: Endpointing, frames: list[Frame]) -> int:
    events = [event for frame in frames for event in endpointing.process(frame)]
    return max((event.voiced_ms for event in events if isinstance(event, SpeechStopped)), default=0)


@pytest.mark.slow
@pytest.mark.parametrize("open_call", [webrtc_call, websocket_call])
async def test_an_echo_over_a_real_wire_is_cancelled(open_call: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
    guard = EchoGuard()
    raw: list[Frame] = []
    cleaned: list[Frame] = []

    def on_frame(frame: Frame) -> None:
        raw.append(frame)
        cleaned.append(guard.clean(frame))

    async with open_call() as (transport, caller):
        transport.watch_played(guard.played)
        receiving = asyncio.create_task(transport.receive_frames(on_frame))
        echo_back(caller)
        for _ in range(2):
            transport.play("a", speech(REPLY))
            await asyncio.sleep(len(speech(REPLY)) / 48_000 + 1.5)
        receiving.cancel()
        await asyncio.gather(receiving, return_exceptions=True)
    first, second = (open_endpointing(VadSettings.model_validate({})) for _ in range(2))
    assert longest_voiced_ms(first, raw) > 1000
    assert longest_voiced_ms(second, cleaned) < 280
    assert guard.delay_ms is not None and 1000 * DEVICE_S < guard.delay_ms < 900  # the caller's queue adds some

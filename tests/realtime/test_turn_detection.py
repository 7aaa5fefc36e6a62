"""The server's own endpointing: onsets, ends, and what follows them in a conversation."""

from typing import Any

import numpy as np
import pytest

from backend.realtime.serving.core import Realtime
from backend.realtime.serving.effects import Listen, Order, Stop
from backend.realtime.serving.parts import Begin, ReplySound
from backend.realtime.serving.turn_detection import TurnDetector, VoiceBegan, VoiceEnded
from tests.realtime.talking import append, ask, events, said, tell


def noise(ms: int, rms: float, seed: int = 1) -> bytes:
    """White noise, 24 kHz PCM16."""
    return (np.random.default_rng(seed).standard_normal(ms * 24) * rms).astype("<i2").tobytes()


def hears(core: Realtime, pcm: bytes) -> list[Any]:
    """Append in 20 ms pieces; all effects."""
    return [effect for start in range(0, len(pcm), 960) for effect in append(core, pcm[start : start + 960])]


def with_detection(**changes: Any) -> Realtime:
    core = Realtime("offline")
    detection = {"type": "server_vad", **changes}
    tell(core, "session.update", session={"type": "realtime", "audio": {"input": {"turn_detection": detection}}})
    return core


def test_speech_over_room_noise_is_found_with_its_times() -> None:
    detector = TurnDetector({"silence_duration_ms": 500})
    found = detector.feed(noise(1000, 100) + noise(800, 3000) + noise(1000, 100))
    assert found == [VoiceBegan(1000), VoiceEnded(2300)]


def test_a_turn_is_committed_with_its_prefix_and_answered() -> None:
    core = with_detection()
    effects = hears(core, noise(1000, 50) + noise(600, 3000) + noise(600, 50))
    kinds = [event["type"] for event in events(effects)]
    assert kinds == [
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
    ]
    started, stopped, committed = events(effects)[:3]
    assert started["audio_start_ms"] == 700
    assert started["item_id"] == stopped["item_id"] == committed["item_id"]
    listen = next(effect for effect in effects if isinstance(effect, Listen))
    assert 1300 <= listen.item.audio_ms <= 1500
    assert any(isinstance(effect, Order) for effect in effects)


@pytest.mark.parametrize("allowed", [True, False])
def test_speech_interrupts_a_reply_and_is_answered_unless_the_client_forbids_it(allowed: bool) -> None:
    core = with_detection(create_response=allowed, interrupt_response=allowed)
    order = ask(core)
    said(core, order, Begin(), ReplySound(bytes(4800)))
    effects = hears(core, noise(400, 50) + noise(200, 3000))
    assert (Stop(order.response_id) in effects) is allowed
    [done, *_] = [each for each in events(core.stopped(order.response_id)) if each["type"] == "response.done"]
    cut = {"type": "cancelled", "reason": "turn_detected"}
    assert done["response"]["status_details"] == (cut if allowed else None)
    assert any(isinstance(effect, Order) for effect in hears(core, noise(600, 50))) is allowed

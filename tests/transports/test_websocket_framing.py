"""The WebSocket framing: which messages are accepted, which are refused, and why."""

import base64
import json

import pytest

from backend.media.frame import SILENCE
from backend.transports.websocket_framing import (
    FLUSH,
    MAX_PCM_BYTES,
    READY,
    TOO_BIG,
    UNSUPPORTED,
    Audio,
    Bye,
    MessageRefused,
    Ping,
    read_binary,
    read_text,
    write_audio,
    write_bye,
)


def test_binary_is_audio_of_up_to_a_second() -> None:
    assert read_binary(b"\1\2") == Audio(b"\1\2")
    assert read_binary(bytes(MAX_PCM_BYTES)) == Audio(bytes(48_000))
    assert isinstance(read_binary(bytes(MAX_PCM_BYTES + 1)), MessageRefused)


def test_json_audio_is_base64() -> None:
    second = bytes(range(250)) * 192
    text = json.dumps({"type": "audio", "pcm": base64.b64encode(second).decode()})
    assert read_text(text) == Audio(second)


def test_ping_and_bye_need_no_fields() -> None:
    assert read_text('{"type":"ping"}') == Ping()
    assert read_text('{"type":"bye","why":"tired"}') == Bye()


@pytest.mark.parametrize(
    "text",
    [
        *("", "hello", "[]", "null", "{}", '{"type":"dance"}', '{"type":1}', '{"type":"audio","pcm":7}', '{"type":'),
        '{"type":"ping","more":' + "[" * 60_000,  # deeper than the parser goes
    ],
)
def test_other_text_is_refused_as_unsupported(text: str) -> None:
    refused = read_text(text)
    assert isinstance(refused, MessageRefused)
    assert refused.code == UNSUPPORTED == 1003
    assert "audio" in refused.reason


@pytest.mark.parametrize("pcm", ["%%%%", "abc", "ü"])
def test_audio_that_is_not_base64_is_refused(pcm: str) -> None:
    refused = read_text(json.dumps({"type": "audio", "pcm": pcm}, ensure_ascii=False))
    assert refused == MessageRefused(UNSUPPORTED, "pcm must be base64")


def test_more_than_a_second_is_refused_as_too_big() -> None:
    for text in ("x" * 100_000, json.dumps({"type": "audio", "pcm": base64.b64encode(bytes(48_003)).decode()})):
        refused = read_text(text)
        assert isinstance(refused, MessageRefused)
        assert refused.code == TOO_BIG == 1009


def test_sent_messages_follow_the_framing() -> None:
    assert json.loads(READY) == {"type": "ready"}
    assert json.loads(FLUSH) == {"type": "flush"}
    assert json.loads(write_bye("idle")) == {"type": "bye", "reason": "idle"}
    sent = json.loads(write_audio("item_7", SILENCE))
    assert sent.pop("pcm") == base64.b64encode(SILENCE).decode()
    assert sent == {"type": "audio", "item": "item_7"}

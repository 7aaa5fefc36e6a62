"""Script files: their fields, and the errors that name what is wrong."""

import json
import re
import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from backend.realtime.items import Item
from backend.testing.offline.script.handler import ScriptedHandler, words_of
from backend.testing.offline.script.schema import (
    CallSpec,
    ChatSpec,
    HearingSpec,
    Script,
    ScriptedReply,
    ScriptError,
    Tone,
    TurnSpec,
    load,
    parse,
)
from backend.testing.offline.script.sound import sound_of
from tests.support.speech import tone


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ('{"turns": [{"replay": "Hi."}]}', "turns.0.replay"),
        ('{"turns": [{"reply": {"tone": {"hz": -1, "ms": 5}}}]}', "turns.0.reply.tone.hz"),
        ("[]", "script"),
        ("{", "script"),
    ],
)
def test_a_wrong_script_is_refused_with_the_field(data: str, named: str) -> None:
    with pytest.raises(ScriptError) as error:
        parse(data)
    assert f"{named}: " in str(error.value)


def test_a_missing_script_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="No such file"):
        load(tmp_path / "none.json")


def test_each_connection_follows_the_script_of_its_number() -> None:
    script = parse('{"connections": [{"mute_ms": 1}, {"mute_ms": 2}]}')
    assert [script.for_connection(number).mute_ms for number in (1, 2, 3)] == [1, 2, 2]


def test_a_reply_without_a_sound_lasts_as_long_as_its_text() -> None:
    sound = sound_of(ScriptedReply(text="0123456789"))
    assert sound.length_ms == 600
    assert len(sound.between(500, 900)) == 100 * 48


def test_the_pieces_of_a_text_join_to_the_text() -> None:
    assert "".join(words_of("Two  words, spaced.")) == "Two  words, spaced."
    assert words_of("") == []


def test_the_documented_example_is_valid() -> None:
    page = (Path(__file__).parents[2] / "docs" / "offline.md").read_text()
    script = parse(page.split("```json\n")[1].split("```")[0])
    assert len(script.turns) == 2
    assert script.purposes["goodbye"].tone


def test_every_field_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "offline.md").read_text()
    models: list[type[BaseModel]] = [Script, TurnSpec, ScriptedReply, Tone, HearingSpec, CallSpec, ChatSpec]
    missing = [name for model in models for name in model.model_fields if not re.search(rf"\b{name}\b", page)]
    assert missing == []


async def test_a_sentence_in_pieces_is_one_turn_if_the_script_knows_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hearing = {"text": "what is the weather in Seattle", "voiced_ms": 1000}
    turns = [{"hear": hearing, "reply": "Sunny."}, {"hear": "thanks", "reply": "Sure."}]
    handler = ScriptedHandler(parse(json.dumps({"turns": turns})).for_connection(1))

    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)

    async def hear(loud: int, after_s: float = 0.5) -> str:
        nonlocal now
        now += after_s
        pcm = tone(400, loud) + bytes(48 * 300)
        handler.feed(pcm)
        parts = [part async for part in handler.transcribe(Item("i", "message"))]
        return parts[-1].text  # type: ignore[union-attr]

    assert [await hear(500), await hear(460)] == ["what is the", "weather in Seattle"]
    assert [await hear(200, 1.5), await hear(200)] == ["thanks", "thanks"]

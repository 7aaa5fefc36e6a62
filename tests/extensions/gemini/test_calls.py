"""A whole spoken call with Gemini's protocol: each turn is an activity, which interrupts the reply."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.provider_calls import interrupted_call

pytestmark = pytest.mark.realtime


async def test_a_spoken_call_is_answered_interrupted_and_answered_again() -> None:
    made = await interrupted_call("gemini", lambda peer: {"GEMINI__API_KEY": "k", "GEMINI__URL": peer.realtime_url})
    assert not str(made.log["closed"]).startswith("closed 1007")
    sent = [part["text"] for each in made.received for turn in turns(each) for part in turn["parts"]]
    assert any(made.heard.split()[-1] in text for text in sent), "the heard part is sent with the next request"
    signals = [name for each in made.received for name in each.get("realtimeInput", {}) if name != "audio"]
    assert len(signals) >= 4 and signals == ["activityStart", "activityEnd"] * (len(signals) // 2)


def turns(message: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = message.get("clientContent", {}).get("turns", [])
    return found

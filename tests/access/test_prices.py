"""What replies cost: the price table, and what a call learns of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import pytest
from openai.types.realtime import RealtimeSessionCreateRequest

from backend.access.prices import load_prices
from backend.errors import SettingsError
from backend.responders.openai_models import capabilities_of
from backend.settings.settings import load_settings
from backend.testing.responder import ScriptedResponder
from backend.turns import events as ev
from tests.call.world import placed_call, settle

USAGE = ev.TokenUsage(text_in=1000, audio_in=500, cached_text_in=400, cached_audio_in=200, text_out=50, audio_out=300)


def test_cached_tokens_cost_their_own_price_only() -> None:
    price = load_prices()["gpt-realtime-2"]
    dollars = (600 * 4 + 300 * 32 + 400 * 0.4 + 200 * 0.4 + 50 * 24 + 300 * 64) / 1e6
    assert price.micro_usd(asdict(USAGE)) == round(dollars * 1e6)
    assert price.micro_usd(asdict(ev.TokenUsage())) == 0


def test_the_default_model_has_a_price_and_every_model_of_the_table_is_known_to_the_package() -> None:
    named = get_args(get_args(RealtimeSessionCreateRequest.model_fields["model"].annotation)[1])
    assert load_settings(_env_file=None).realtime.model in load_prices()
    assert set(load_prices()) <= set(named)


def test_an_operators_table_replaces_ours_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "prices.toml"
    table.write_text(
        "[mine]\ntext_in = 1\naudio_in = 2\ncached_text_in = 0\ncached_audio_in = 0\ntext_out = 3\naudio_out = 4\n"
    )
    assert list(load_prices(table)) == ["mine"]
    for wrong in ("[mine]\ntext_in = 1\n", "[mine]\ntext_in = -1\n", "not toml at all ["):
        table.write_text(wrong)
        with pytest.raises(SettingsError, match=r"prices\.toml"):
            load_prices(table)
    with pytest.raises(SettingsError):
        load_prices(tmp_path / "nowhere.toml")


def test_models_that_reason_are_told_from_dates() -> None:
    assert all(capabilities_of(model).reasons for model in ("gpt-realtime-2", "gpt-realtime-2.1-mini"))
    assert not any(capabilities_of(model).reasons for model in ("gpt-realtime-1.5", "gpt-realtime-2025-08-28"))


async def test_a_call_shows_what_its_replies_took_and_counts_it() -> None:
    charged: list[Any] = []

    def spend(session: str, model: str, tokens: Any) -> int:
        charged.append(tokens)
        return 2500

    async with placed_call(ScriptedResponder(), spent=spend) as call:
        for number in (1, 2):
            end = ev.ReplyFinished(
                f"r{number}", "completed", "", 1500, 350, USAGE, audio_sent_ms=1200, audio_received_ms=3000
            )
            call.responder.say(end)
        await settle()
        first, second = call.told("usage")
        assert (first["input_tokens"], first["cached_tokens"], first["output_tokens"]) == (1500, 600, 350)
        assert (first["usd"], second["call_usd"], second["call_tokens"]) == (0.0025, 0.005, 3700)
        assert charged[0]["audio_out"] == 300
        value = call.line.metrics.registry.get_sample_value
        labels = {"provider": "fake", "model": "fake"}
        assert value("voice_responder_tokens_total", {**labels, "kind": "audio_out"}) == 600
        assert value("voice_responder_audio_seconds_total", {**labels, "direction": "sent"}) == pytest.approx(2.4)
        assert value("voice_responder_usd_total", labels) == pytest.approx(0.005)


async def test_without_a_price_nothing_is_invented() -> None:
    async with placed_call(ScriptedResponder()) as call:
        call.responder.say(ev.ReplyFinished("r1", "completed", "", 10, 5))
        await settle()
        [shown] = call.told("usage")
        assert shown["usd"] is None and shown["call_usd"] is None and shown["call_tokens"] == 15

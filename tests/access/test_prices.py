"""The price table, and the costs that a call shows and counts."""

from dataclasses import asdict
from typing import Any, get_args

import pytest
from openai.types.realtime import RealtimeSessionCreateRequest

from backend.access.prices import price_table
from backend.settings.budgets import BudgetSettings, ModelPrice
from backend.settings.settings import load_settings
from backend.testing.responder import ScriptedResponder
from backend.turns import events as ev
from tests.call.world import placed_call, settle

USAGE = ev.TokenUsage(text_in=1000, audio_in=500, cached_text_in=400, cached_audio_in=200, text_out=50, audio_out=300)


def test_cached_tokens_cost_only_the_price_of_cached_tokens() -> None:
    price = price_table({})["gpt-realtime-2"]
    dollars = (600 * 4 + 300 * 32 + 400 * 0.4 + 200 * 0.4 + 50 * 24 + 300 * 64) / 1e6
    assert price.micro_usd(asdict(USAGE)) == round(dollars * 1e6)
    assert price.micro_usd(asdict(ev.TokenUsage())) == 0


def test_the_default_model_has_a_price_and_the_package_knows_every_model_of_the_table() -> None:
    named = get_args(get_args(RealtimeSessionCreateRequest.model_fields["model"].annotation)[1])
    assert load_settings(_env_file=None).realtime.model in price_table({})
    assert set(price_table({})) <= set(named)


def test_prices_of_the_operator_come_first_and_wrong_ones_are_refused() -> None:
    own = BudgetSettings.model_validate({"prices": '{"mine": {"text_in": 1, "text_out": 3}}'}).prices
    table = price_table(own)
    assert table["mine"].micro_usd({"text_in": 2, "text_out": 1}) == 5 and "gpt-realtime-2" in table
    for wrong in ('{"mine": {"text_in": 1}}', '{"mine": {"text_in": -1, "text_out": 3}}', "not json"):
        with pytest.raises(ValueError, match="prices"):
            BudgetSettings.model_validate({"prices": wrong})


def test_a_kind_of_token_without_a_price_costs_as_much_as_text() -> None:
    price = ModelPrice(text_in=1, text_out=3)
    assert price.micro_usd({"audio_in": 10, "audio_out": 10, "image_in": 10}) == 50
    assert price.micro_usd({"text_in": 10, "cached_text_in": 8, "audio_in": 10, "cached_audio_in": 10}) == 20


async def test_a_call_shows_and_counts_the_tokens_of_its_replies() -> None:
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
        first, second = call.events_of("usage")
        assert (first["input_tokens"], first["cached_tokens"], first["output_tokens"]) == (1500, 600, 350)
        assert (first["usd"], second["call_usd"], second["call_tokens"]) == (0.0025, 0.005, 3700)
        assert charged[0]["audio_out"] == 300
        value = call.line.metrics.registry.get_sample_value
        labels = {"provider": "fake", "model": "fake"}
        assert value("voice_responder_tokens_total", {**labels, "kind": "audio_out"}) == 600
        assert value("voice_responder_audio_seconds_total", {**labels, "direction": "sent"}) == pytest.approx(2.4)
        assert value("voice_responder_usd_total", labels) == pytest.approx(0.005)


async def test_a_reply_without_a_price_has_no_cost() -> None:
    async with placed_call(ScriptedResponder()) as call:
        call.responder.say(ev.ReplyFinished("r1", "completed", "", 10, 5))
        await settle()
        [shown] = call.events_of("usage")
        assert shown["usd"] is None and shown["call_usd"] is None and shown["call_tokens"] == 15

"""The settings for attempts and time limits reach the requests to text models."""

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from backend.access.budgets import Budgets
from backend.app.models import open_models
from backend.errors import ModelUnavailable
from backend.settings.settings import load_settings
from backend.testing.memory import FakeMemory
from backend.testing.services.server import serving
from tests.support import chat_api as api


@pytest.mark.document("002", "tool loop")
async def test_a_silent_model_is_given_up_after_the_attempts_and_seconds_of_the_settings() -> None:
    both = {"thinker_model": "m", "thinker_model_advanced": "m"}
    settings = load_settings(_env_file=None, model_attempts=2, model_silence_s=0.2, **both)
    asked = 0

    def never(_request: object) -> Any:
        nonlocal asked
        asked += 1
        return api.stream([30.0])

    async with serving(never) as server:
        endpoints = SimpleNamespace(models=SimpleNamespace(base_url=f"{server.url}/v1", api_key="k", model=None))
        stores = SimpleNamespace(memory=FakeMemory(), opened=SimpleNamespace(redis=None))
        budgets = cast(Budgets, SimpleNamespace(settings=settings.budgets))
        began = time.monotonic()
        async with open_models(settings, cast(Any, endpoints), cast(Any, stores), budgets) as models:
            with pytest.raises(ModelUnavailable):
                async for _ in models.model.stream([{"role": "user", "content": "x"}], model="m"):
                    pass
    assert asked == 2
    assert time.monotonic() - began < 20

"""The settings decide which providers converse and which model answers the Thinkers."""

from contextlib import AsyncExitStack
from itertools import combinations
from typing import Any

import pytest

from backend.app.endpoints import Endpoints, open_endpoints
from backend.app.extensions import Installed, installed
from backend.app.no_provider import HINT as NO_PROVIDER_HINT
from backend.app.no_provider import MESSAGE as NO_PROVIDER
from backend.errors import SetupError
from backend.settings.settings import load_settings
from tests.support.responder_rigs import Provider, providers

WITH_KEYS = [provider for provider in providers() if provider.keys]
PROVIDER = "http://127.0.0.1:9/v1"
"""An address without a server; no test sends a request to it."""


async def endpoints(**settings: Any) -> Endpoints:
    async with AsyncExitStack() as stack:
        return await open_endpoints(load_settings(**{"openai_base_url": PROVIDER, **settings}), stack, installed())


def models_of(chosen: Endpoints) -> dict[str, str]:
    """Return the model of each provider by its name, in order."""
    return {each.name: each.about.model for each in chosen.providers.all}


async def test_with_a_key_the_provider_converses_and_answers_the_thinkers() -> None:
    chosen = await endpoints(openai_api_key="sk-1")
    assert models_of(chosen) == {"openai": "gpt-realtime-2"}
    assert (chosen.models.base_url, chosen.most_calls) == (PROVIDER, 0)


@pytest.mark.parametrize(("first", "second"), [*combinations(WITH_KEYS, 2)], ids=lambda provider: provider.name)
async def test_a_server_offers_the_endpointers_that_all_its_providers_share(first: Provider, second: Provider) -> None:
    names = f"{first.name},{second.name}"
    found = (await endpoints(responders=names, **{"openai_api_key": "k", **first.keys, **second.keys})).providers
    assert found.endpointers == first.can.endpointers & second.can.endpointers
    assert found.without("provider") == [
        each.name for each in (first, second) if "provider" not in each.can.endpointers
    ]


@pytest.mark.parametrize("provider", WITH_KEYS, ids=lambda provider: provider.name)
async def test_a_provider_without_its_settings_is_refused_when_the_server_starts(provider: Provider) -> None:
    with pytest.raises(SetupError) as refused:
        await endpoints(responders=provider.name)
    assert provider.lacks in f"{refused.value} {refused.value.hint}"


async def test_an_unknown_provider_is_refused_with_a_list_of_the_known_ones() -> None:
    with pytest.raises(SetupError) as refused:
        await endpoints(responders="openai,nobody", openai_api_key="k")
    assert all(name in refused.value.hint for name in ("openai", *installed().responders))


async def test_a_server_without_a_provider_starts_and_says_what_to_set() -> None:
    async with AsyncExitStack() as stack:
        chosen = await open_endpoints(load_settings(), stack, Installed())
        assert "OPENAI_API_KEY" in NO_PROVIDER_HINT
        assert chosen.models.api_key, "the client of the models cannot be made without a key"
        assert NO_PROVIDER in await chosen.providers.readiness()

"""What the scripted peer finds in the extensions that are installed."""

from __future__ import annotations

import pytest

from backend.errors import SetupError
from backend.realtime.serving.core import Realtime
from backend.testing.offline.unscripted import Mute, peer_of


@pytest.mark.parametrize("provider", ["xai", "qwen", "vllm_omni"])
def test_the_schema_of_a_provider_is_found_by_its_name(provider: str) -> None:
    assert issubclass(peer_of(provider), Realtime)


def test_an_unknown_provider_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(SetupError) as refused:
        peer_of("nobody")
    assert "vllm_omni" in refused.value.hint


async def test_where_nothing_answers_a_chat_completion_fails() -> None:
    assert (await Mute().complete(b"{}")).status_code == 503

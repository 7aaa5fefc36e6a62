"""The scripted peer finds the protocols of the installed extensions."""

import pytest

from backend.errors import SetupError
from backend.realtime.serving.core import Realtime
from backend.testing.extension_modules import modules_named
from backend.testing.offline.unscripted import peer_of

PROVIDERS = sorted(name for module in modules_named("scripted") for name in module.PEERS)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_peer_of_a_provider_is_found_by_its_name(provider: str) -> None:
    assert issubclass(peer_of(provider), Realtime)


def test_an_unknown_peer_is_refused_with_a_list_of_the_known_ones() -> None:
    with pytest.raises(SetupError) as refused:
        peer_of("nobody")
    assert all(provider in refused.value.hint for provider in PROVIDERS)

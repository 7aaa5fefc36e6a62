"""One local Responder for all tests here."""

import pytest

from backend.testing.peer import OfflinePeer
from tests.support.shared_responder import shared_local_responder


@pytest.fixture(scope="package")
def peer() -> OfflinePeer:
    """The running local Responder, without a model."""
    return OfflinePeer(shared_local_responder(), 0)

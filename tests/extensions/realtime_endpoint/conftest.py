"""A server with a scripted Responder behind it, for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.offline_peer import OfflinePeer, running_peer
from tests.support.running_server import RunningServer, running_server


@pytest.fixture(scope="module")
def peer() -> Iterator[OfflinePeer]:
    with running_peer() as running:
        yield running


@pytest.fixture(scope="module")
def running(peer: OfflinePeer) -> Iterator[RunningServer]:
    with running_server(peer) as running:
        yield running

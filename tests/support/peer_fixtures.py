"""A scripted peer, and a server with that peer for its Responder: one each for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.offline_peer import OfflinePeer
    from tests.support.running_server import RunningServer


@pytest.fixture(scope="module")
def peer() -> Iterator[OfflinePeer]:
    """A running peer; each test gives it its own script."""
    from tests.support.offline_peer import running_peer

    with running_peer() as started:
        yield started


@pytest.fixture(scope="module")
def running(peer: OfflinePeer) -> Iterator[RunningServer]:
    """A server with that peer for its Responder."""
    from tests.support.running_server import running_server

    with running_server(peer) as server:
        yield server

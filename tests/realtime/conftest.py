"""One scripted peer for all tests here: each test gives it its own script."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.offline_peer import OfflinePeer, running_peer


@pytest.fixture(scope="package")
def peer() -> Iterator[OfflinePeer]:
    """A running peer; starts without a script."""
    with running_peer() as running:
        yield running

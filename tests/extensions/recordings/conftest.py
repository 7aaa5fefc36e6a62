"""A store for the recordings of one test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backend.extensions.recordings.store import RecordingStore
from tests.extensions.recordings.recorded import store_in


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[RecordingStore]:
    """A store without expiry, in a folder of its own."""
    kept = store_in(tmp_path)
    yield kept
    await kept.writer.close()

"""The stories at the start of tests of turns."""

import pytest

from tests.turns.story import Story
from tests.turns.talk import Talk


@pytest.fixture
def story() -> Story:
    """A call that has just begun; its caller is answered without a wait."""
    return Story()


@pytest.fixture
def talk() -> Talk:
    """A call that has just begun; its caller may pause."""
    return Talk()

"""A CalDAV server for the tests of one file."""

from collections.abc import Iterator

import pytest

from tests.support.radicale import Radicale, radicale


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Radicale]:
    with radicale(tmp_path_factory.mktemp("radicale")) as running:
        yield running

"""Order: two workers take whole files from the front, so the files that take longest go first."""

from __future__ import annotations

import pytest

LONGEST_FIRST = (
    "tests/conversation/test_turn_properties.py",
    "tests/call/test_scripted_calls.py",
    "tests/browser/",
    "tests/call/test_",
    "tests/app/test_server.py",
    "tests/tour/",
    "tests/transports/",
    "tests/observability/",
    "tests/demo/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Stable within a file, and between files of one rank."""

    def rank(item: pytest.Item) -> int:
        place = item.nodeid
        return next((n for n, start in enumerate(LONGEST_FIRST) if place.startswith(start)), len(LONGEST_FIRST))

    items.sort(key=rank)

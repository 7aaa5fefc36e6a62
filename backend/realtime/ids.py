"""Names of things: `item_…`, `resp_…`, `event_…`."""

from __future__ import annotations

import secrets


class Ids:
    """Readable names for one connection, unique in the process: `item_3_7` is the seventh of connection 3."""

    def __init__(self, connection: int) -> None:
        self._connection = connection
        self._given = 0

    def new(self, prefix: str) -> str:
        """Return a fresh id, e.g. `resp_1_12`."""
        self._given += 1
        return f"{prefix}_{self._connection}_{self._given}"


def random_id(prefix: str) -> str:
    """Return an id that cannot be guessed, unique among all processes."""
    return f"{prefix}_{secrets.token_hex(10)}"

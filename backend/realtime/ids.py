"""Names of things, readable and unique in the whole process: `item_3_7` is the seventh id of connection 3."""

from __future__ import annotations


class Ids:
    """Hands out ids for one connection."""

    def __init__(self, connection: int) -> None:
        self._connection = connection
        self._given = 0

    def new(self, prefix: str) -> str:
        """A fresh id, e.g. `resp_1_12`."""
        self._given += 1
        return f"{prefix}_{self._connection}_{self._given}"

"""Whether what goes out needs redundancy: only if the other side loses packets, as its reports say. Pure.

Reports (RTCP) come every one to five seconds and tell of what was lost since the one before. A call begins with
redundancy; two reports of nothing lost end it, any loss brings it back, and then it takes many clean reports to end it
again: a network that loses packets once does so again.
"""

from __future__ import annotations

CLEAN_AT_FIRST = 2
"""Reports of nothing lost after which a new call goes on without redundancy."""
CLEAN_AFTER_LOSS = 15
"""The same for a call that has lost something: a minute, with a browser."""


class FecController:
    """One call's."""

    def __init__(self) -> None:
        self.wanted = True
        self._clean_wanted = CLEAN_AT_FIRST

    def __repr__(self) -> str:
        return f"FecController({f'for {self._clean_wanted} reports more' if self.wanted else 'not wanted'})"

    def reported(self, lost: float) -> bool:
        """A report has come, of a share `lost` (0 to 1) lost. Whether `wanted` has changed."""
        before = self.wanted
        self._clean_wanted = CLEAN_AFTER_LOSS if lost else max(0, self._clean_wanted - 1)
        self.wanted = self._clean_wanted > 0
        return self.wanted is not before

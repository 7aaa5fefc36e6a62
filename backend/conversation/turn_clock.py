"""Where a turn's time went: from the caller's last sound to the first sound of the reply."""

from __future__ import annotations

LEGS = ("hangover_ms", "commit_ms", "reply_started_ms", "first_audio_ms", "played_ms")
"""In order: waiting to be sure the caller has finished; until the reply was asked for; until the provider began
it; until its first audio; until the first frame left. They add up to `total_ms`."""


class TurnClock:
    """Marks the legs of one turn as they are reached; a leg that never comes leaves the report unmade."""

    def __init__(self) -> None:
        self.turn = 0
        self._marks: list[float] = []

    def begin(self, turn: int, now: float, hangover_ms: int) -> None:
        """The caller's turn ended `hangover_ms` ago and was recognised as ended `now`."""
        self.turn = turn
        self._marks = [now - hangover_ms / 1000, now]

    def reach(self, leg: str, now: float) -> dict[str, int] | None:
        """Mark `leg`; returns the report when it was the last one. Legs out of order are ignored."""
        position = LEGS.index(leg) + 1
        if len(self._marks) != position:
            return None
        self._marks.append(now)
        return self._report() if position == len(LEGS) else None

    def drop(self) -> None:
        """This turn will have no report."""
        self._marks = []

    def _report(self) -> dict[str, int]:
        marks = [round((mark - self._marks[0]) * 1000) for mark in self._marks]
        legs = {leg: marks[i + 1] - marks[i] for i, leg in enumerate(LEGS)}
        return {"turn": self.turn, **legs, "total_ms": marks[-1]}

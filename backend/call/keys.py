"""The keys a caller presses on the telephone, one at a time, become one message. Pure: time is an argument."""

from __future__ import annotations

PAUSE_S = 1.5
"""Seconds after a key in which the next one belongs to the same number."""
ENDS = "#"
"""The key that ends a number at once."""
LONGEST = 32
"""Keys in one message; more begin another."""
WORDS = "(The caller pressed these keys on the telephone: {keys})"


class KeyCollector:
    """Puts keys together."""

    def __init__(self) -> None:
        self.due: float | None = None
        """The moment from which `take` has something to give; None: nothing was pressed."""
        self._keys = ""

    def __repr__(self) -> str:
        return f"KeyCollector({len(self._keys)} keys)"

    def press(self, key: str, now: float) -> None:
        """Note a key."""
        self._keys += key
        self.due = now if key == ENDS or len(self._keys) >= LONGEST else now + PAUSE_S

    def take(self, now: float) -> str:
        """Return the keys whose pause is over; empty if there are none."""
        if self.due is None or now < self.due:
            return ""
        keys, self._keys, self.due = self._keys, "", None
        return keys


def key_words(keys: str) -> str:
    """Return the message that tells the model of these keys, each by itself, as a number is read out."""
    return WORDS.format(keys=" ".join(keys))

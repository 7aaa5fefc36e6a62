"""The items that the assistant speaks, and how much of each was really heard."""

from dataclasses import dataclass
from itertools import takewhile

from backend.turns.commands import Purpose

BYTES_PER_MS = 48
"""24 kHz mono PCM16."""


@dataclass(slots=True)
class SpokenItem:
    """One assistant item, from its first delta until it was heard to its end or cut."""

    item: str
    purpose: Purpose | None
    text: str = ""
    audio_bytes: int = 0
    finished: bool = False
    """The provider will send no more of the item."""
    heard_before_ms: int = 0
    """The milliseconds heard before the item was cut and brought back; their words and audio are not kept here."""
    restored: bool = False
    """The item was cut and brought back: the provider knows only the part that was heard before."""

    @property
    def audio_ms(self) -> int:
        """The milliseconds of audio received."""
        return self.audio_bytes // BYTES_PER_MS

    def heard(self, played_ms: int) -> str:
        """Return the words that were heard in `played_ms`, rounded down to a whole word.

        Words and audio come in separate streams without timestamps, so this is a proportion: right to about a word for
        a reply that was received whole (replies come faster than they play), less exact while it is still coming.
        """
        if played_ms <= 0 or not self.audio_bytes:
            return ""
        if played_ms >= self.audio_ms:
            return self.text.strip()
        cut = len(self.text) * played_ms // self.audio_ms
        if cut < len(self.text) and not self.text[cut].isspace():
            cut = self.text.rfind(" ", 0, cut) + 1
        return self.text[:cut].strip()


class SpokenItems:
    """The items not yet heard to their end, oldest first."""

    def __init__(self) -> None:
        self._items: dict[str, SpokenItem] = {}

    def put_back(self, spoken: SpokenItem) -> None:
        """Add an item that is brought back after a cut."""
        self._items[spoken.item] = spoken

    def get(self, item: str, purpose: Purpose | None) -> SpokenItem:
        """Return the item, and create it if it is new."""
        if item not in self._items:
            self._items[item] = SpokenItem(item, purpose)
        return self._items[item]

    def sounding(self, purpose: Purpose) -> bool:
        """Return whether audio of that purpose is not heard to its end yet."""
        return any(spoken.purpose is purpose and spoken.audio_bytes for spoken in self._items.values())

    def finish(self, item: str | None = None) -> list[SpokenItem]:
        """Finish `item`, or by default every item that has begun; return those that were not finished before."""
        fresh = [each for each in self._items.values() if not each.finished and item in (None, each.item)]
        for spoken in fresh:
            spoken.finished = True
        return fresh

    def take_before(self, item: str) -> list[SpokenItem]:
        """Remove and return the items older than `item`, which are over when `item` begins to play."""
        if item not in self._items:
            return []
        older = list(takewhile(lambda name: name != item, self._items))
        return [self._items.pop(name) for name in older]

    def take_finished(self) -> list[SpokenItem]:
        """Remove and return the items that were received in full."""
        return [self._items.pop(name) for name, spoken in list(self._items.items()) if spoken.finished]

    def take_all(self) -> list[SpokenItem]:
        """Remove and return all items."""
        items, self._items = self._items, {}
        return list(items.values())

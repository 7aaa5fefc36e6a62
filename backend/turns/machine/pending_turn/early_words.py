"""The words of what is being said, before it is committed: shown as they come, and taken back if it was no turn.

A provider that transcribes while the caller speaks names the item that the sound is to become. Whether that is a
segment of a turn, and of which, is known once the caller has the floor: until then the words are kept, and not shown.
"""

from __future__ import annotations

from backend import page_events as page
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.pending_turn.state import EarlyWords, Standing, TurnWords
from backend.turns.machine.state import State


def on_grew(s: State, item: str, delta: str) -> None:
    """Note more words of an item that is not committed."""
    if s.pending.early_words is None or s.pending.early_words.item != item:
        take_back(s)
        s.pending.early_words = EarlyWords(item)
    s.pending.early_words.text += delta


def show(s: State) -> None:
    """Show the words not shown yet, if the caller has the floor and the turn's earlier items are known."""
    early, turn = s.pending.early_words, s.pending.open
    if early is None or turn is None or s.floor.holder is not Floor.USER or len(turn.words.items) < turn.segments:
        return
    more = early.text[early.shown :]
    if not more:
        return
    if not early.shown:
        early.entry = turn.words.id if turn.words.items else early.item
        more = more if early.entry == early.item else f" {more}"
    early.shown = len(early.text)
    s.publish(page.TranscriptDelta("user", early.entry, more))


def on_committed(s: State, item: str, words: TurnWords) -> str:
    """Give the words to the committed item, one of `words`; return the words that are still to be shown."""
    early = s.pending.early_words
    in_doubt = words.standing is Standing.IN_DOUBT
    if early is None or early.item != item or in_doubt or (early.shown and early.entry != words.id):
        take_back(s)
        return ""
    s.pending.early_words = None
    if early.shown:
        words.shown.add(item)
    return early.text[early.shown :]


def take_back(s: State) -> None:
    """Forget the early words; remove the page's entry if it holds nothing else."""
    early, s.pending.early_words = s.pending.early_words, None
    if early and early.shown and early.entry == early.item:
        s.publish(page.TranscriptCompleted("user", early.item, ""))

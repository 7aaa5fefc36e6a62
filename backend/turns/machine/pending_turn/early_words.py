"""The rules for early words: transcribed before their audio is committed, shown as they come, perhaps taken back.

A provider that transcribes while the caller speaks names the item that the audio will become. The words are kept, and
not shown, until the caller has the floor: only then is it known to which turn they belong.
"""

from backend import page_events as page
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.pending_turn.state import EarlyWords, Standing, TurnWords
from backend.turns.machine.state import State


def on_grew(s: State, item: str, delta: str) -> None:
    """Note more words of an item that is not committed yet."""
    if s.pending.early_words is None or s.pending.early_words.item != item:
        take_back(s)
        s.pending.early_words = EarlyWords(item)
    s.pending.early_words.text += delta


def show(s: State) -> None:
    """Show the early words not shown yet, if the caller has the floor and the turn's earlier items are known."""
    early, turn = s.pending.early_words, s.pending.open
    if early is None or turn is None or s.floor.holder is not Floor.USER or len(turn.words.items) < turn.segments:
        return  # to which turn the words belong, or after which, is not known yet
    more = early.text[early.shown :]
    if not more:
        return
    if not early.shown:
        early.entry = turn.words.id if turn.words.items else early.item
        more = more if early.entry == early.item else f" {more}"
    early.shown = len(early.text)
    s.publish(page.TranscriptDelta("user", early.entry, more))


def on_committed(s: State, item: str, words: TurnWords) -> str:
    """Move the early words to `item`, which was committed as one of `words`; return those that are not shown yet."""
    early = s.pending.early_words
    in_doubt = words.standing is Standing.IN_DOUBT
    if early is None or early.item != item or in_doubt or (early.shown and early.entry != words.id):
        take_back(s)  # the words are of another item, are not to be shown, or stand in another entry
        return ""
    s.pending.early_words = None
    if early.shown:
        words.shown.add(item)
    return early.text[early.shown :]


def take_back(s: State) -> None:
    """Forget the early words, and remove the page's entry if it holds nothing else."""
    early, s.pending.early_words = s.pending.early_words, None
    if early and early.shown and early.entry == early.item:
        s.publish(page.TranscriptCompleted("user", early.item, ""))

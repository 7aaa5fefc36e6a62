"""The words of what the caller says: an item of the provider's for every piece, transcribed sooner or later."""

from __future__ import annotations

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns import page_events as page
from backend.turns.machine import early_words, overlap
from backend.turns.machine.moves import settle_words
from backend.turns.machine.open_turn import only_hesitated, reassess
from backend.turns.machine.pieces import answer_hesitation
from backend.turns.machine.state import Floor, State, TurnWords


def on_committed(s: State, event: ev.InputCommitted) -> None:
    """Show the item that the provider made of the caller's audio, or delete one that was no turn."""
    if s.discard_commit:
        s.discard_commit = False
        s.discarded = event.item
        s.commands.append(do.DeleteItem(event.item))
        return
    words = next((words for words in s.words if len(words.items) < words.pieces), None)
    if words is None:
        early_words.take_back(s)
        s.publish(page.UserItemAdded(event.item, event.previous))
        return
    if not words.items and not words.overlap:
        s.publish(page.UserItemAdded(event.item, event.previous))
    words.items[event.item] = None
    if unshown := early_words.on_committed(s, event.item, words):
        on_transcript_grew(s, event.item, unshown)


def on_transcript_grew(s: State, item: str, delta: str) -> None:
    """Show more words of an item of the caller's, which may not be committed yet."""
    if item == s.discarded:
        return
    words = _words_of(s, item)
    if words is None:
        early_words.on_grew(s, item, delta)
        return
    if item not in words.shown and item != words.id:
        delta = f" {delta}"
    if words.overlap:
        return
    words.shown.add(item)
    s.publish(page.TranscriptDelta("user", words.id, delta))


def on_transcribed(s: State, event: ev.UserTranscribed, now: float) -> None:
    """Note the whole transcript of an item; once the turn is over, show and remember its words."""
    item, text = event.item, event.text.strip()
    if item == s.discarded:
        return
    words = _words_of(s, item)
    if words is None:
        if s.early_words and s.early_words.item == item:
            s.early_words = None
        s.publish(page.TranscriptCompleted("user", item, text))
        if text:
            s.commands.append(do.Remember("user", text))
        return
    words.items[item] = text
    words.failed |= event.failed
    words.unsure |= event.unsure
    if words.overlap:
        overlap.on_transcribed(s, words, now)
        return
    if overlap.on_turn_transcribed(s, words, now):
        return
    if words.over:
        settle_words(s)
        return
    if text and item not in words.shown:
        on_transcript_grew(s, item, text)
    if words.complete and words.text and s.limits.reader:
        s.commands.append(do.EstimateSentenceEnd(words.text))
    if s.floor is Floor.PAUSING and s.open and not s.open.begun and not only_hesitated(s, s.open):
        answer_hesitation(s, now)
        return
    reassess(s, now)


def on_sentence_end(s: State, event: ev.SentenceEndEstimated, now: float) -> None:
    """Note how likely a sentence ends after the words known so far."""
    if s.open and s.open.words.text == event.words:
        s.open.sentence_end = event.log10
        reassess(s, now)


def _words_of(s: State, item: str) -> TurnWords | None:
    return next((words for words in s.words if item in words.items), None)

"""The rules for the caller's words: the provider makes an item of every segment, and transcribes it in time."""

from backend import page_events as page
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.machine.actions import settle_words
from backend.turns.machine.barge_in import candidate
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.pending_turn import early_words
from backend.turns.machine.pending_turn.segments import answer_hesitation
from backend.turns.machine.pending_turn.state import Standing, TurnWords
from backend.turns.machine.pending_turn.waiting import only_hesitated, reassess
from backend.turns.machine.state import State


def on_committed(s: State, event: ev.InputCommitted, now: float) -> None:
    """Show the item that the provider made of the caller's audio, or delete one that was no turn."""
    if s.pending.discard_commit:
        s.pending.discard_commit = False
        s.pending.discarded = event.item
        s.commands.append(do.DeleteItem(event.item))
        return
    words = next((words for words in s.pending.words if len(words.items) < words.segments), None)
    if words is None:
        early_words.take_back(s)
        s.publish(page.UserItemAdded(event.item, event.previous))
        return
    if not words.items and words.standing is not Standing.IN_DOUBT:
        s.publish(page.UserItemAdded(event.item, event.previous))
    words.items[event.item] = None
    if unshown := early_words.on_committed(s, event.item, words):
        _show(s, event.item, unshown)


def on_transcript_grew(s: State, event: ev.UserTranscriptGrew, now: float) -> None:
    """Show more words of a user item, which may not be committed yet."""
    if event.item != s.pending.discarded:
        _show(s, event.item, event.delta)


def _show(s: State, item: str, delta: str) -> None:
    words = _words_of(s, item)
    if words is None:
        early_words.on_grew(s, item, delta)
        return
    if item not in words.shown and item != words.id:
        delta = f" {delta}"
    if words.standing is Standing.IN_DOUBT:
        return
    words.shown.add(item)
    s.publish(page.TranscriptDelta("user", words.id, delta))


def on_transcribed(s: State, event: ev.UserTranscribed, now: float) -> None:
    """Note the whole transcript of an item; if its turn is over, show and remember the words."""
    item, text = event.item, event.text.strip()
    if item == s.pending.discarded:
        return
    words = _words_of(s, item)
    if words is None:
        if s.pending.early_words and s.pending.early_words.item == item:
            s.pending.early_words = None
        s.publish(page.TranscriptCompleted("user", item, text))
        if text:
            s.commands.append(do.Remember("user", text))
        return
    words.items[item] = text
    words.failed |= event.failed
    words.unsure |= event.unsure
    if words.standing is Standing.IN_DOUBT:
        candidate.on_transcribed(s, words, now)
        return
    if candidate.on_turn_transcribed(s, words, now):
        return
    if words.standing is Standing.OVER:
        settle_words(s)
        return
    if text and item not in words.shown:
        _show(s, item, text)
    if words.complete and words.text and s.limits.reader:
        s.commands.append(do.EstimateSentenceEnd(words.text))  # by the model that the classifier has loaded
    turn = s.pending.open
    if s.floor.holder is Floor.PAUSING and turn and not turn.begun and not only_hesitated(s, turn):
        answer_hesitation(s, now)  # classified as "um", but the transcript has more words
        return
    reassess(s, now)


def _words_of(s: State, item: str) -> TurnWords | None:
    return next((words for words in s.pending.words if item in words.items), None)

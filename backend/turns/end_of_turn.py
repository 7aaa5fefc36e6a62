"""The end-of-turn wait: how long a caller's silence must last before the reply may sound, and the reason for it.

`end_of_turn_wait` is pure: what is known at a pause goes in, milliseconds since the last voice and a reason come out.
It is called when the pause begins and again when more is known (the words, a short utterance's class). The first row
that fits decides; its waits are in `WAIT_MS`.

    reason              | fits when                                                             | balanced | patient
    --------------------+-----------------------------------------------------------------------+----------+--------
    quick answer        | "yes", "no thanks", "that's right", "stop"; surely complete: "at noon"  |      400 |     500
    filled pause        | the last words are "um", "let me see", "hold on"                      |     2000 |    2800
    self-correction     | the last words take something back: "on Tuesday, no", "I mean"        |     1500 |    2100
    number under way    | digits are dictated, fewer than a telephone or card number has        |     1500 |    2200
    number may go on    | as many digits as a postcode, an order or a short number has          |      880 |    1600
    number complete     | 10, 11 or 16 digits, or the year of a date                            |      700 |    1100
    spelling under way  | single letters, half an e-mail address, or we asked for an address    |     1500 |    2200
    address complete    | an e-mail address with its end: "dot com"                             |      600 |    1000
    open punctuation    | the transcript ends in a comma, a dash or an ellipsis                 |     1300 |    1800
    nothing known       | no words yet (if we asked for a number or an address: 1000)           |      700 |    1100
    complete question   | surely complete, and a question                                       |      420 |     700
    complete request    | surely complete: "turn off the lights please"                         |      480 |     800
    complete statement  | surely complete                                                       |      540 |     900
    could be corrected  | surely complete; it ends in a day, a number, a choice or a place       |      760 |    1000
    may go on           | the classifier cannot tell: "my internet is down"; one thing of a list |      870 |    1300
    sentence goes on    | the classifier thinks it incomplete: "could you tell me"              |     1150 |    1700
    trailing off        | it is sure of that: "I need the", "my number is"                      |     1800 |    2500

A classifier over the words (`backend.turns.completeness`) decides the last seven rows: `SURE`, `DOUBTFUL`, `OPEN`. If
the reason is in `IN_DOUBT`, the caller's own pauses may lengthen the wait (`own pauses`): to their usual length, up to
`OWN_PAUSES_MOST_MS`, and after a short order that could be corrected to `OWN_PAUSE_IN_ORDER_MS`. The eager style waits
300 ms for everything. `python -m benchmarks.turn_sense.waits` measures what each row is worth.
"""

import re
from enum import StrEnum

from backend.turns.completeness import completeness
from backend.turns.grammar import classes_of, could_be_corrected, kind_of, last_sentence
from backend.turns.languages import ENGLISH
from backend.turns.value_object import ValueObject


class EndpointingStyle(StrEnum):
    """The setting ENDPOINTING: how soon a reply may sound. `EAGER` waits for nothing but the first silence."""

    EAGER = "eager"
    BALANCED = "balanced"
    PATIENT = "patient"


class AskedFor(StrEnum):
    """The kind of answer our last words asked for. `SPELLING` is a name, an e-mail or a postal address."""

    NOTHING = "nothing"
    NUMBER = "number"
    SPELLING = "spelling"
    YES_OR_NO = "yes or no"
    LIST = "list"


class Reason(StrEnum):
    """The reasons of the table above, as the page and traces show them."""

    EAGER = "eager"
    QUICK_ANSWER = "quick answer"
    FILLED_PAUSE = "filled pause"
    SELF_CORRECTION = "self-correction"
    NUMBER = "number under way"
    NUMBER_MAY_GO_ON = "number may go on"
    NUMBER_COMPLETE = "number complete"
    SPELLING = "spelling under way"
    ADDRESS_COMPLETE = "address complete"
    OPEN_PUNCTUATION = "open punctuation"
    UNKNOWN = "nothing known"
    QUESTION = "complete question"
    REQUEST = "complete request"
    STATEMENT = "complete statement"
    CORRECTABLE = "could be corrected"
    MAY_GO_ON = "may go on"
    GOES_ON = "sentence goes on"
    TRAILING_OFF = "trailing off"
    OWN_PAUSES = "own pauses"


class PauseContext(ValueObject):
    """All that is known when the caller pauses."""

    words: str | None = None
    """The transcript of the whole turn so far, its segments joined. None: not known yet."""
    expected: AskedFor = AskedFor.NOTHING
    caller_pauses_ms: tuple[int, ...] = ()
    """This caller's pauses within turns so far, newest last, at most 16."""
    sentence_end: float | None = None
    """The trigram model's log10 probability of a sentence end after the last words. None: not known."""
    reading: str | None = None
    """The words that the utterance classifier found in a short utterance. None: it found none."""


class TurnWait(ValueObject):
    """Silence since the last voice after which the reply may sound, in milliseconds, and why."""

    wait_ms: int
    reason: str


WAIT_MS: dict[Reason, tuple[int, int]] = {
    Reason.EAGER: (300, 300),
    Reason.QUICK_ANSWER: (400, 500),
    Reason.FILLED_PAUSE: (2000, 2800),
    Reason.SELF_CORRECTION: (1500, 2100),
    Reason.NUMBER: (1500, 2200),
    Reason.NUMBER_MAY_GO_ON: (880, 1600),
    Reason.NUMBER_COMPLETE: (700, 1100),
    Reason.SPELLING: (1500, 2200),
    Reason.ADDRESS_COMPLETE: (600, 1000),
    Reason.OPEN_PUNCTUATION: (1300, 1800),
    Reason.UNKNOWN: (700, 1100),
    Reason.QUESTION: (420, 700),
    Reason.REQUEST: (480, 800),
    Reason.STATEMENT: (540, 900),
    Reason.CORRECTABLE: (760, 1000),
    Reason.MAY_GO_ON: (870, 1300),
    Reason.GOES_ON: (1150, 1700),
    Reason.TRAILING_OFF: (1800, 2500),
}
"""The wait of each reason, in milliseconds: (balanced, patient)."""
EXPECTING_MS = (1000, 1500)
"""The wait, as in `WAIT_MS`, while no words are known and our question asked for a number or an address."""
SURE = {"question": 0.9, "yes-no question": 0.9, "request": 1.75, "statement": 1.9, "fragment": 0.9}
"""Log odds from which a turn is surely complete, by the kind of sentence."""
DOUBTFUL, OPEN = -0.5, -2.0
"""Log odds below which a sentence probably goes on, and below which it surely does."""
OWN_PAUSES_MOST_MS = (870, 1600)
OWN_PAUSE_IN_ORDER_MS = 960
"""The wait after a short order or statement that could be corrected, if the caller has paused within a turn before."""
PAUSING_MS = 300
"""Pauses shorter than this, in milliseconds, are breaths."""
IN_DOUBT = frozenset({Reason.UNKNOWN, Reason.CORRECTABLE, Reason.MAY_GO_ON})
"""Reasons with a wait that the caller's own pauses may lengthen; what is surely complete is not among them."""

_ASKS = ENGLISH.pattern("expected", "asks")
_ASKS_SPELLING = ENGLISH.pattern("expected", "asks_spelling")
_ASKS_NUMBER = ENGLISH.pattern("expected", "asks_number")
_ASKS_LIST = ENGLISH.pattern("expected", "asks_list")
_ASKS_YES_OR_NO = ENGLISH.pattern("expected", "asks_yes_or_no")
_QUICK = ENGLISH.pattern("end_of_turn", "quick")
_ASKED_WHOLE = ENGLISH.pattern("end_of_turn", "asked_whole")
"""Questions that end in their verb, since they begin with its object: "how much does it cost"."""
_SHORT = 7
"""The most words of a short order; a longer order says several things."""
_SHORT_ANSWER = 4
"""The most words of a short answer: "in the morning" is one, "for the party we need coffee" begins a longer one."""
_ORDERING = ENGLISH.words("end_of_turn", "ordering")
_THINGS = frozenset(("noun", "number", "quantifier", "adjective", "determiner"))
"""The classes of the words for things ordered."""
_ASSENT = ENGLISH.pattern("end_of_turn", "assent")
"""The words with which a caller begins to dictate what we asked for."""
_HESITATION = ENGLISH.pattern("end_of_turn", "hesitation")
_FILLER = ENGLISH.pattern("end_of_turn", "filler")
_CORRECTION = ENGLISH.pattern("end_of_turn", "correction")
_OPEN_END = re.compile(r"(,|;|:|-|\N{EN DASH}|\N{EM DASH}|\.\.\.|\N{HORIZONTAL ELLIPSIS})\s*$")
_DOMAIN = ENGLISH.pattern("end_of_turn", "domain")
_ADDRESS = ENGLISH.pattern("end_of_turn", "address")
_NUMBERED = ENGLISH.pattern("end_of_turn", "numbered")
_MONTH = ENGLISH.pattern("end_of_turn", "month")
_MAY_BE_ALL = frozenset((5, 7, 8, 9, 12, 13))
"""Lengths of numbers that may be complete: a postcode, an order, a short telephone number, a long one."""
_BEFORE_A_NUMBER = 4
"""Fewer words only lead up to the number that we asked for: "it ends in"."""
_ONES = ENGLISH.words("end_of_turn", "ones")
_TEENS = ENGLISH.words("end_of_turn", "teens")
_TENS = ENGLISH.words("end_of_turn", "tens")


def expected_answer(our_words: str) -> AskedFor:
    """Return the kind of answer that the assistant's last words ask for."""
    words = re.split(r"[.!?]\s+(?=\S)", our_words.lower().strip())[-1]
    if "?" not in words and not _ASKS.search(words):
        return AskedFor.NOTHING
    if _ASKS_SPELLING.search(words):
        return AskedFor.SPELLING
    if _ASKS_NUMBER.search(words):
        return AskedFor.NUMBER
    if _ASKS_LIST.search(words):
        return AskedFor.LIST
    if _ASKS_YES_OR_NO.match(words):
        return AskedFor.YES_OR_NO
    return AskedFor.NOTHING


def end_of_turn_wait(context: PauseContext, style: EndpointingStyle) -> TurnWait:
    """Return the wait, 300 to 3000 ms, and its reason. Eager waits no longer than balanced, balanced than patient."""
    if style is EndpointingStyle.EAGER:
        return TurnWait(WAIT_MS[Reason.EAGER][0], Reason.EAGER)
    patient = style is EndpointingStyle.PATIENT
    reason = _reason(context)
    wait_ms = WAIT_MS[reason][patient]
    if reason is Reason.UNKNOWN and context.expected in (AskedFor.NUMBER, AskedFor.SPELLING):
        wait_ms = EXPECTING_MS[patient]
    if reason in IN_DOUBT:
        own_ms = _own_pauses_ms(context, patient=patient)
        if own_ms > wait_ms:
            return TurnWait(own_ms, Reason.OWN_PAUSES)
    return TurnWait(wait_ms, reason)


def _own_pauses_ms(context: PauseContext, *, patient: bool) -> int:
    """Return the wait, in milliseconds, by this caller's pauses so far; 0 where they do not lengthen it."""
    pauses = sorted(context.caller_pauses_ms)
    sentence = last_sentence(context.words or "")
    pausing = pauses and pauses[-1] >= PAUSING_MS  # a caller who pauses may still correct the end of a short order
    order_ms = OWN_PAUSE_IN_ORDER_MS if pausing and len(sentence) <= _SHORT and could_be_corrected(sentence) else 0
    if len(pauses) < 2:
        return order_ms  # one pause shows that this caller corrects short orders, but no usual length
    usual = pauses[-(-len(pauses) * 4 // 5) - 1]
    return max(order_ms, min(usual + 100, OWN_PAUSES_MOST_MS[patient]))


def _reason(context: PauseContext) -> Reason:
    text = (context.reading if context.words is None else context.words) or ""
    sentence = last_sentence(text)
    if not sentence:
        return Reason.UNKNOWN
    said = " ".join(sentence)
    if _QUICK.fullmatch(said):
        asked_for = {AskedFor.NUMBER: Reason.NUMBER, AskedFor.SPELLING: Reason.SPELLING}
        return asked_for.get(context.expected, Reason.QUICK_ANSWER) if _ASSENT.match(said) else Reason.QUICK_ANSWER
    if _ASKED_WHOLE.fullmatch(said):
        return Reason.QUESTION
    if _FILLER.search(said):
        return Reason.FILLED_PAUSE
    if _CORRECTION.search(said):
        return Reason.SELF_CORRECTION
    sentence = [word for word in sentence if not _HESITATION.fullmatch(word)] or sentence
    reason = _dictation(sentence, context.expected)
    if reason is not None:
        return reason
    return Reason.OPEN_PUNCTUATION if _OPEN_END.search(text) else _judged(context, sentence)


def _is_one_of_several(words: list[str], expected: AskedFor) -> bool:
    """Return whether the words end in one thing that others may follow: "bring paper towels"."""
    return {"and", "all"}.isdisjoint(words) and (expected is AskedFor.LIST or _orders(words))


def _orders(words: list[str]) -> bool:
    """Return whether the words end in things ordered: one in a quantity ("bring paper towels"), or several in a row."""
    verb = max((index for index, word in enumerate(words) if word in _ORDERING), default=None)
    if verb is None:
        return False
    last_of = max((index for index, word in enumerate(words) if word == "of"), default=0)
    ordered = classes_of(words[max(verb, last_of) + 1 :])
    starts = sum(name in ("determiner", "quantifier", "number") for name in ordered)
    if not _THINGS.issuperset(ordered) or ordered[-1:] != ["noun"]:
        return False
    return ordered[0] != "determiner" or starts > 1


def _judged(context: PauseContext, sentence: list[str]) -> Reason:
    """Return the reason by the classifier's odds and the kind of sentence."""
    odds = completeness(sentence, context.sentence_end)
    if odds < DOUBTFUL:
        return Reason.GOES_ON if odds >= OPEN else Reason.TRAILING_OFF
    kind = kind_of(sentence)
    if odds < SURE[kind]:
        return Reason.MAY_GO_ON
    if _is_one_of_several(sentence, context.expected):
        return Reason.MAY_GO_ON
    if could_be_corrected(sentence):
        return Reason.CORRECTABLE
    if kind == "fragment":
        return Reason.QUICK_ANSWER if len(sentence) <= _SHORT_ANSWER else Reason.STATEMENT
    return Reason.QUESTION if "question" in kind else Reason.REQUEST if kind == "request" else Reason.STATEMENT


def _dictation(words: list[str], expected: AskedFor) -> Reason | None:
    """Return the reason if a number, a spelling or an address is dictated; otherwise None."""
    said = " ".join(words)
    addressing = expected is AskedFor.SPELLING or _ADDRESS.search(said)
    if _DOMAIN.search(said):
        return Reason.ADDRESS_COMPLETE
    letters = sum(len(word) == 1 and word not in "ai" for word in words[-4:])
    described = len(words) > 2 and words[-2] in ("a", "an")  # "with an s"
    if letters and not described and (len(words[-1]) == 1 or letters > 1) and not words[-1].isdigit():
        return Reason.SPELLING
    digits, groups, tokens = _digits(words)
    named = expected is AskedFor.NUMBER or _NUMBERED.search(" ".join(words[: len(words) - tokens]))
    if groups and (named or groups > 2 or digits > 4 or letters):  # fewer digits may be any amount: "two pizzas"
        if _MONTH.search(said):
            return Reason.NUMBER_COMPLETE if digits >= 4 else Reason.NUMBER
        if digits in (10, 11) or digits >= 16:
            return Reason.NUMBER_COMPLETE
        may_be_all = digits in _MAY_BE_ALL and "card" not in words
        return Reason.NUMBER_MAY_GO_ON if may_be_all else Reason.NUMBER
    if expected is AskedFor.NUMBER and not groups and (len(words) < _BEFORE_A_NUMBER or _MONTH.search(said)):
        return Reason.NUMBER  # the words only lead up to the number, or are the day and month of a date
    return Reason.SPELLING if addressing else None


def _digits(words: list[str]) -> tuple[int, int, int]:
    """Return how many digits the words end in, in how many groups ("415", "forty two"), and in how many words."""
    digits = groups = tokens = 0
    for index in range(len(words) - 1, -1, -1):
        word = words[index].replace("-", "").lstrip("+")
        if word.isdigit():
            digits += len(word)
        elif word in _ONES:
            tens = index > 0 and words[index - 1] in _TENS and word not in ("zero", "oh", "o")
            digits += 0 if tens else 1  # "forty two" is one group of two digits
            groups -= tens
        elif word in _TEENS or word in _TENS:
            digits += 2
        elif word in ("hundred", "thousand"):
            digits += 2 if word == "hundred" else 3
            groups -= 1
        elif word.startswith("double") and groups:
            digits += 1
            groups -= 1
        else:
            break
        groups += 1
        tokens += 1
    return digits, groups, tokens

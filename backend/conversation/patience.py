"""Patience is how long a caller's silence must last before the reply may sound, and the reason for it.

`patience` is pure: what is known at a pause goes in, milliseconds since the last voice and a reason come out. It is
asked when the pause begins and again when more is known (the words, the short utterance's reading). The first row
that fits decides; its balanced wait is in `WAIT_MS`, beside the one for callers who need time (`patient`).

    reason              | fits when
    --------------------+------------------------------------------------------------------------------------------
    quick answer        | "yes", "no thanks", "that's right", "thank you", "stop"
    filled pause        | the last words are "um", "let me see", "hold on"
    self-correction     | the last words take something back: "on Tuesday, no", "I mean", "sorry"
    open punctuation    | the transcript ends in a comma, a dash or an ellipsis
    spelling under way  | an e-mail address without its end, single letters, or we asked for a name or an address
    number under way    | digits are dictated, and fewer than a telephone, card or booking number has
    number complete     | as many digits as such a number has
    trailing off        | the last word asks for another: "and", "the", "to", "can", "my number is"
    list under way      | "apples, pears"
    complete question   | a question with all its parts
    complete request    | "cancel my order", "turn off the lights please"
    complete statement  | anything else that sounds complete
    nothing known       | no words yet

Then the rows that only lengthen: the caller's own pauses (nobody is cut off in a pause as long as this caller
usually makes), the melody (`SpeechEnding`), and the language model's doubt that a sentence can end here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class EndpointingStyle(StrEnum):
    """The setting ENDPOINTING: how soon a reply may sound. `EAGER` waits for nothing but the first silence."""

    EAGER = "eager"
    BALANCED = "balanced"
    PATIENT = "patient"


class Expected(StrEnum):
    """The kind of answer our last words asked for. `SPELLING` is a name, an e-mail or a postal address."""

    NOTHING = "nothing"
    NUMBER = "number"
    SPELLING = "spelling"
    YES_OR_NO = "yes or no"


class Reason(StrEnum):
    """The reasons of the table above, as the page and traces show them."""

    EAGER = "eager"
    QUICK_ANSWER = "quick answer"
    FILLED_PAUSE = "filled pause"
    SELF_CORRECTION = "self-correction"
    OPEN_PUNCTUATION = "open punctuation"
    SPELLING = "spelling under way"
    NUMBER = "number under way"
    NUMBER_COMPLETE = "number complete"
    TRAILING_OFF = "trailing off"
    LIST = "list under way"
    QUESTION = "complete question"
    REQUEST = "complete request"
    STATEMENT = "complete statement"
    MAY_GO_ON = "may go on"
    UNKNOWN = "nothing known"
    OWN_PAUSES = "own pauses"
    MELODY = "melody goes on"


@dataclass(frozen=True, slots=True)
class SpeechEnding:
    """How the voice ended before a pause; see `backend.media.prosody`."""

    pitch_slope: float | None = None
    """Semitones per second over the last voiced 300 ms; negative falls. None: no pitch found."""
    lengthened: float | None = None
    """The last voiced stretch compared with this caller's usual one; 1.0 is usual. None: not known."""
    level_fall: float | None = None
    """Decibels by which the last 200 ms are quieter than the 600 ms before. None: too short."""


@dataclass(frozen=True, slots=True)
class PauseContext:
    """All that is known when the caller pauses."""

    words: str | None = None
    """The transcript of the whole turn so far, its pieces joined. None: not known yet."""
    voiced_ms: int = 0
    ending: SpeechEnding | None = None
    expected: Expected = Expected.NOTHING
    caller_pauses_ms: tuple[int, ...] = ()
    """This caller's pauses within turns so far, newest last, at most 16."""
    sentence_end: float | None = None
    """The trigram model's log10 probability of a sentence end after the last words. None: not known."""
    reading: str | None = None
    """The words the utterance reader made of a short utterance. None: it made none."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Silence since the last voice after which the reply may sound, in milliseconds, and why."""

    wait_ms: int
    reason: str


WAIT_MS: dict[Reason, tuple[int, int]] = {
    Reason.EAGER: (300, 300),
    Reason.QUICK_ANSWER: (400, 500),
    Reason.FILLED_PAUSE: (2000, 2800),
    Reason.SELF_CORRECTION: (1600, 2200),
    Reason.OPEN_PUNCTUATION: (1300, 1800),
    Reason.SPELLING: (1800, 2600),
    Reason.NUMBER: (1600, 2400),
    Reason.NUMBER_COMPLETE: (600, 1000),
    Reason.TRAILING_OFF: (1800, 2500),
    Reason.LIST: (1300, 1800),
    Reason.QUESTION: (420, 700),
    Reason.REQUEST: (560, 900),
    Reason.STATEMENT: (620, 1000),
    Reason.MAY_GO_ON: (860, 1300),
    Reason.UNKNOWN: (700, 1100),
}
"""The wait of each reason, in milliseconds: (balanced, patient)."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_QUICK = _set(
    """yes yeah yep yup sure okay ok no nope nah right correct exactly absolutely definitely alright fine great perfect
    thanks thank_you no_thanks no_thank_you yes_please yes_thanks please of_course that's_right that_is_right
    that's_fine that's_correct
    that's_all that_is_all that_works sounds_good sounds_great all_right not_really not_yet not_now
    i_do i_don't i_am i'm_not i_did i_didn't it_is it_isn't goodbye bye hello hi hey stop go_ahead never_mind cancel
    thank_you_very_much thanks_a_lot that's_it that_is_it yes_it_is no_it_isn't yes_i_do no_i_don't yes_that's_right
    help repeat again what pardon none nothing maybe
    """
)
_FILLERS = (
    "um",
    "uh",
    "er",
    "erm",
    "uhm",
    "hmm",
    "hm",
    "ah",
    "let me see",
    "let's see",
    "let me think",
    "let me check",
    "hold on",
    "hang on",
    "you know",
    "how do you say",
    "what was it",
    "what's it called",
    "give me a second",
    "one second",
    "just a second",
    "one moment",
    "just a moment",
    "bear with me",
    "well",
    "so",
    "like",
)
_CORRECTIONS = ("no", "i mean", "sorry", "actually", "or rather", "wait", "correction", "make that", "scratch that")
_OPEN = _set(
    """a an the my your his our their its these those every of in at from to with by about into onto between under and
    or
    but because if when while although though unless until since as than whether that which whose where is are was
    were am be been being have has had do does did can could will would shall should may might must don't can't won't
    isn't
    doesn't didn't wouldn't couldn't i'm it's that's we're you're they're i've we've i'll i'd we'd there's very really
    quite not also then i we he she they for on want need like another next per via plus
    """
)
_DIGIT_WORDS = dict.fromkeys(_set("zero oh one two three four five six seven eight nine"), 1) | dict.fromkeys(
    _set(
        """ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty
        sixty seventy eighty ninety"""
    ),
    2,
)
_ASKING = _set(
    """what when where who which why how is are was do does did can could will would should may have has what's where's
    who's how's when's isn't aren't don't"""
)
_STATING = _set("i i'm i've i'd i'll we we're my our it it's this that's the there there's yes no well")
_WORD = re.compile(r"[a-z0-9@']+(?:[.\-@][a-z0-9@]+)*")


def expected_answer(our_words: str) -> Expected:
    """Return the kind of answer that the assistant's last words ask for."""
    words = our_words.lower().rsplit(". ", 1)[-1]
    if "?" not in words and not re.search(r"\b(please|tell me|give me|spell|say|enter)\b", words):
        return Expected.NOTHING
    if re.search(r"\b(spell|e-?mail|address|your (full |last |first )?name|street|surname)\b", words):
        return Expected.SPELLING
    if re.search(r"\b(number|digits?|code|pin|zip|postcode|date of birth|how (many|much|old))\b", words):
        return Expected.NUMBER
    if re.match(r"\W*(is|are|do|does|did|can|could|shall|should|would|will|have|has|was|were|may)\b", words):
        return Expected.YES_OR_NO
    return Expected.NOTHING


def patience(context: PauseContext, style: EndpointingStyle) -> Patience:
    """Return how long to wait, 300 to 3000 ms. Eager never waits longer than balanced, nor balanced than patient."""
    if style is EndpointingStyle.EAGER:
        return Patience(WAIT_MS[Reason.EAGER][0], Reason.EAGER)
    reason = _verdict(context)
    wait_ms = WAIT_MS[reason][style is EndpointingStyle.PATIENT]
    if reason not in (Reason.QUICK_ANSWER, Reason.QUESTION) and len(context.caller_pauses_ms) > 1:
        own = sorted(context.caller_pauses_ms)[-(-len(context.caller_pauses_ms) * 4 // 5) - 1] + 100
        if min(own, 1000) > wait_ms:
            return Patience(min(own, 1000), Reason.OWN_PAUSES)
    return Patience(wait_ms, reason)


def _verdict(context: PauseContext) -> Reason:
    text = context.words if context.words is not None else context.reading
    words = _WORD.findall((text or "").lower().replace("’", "'"))
    if not text or not words:
        return {Expected.NUMBER: Reason.NUMBER, Expected.SPELLING: Reason.SPELLING}.get(
            context.expected, Reason.UNKNOWN
        )
    joined = " ".join(words)
    if "_".join(words) in _QUICK:
        return Reason.QUICK_ANSWER
    if joined.endswith(_FILLERS) and re.search(rf"(^|\s)({'|'.join(_FILLERS)})$", joined):
        return Reason.FILLED_PAUSE
    if re.search(rf"\s({'|'.join(_CORRECTIONS)})$", joined):
        return Reason.SELF_CORRECTION
    digits = _dictated(words)
    if digits:
        return Reason.NUMBER_COMPLETE if digits in (10, 11, 16) else Reason.NUMBER
    if words[-1] in _OPEN:
        return Reason.TRAILING_OFF
    if re.search(r"(,|;|:|-|–|—|\.\.\.|…)\s*$", text):
        return Reason.OPEN_PUNCTUATION
    if context.expected is Expected.SPELLING or words[-1] in ("dot", "at", "underscore", "dash") or len(words[-1]) == 1:
        return Reason.SPELLING
    if words[0] in _ASKING:
        return Reason.QUESTION
    return Reason.STATEMENT if words[0] in _STATING else Reason.REQUEST


def _dictated(words: list[str]) -> int:
    """Return how many digits the words end in, 0 where they are not dictated one after another."""
    digits = groups = 0
    for word in reversed(words):
        count = _DIGIT_WORDS.get(word) or (len(word.replace("-", "")) if word.replace("-", "").isdigit() else 0)
        if not count:
            break
        digits, groups = digits + count, groups + 1
    return digits if groups > 1 or groups == len(words) or digits >= 6 else 0

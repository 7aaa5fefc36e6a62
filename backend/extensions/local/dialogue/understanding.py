"""A sentence is either small talk or a question for a specialist. Pure except for the vectors."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from backend.extensions.local.dialogue import small_talk
from backend.extensions.local.dialogue.names import names_in
from backend.extensions.local.dialogue.routing import ASIDE, LIKELY, PLAIN, UNSURE, Specialist, router_of
from backend.extensions.local.dialogue.small_talk import Talk
from backend.extensions.local.dialogue.times import TIME
from backend.extensions.local.dialogue.wording import without_courtesies

FOLLOW_UP_WORDS = 5
"""The most words of a fragment."""
QUESTIONS_AT_ONCE = 3
"""The most questions of one sentence that are answered one by one."""
_BEGINS = r"(?:what|who(?:m|se)?|where|when|why|how|which|am|is(?! \d)|are|was|were|do|does|did|can|could|will|would)"
_NEXT_QUESTION = re.compile(
    r"(?:[,;]?\s+and(?:\s+(?:also|then))?\s+|[,?.!]\s+(?:and\s+|also\s+)?)"
    rf"(?=(?:{_BEGINS}|(?:tell|give|read|show|remind) me|calculate|translate|look up|research)\b)",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"\b(?:between|whether|if|he|she|they|it|him|her|them|his|their|its|one|this)\b(?!'s\b)|^(?:i|i'm|my)\b|\bthat\W*$",
    re.IGNORECASE,
)
"""Words that make a question depend on the one before it."""
_THAT = re.compile(r"^\w+ (?:about )?(?:that|it|this)\W*$")
"""An order about what was said last: "Forget that."."""
_HALF = re.compile(r"^(?:and |so |but )?how (?:much|many)(?: \w+){1,2}$", re.IGNORECASE)
"""A question without its verb, which a pause has cut off: "How much paint? Do I need"."""


@dataclass(frozen=True, slots=True)
class Referral:
    """A question for a specialist: one of the offered domains, and the whole question."""

    domain: str
    query: str


_LEAD = re.compile(
    r"^(?:please\s+)?(?:stop|wait|quiet|be quiet|shut up|enough|hold on|never mind|okay|ok|all right|yes|yeah|no|"
    r"thanks|thank you|hello|hi|hey|sorry|good (?:morning|afternoon|evening)|well|so|um|uh)\b"
    r"(?:\s+(?:please|a moment|that|it|there|very much|a lot))*[\s,.;!?–-]+(?:(?:and|but|now|then)\s+)?"
    r"(?=\w)(?!(?:for|to|so|the|\w+ing)\b)",
    re.IGNORECASE,
)
"""Words that may come before a question; only the question is answered. "Thanks for the news" holds none."""
ASKS = re.compile(
    rf"\?|^(?:and |so |please |um |uh |well )*(?:{_BEGINS}|should|tell|explain|describe|give|show|read|list|check|find|"
    r"search|look|calculate|translate|any|in|convert|spell|define|name|recommend|suggest|compare|"
    r"i(?:'d like| would like| want) to (?:know|hear))\b",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(
    r"^(?:(?:and\s+|but\s+)?(?:what|how)\s+about|and|or|(?=(?:in|on|at|for)(?:\s+[\w'-]+){1,2}$))\s*(?P<rest>.+)$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(rf"{_BEGINS}\b", re.IGNORECASE)
_OBJECT = re.compile(r"(?:(?<=\b(?:in|of|on|at) )|(?<=\bfor )|(?<=\babout ))[^?.!,]+(?=[?.!]?$)")
PREPOSITION = re.compile(r"^(?:in|of|on|at|for|about|with)\s+", re.IGNORECASE)


def understand(
    words: str, specialists: Sequence[Specialist], last: Referral | None = None, *, general: str = ""
) -> Talk | Referral:
    """Return the intent of `words`; `last` is the question before, for fragments such as "and in Paris?".

    `general` is the specialist for questions that no other takes.
    """
    sentence = words.strip()
    plain = sentence.lower().replace("’", "'")
    if not plain:
        return Talk.NOTHING
    if lead := _LEAD.match(sentence):
        rest = sentence[lead.end() :]
        wish = understand(rest[0].upper() + rest[1:], specialists, last, general=general)
        if isinstance(wish, Referral) and (len(rest.split()) > 2 or "?" in rest):  # fewer words belong to the lead
            return wish
    if (talk := small_talk.talk_of(plain)) is not None:
        return talk
    router = router_of((*specialists, *small_talk.SPECIALISTS))  # before, sure signs count; a fragment needs `last`
    scores = router.scores(without_courtesies(sentence) or sentence)
    best, score = next(each for each in scores if each[0] != Talk.OTHERS or each[1] >= ASIDE)
    if last is not None and best == last.domain and _THAT.match(plain):  # "that" is the last question
        return Referral(last.domain, f"{sentence.rstrip('.!')}: {last.query}")
    if last is not None and not router.is_example(sentence) and (whole := completed(sentence, last.query)):
        return Referral(last.domain, whole)
    asks = bool(ASKS.search(plain))
    is_talk = best in [*Talk]
    if is_talk and score >= PLAIN:
        return Talk(best)
    if not is_talk and score >= (UNSURE if asks or best != general else LIKELY):
        return Referral(best, sentence)
    return Referral(general, sentence) if general and asks else Talk.OTHER


def questions_in(words: str, specialists: Sequence[Specialist], general: str = "") -> tuple[Referral, ...]:
    """Return the questions of a sentence that holds several ("…, and how is Apple doing?"), in order; else none."""
    parts = [part.strip(" ,") for part in _NEXT_QUESTION.split(words) if part.strip(" ,.?!")]
    if not 1 < len(parts) <= QUESTIONS_AT_ONCE or not all(map(_stands_alone, parts)):
        return ()
    wishes = [understand(part[0].upper() + part[1:], specialists, general=general) for part in parts]
    asked = tuple(wish for wish in wishes if isinstance(wish, Referral))
    return asked if len(asked) == len(parts) else ()


def _stands_alone(part: str) -> bool:
    """Return whether a part of a sentence can be a question; "think hard" and a time alone cannot."""
    return len(re.findall(r"\w+", TIME.sub("", part))) > 2 and not (_LEANS.search(part) or is_half(part))


def is_half(words: str) -> bool:
    """Return whether the words are a question that its speaker has not finished."""
    return _HALF.match(words.strip(" ,.?!")) is not None


def completed(words: str, before: str) -> str:
    """Return the question before, with the name or time of a fragment put in; '' if the words are no fragment.

    "And tomorrow?" changes its time; "what about Boston?" changes the name in it, or else its object.
    """
    found = _FRAGMENT.match(words.strip(" .?!"))
    if found is None or len(found["rest"].split()) > FOLLOW_UP_WORDS or _CLAUSE.match(found["rest"]):
        return ""
    rest, end = found["rest"], before.rstrip()[-1:] if before.rstrip()[-1:] in ".?!" else "?"
    body = before.strip(" .?!")
    if TIME.fullmatch(rest):
        return f"{TIME.sub('', body).strip(' ,')} {rest}{end}"
    name = PREPOSITION.sub("", rest)
    if names := names_in(body):
        return name.join(body.rsplit(names[-1], 1)) + end
    if about := _OBJECT.search(body):
        time = TIME.search(about[0])
        return f"{body[: about.start()]}{name}{' ' + time[0] if time else ''}{end}"
    return f"{body} {rest}{end}"

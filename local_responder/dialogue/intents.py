"""What a sentence wants: small talk the demonstration answers itself, or a question for a Thinker. Pure rules.

The first rule that fits decides. Anything that looks like a question and is not small talk goes to a Thinker, so that
typed sentences the rules have never seen are answered as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from local_responder.dialogue.keeping import keeping
from local_responder.dialogue.phrases import COMPANIES
from local_responder.dialogue.place_names import places_in


class Talk(StrEnum):
    """Small talk, answered at once."""

    NOTHING = "nothing"
    """Nothing was understood."""
    GREETING = "greeting"
    HOW_ARE_YOU = "how_are_you"
    WHO = "who"
    ABILITIES = "abilities"
    TIME = "time"
    DATE = "date"
    REPEAT = "repeat"
    JOKE = "joke"
    THANKS = "thanks"
    GOODBYE = "goodbye"
    YES = "yes"
    NO = "no"
    STOP = "stop"
    TOLD = "told"
    """Something about the caller."""
    OTHER = "other"
    """A statement that calls for no facts."""


@dataclass(frozen=True, slots=True)
class Question:
    """For a Thinker: one of the offered domains, and the whole question."""

    domain: str
    query: str


_TALK: tuple[tuple[Talk, str], ...] = (
    (Talk.HOW_ARE_YOU, r"\bhow are you\b|\bhow do you do\b|\bhow's it going\b"),
    (Talk.WHO, r"\b(?:who|what) are you\b|\byour name\b|\bare you (?:a |an )?(?:real|human|robot|machine|ai|person)\b"),
    (Talk.ABILITIES, r"\bwhat can you do\b|^(?:please )?help(?: me)?\b|\bcan you help\b|\bwhat do you know\b"),
    (Talk.TIME, r"\bwhat time is it\b(?! in)|\bwhat(?:'s| is) the time\b(?! in)"),
    (Talk.DATE, r"\bwhat day is (?:it|today)\b|\bwhat(?:'s| is) (?:the|today's) date\b"),
    (Talk.REPEAT, r"\bsay (?:that|it) again\b|\brepeat (?:that|it)\b|^(?:pardon|sorry)\b\W*$|\bwhat did you say\b"),
    (Talk.JOKE, r"\bjoke\b"),
    (Talk.NO, r"^no\b(?!.*\bwhat\b)|^nope\b"),
    (Talk.THANKS, r"\bthank(?:s| you)\b"),
    (Talk.GOODBYE, r"\b(?:good)?bye\b|\bsee you\b|\bhang up\b|\bgood ?night\b"),
    (Talk.STOP, r"^(?:please )?(?:stop|wait|quiet|be quiet|shut up|enough|hold on|never mind)\b"),
    (Talk.STOP, r"^(?:please )?cancel\b(?: that| it| please)*\W*$"),
    (Talk.YES, r"^(?:yes|yeah|yep|sure|okay|ok|right|of course)\b\W*(?:please)?\W*$"),
    (Talk.GREETING, r"^(?:hello|hi|hey|good (?:morning|afternoon|evening|day))\b(?:\W+(?:there|you|everyone))?\W*$"),
    (Talk.TOLD, r"^(?:my name is|my name's|i am called|call me|i live in|i'm from|i am from)\b"),
    (Talk.GREETING, r"\bare you there\b|\bcan you hear me\b"),
)
_DOMAINS: tuple[tuple[str, str, str], ...] = (
    # what a domain may be called, and the words that ask for it
    (
        "notes",
        r"notes|assistant",
        r"^(?:please )?(?:make|take|add|write|create|keep)(?: me)?(?: down)? an? note\b|"
        r"^(?:please )?note (?:down|that|to)\b|^(?:please )?(?:mark|tick|check) (?:it|that)\b.*\b(?:done|off)\b|"
        r"\b(?:my|the|any|open|due) (?:\w+ )?notes?\b|\bsnooze\b|"
        r"^(?:it|that|this)(?:'s| is| has been)(?: all| already)? (?:done|finished|sorted|taken care of)\b",
    ),
    (
        "engineering",
        r"engineer|github",
        r"\bgithub\b|\b(?:open|closed) issues\b|\bissues are (?:open|closed)\b|\bissue (?:number )?#?\d|"
        r"\b(?:close|comment(?:s)? on|read|view|show me|does) issue\b|"
        r"^(?:please )?(?:open|create|file|report|make) (?:an?|a new) issue\b",
    ),
    ("reason", r"reason|think", r"\bthink\b(?: \w+){0,3} (?:hard|carefully|deeply|through|over)\b|\bstep by step\b|"
                                r"\bthink (?:hard|carefully|deeply)\b|\b(?:puzzles?|riddles?)\b"),
    ("reminders", r"remind|assistant|calendar", r"\bremind me\b|\breminders?\b"),
    ("weather", r"weather", r"\b(?:weather|rain|snow|sunny|windy|temperature|forecast|umbrella|jacket|degrees|storm)|"
                            r"\b(?:cold|hot|warm|humid)\b.*\b(?:in|outside|today|tomorrow)\b"),
    (
        "tasks",
        r"^tasks$|background",
        r"\b(?:what(?: about| came of| became of|'s with| is with)|how(?: is|'s)|any news (?:of|on|about)|cancel|stop|"
        r"forget|is)\b.*\b(?:that|my|the|your)\s+(?:\w+ )?(?:research|background task|background work|long search)\b",
    ),
    (
        "calendar",
        r"calendar|schedul|assistant",
        r"\b(?:calendar|meetings?|appointments?|schedule)\b|\bam i free\b|"
        r"\bdo i have (?:anything|any|to)\b|"
        r"^(?:please )?(?:add|book|schedule|cancel|delete|remove|move|reschedule|rename|put)\b",
    ),
    ("stocks", r"stock|financ|market", r"\b(?:stocks?|shares?|nasdaq|dow jones|market)\b|"
                                       rf"\bhow(?: is|'s) (?:{'|'.join(COMPANIES)}) (?:doing|trading)\b"),
    ("news", r"news", r"\b(?:news|headlines?)\b"),
    (
        "medical",
        r"medic|health",
        r"\b(?:headaches?|fever|symptoms?|vitamins?|diseases?|diabetes|medicines?|doctor|flu|bmi|cough|asthma|migraines?|"
        r"body mass index|body surface|blood pressure|creatinine|coma scale|anion gap|egfr|cholesterol)\b",
    ),
    ("memory", r"^memory$|remember", r"(?!)"),  # asked for by what `keeping` finds, before all else
    ("search", r"search|web|browse", r"\b(?:search|research|look up|google|find out|website)\b"),
)  # fmt: skip
_WEATHER = next(asked for name, _called, asked in _DOMAINS if name == "weather")
_GENERAL = r"knowledge|general|fact"
_LEAD = re.compile(
    r"^(?:please\s+)?(?:stop|wait|quiet|be quiet|shut up|enough|hold on|never mind|okay|ok|all right|yes|yeah|no|"
    r"thanks|thank you|hello|hi|hey|sorry|good (?:morning|afternoon|evening)|well|so|um|uh)\b"
    r"(?:\s+(?:please|a moment|that|it|there|very much|a lot))*[\s,.;!?–-]+"
    r"(?:(?:and|but|now|then)\s+)?(?=\w)(?!(?:for|to|so|the)\b)",
    re.IGNORECASE,
)
"""What may be said before a question: it is the question that is answered. "Thanks for the news" holds none."""
_PATIENCE = re.compile(
    r"[\s,.;–-]*(?:\band\s+)?\b(?:in the background|take your time|(?:no|there is no|there's no) hurry|"
    r"(?:then )?let me know(?: when (?:you are|you're|it is|it's) (?:done|ready|finished))?(?=\W*$))\b",
    re.IGNORECASE,
)
"""How somebody says that they do not wait for the answer."""
_FOLLOW_UP = re.compile(r"^(?:and|what about|how about|and what about)\s+(?:in\s+)?", re.IGNORECASE)
_ASKS = re.compile(
    r"\?|^(?:and |so |please |um |uh |well )*(?:what|who|whom|whose|where|when|why|how|which|is|are|was|were|do|does|"
    r"did|can|could|will|would|should|tell|explain|describe|give|show|find|search|look|calculate|translate|any|in)\b",
    re.IGNORECASE,
)


def understand(words: str, domains: Sequence[str], *, last_domain: str | None = None) -> Talk | Question:
    """What `words` want, given the domains on offer; `last_domain` is the one asked last, for "and in Paris?"."""
    plain = words.strip().lower().replace("’", "'")
    if not plain:
        return Talk.NOTHING
    if lead := _LEAD.match(words.strip()):
        rest = words.strip()[lead.end() :]
        wish = understand(rest[0].upper() + rest[1:], domains, last_domain=last_domain)
        if isinstance(wish, Question) or wish is Talk.TOLD:
            return wish
    if keeping(words) and (keeper := _called("memory", domains)):
        return Question(keeper, words.strip())
    for talk, pattern in _TALK:
        if re.search(pattern, plain):
            return talk
    if named := _domain_named(plain, domains):
        return Question(named, words.strip())
    subject = _domain_of(plain, last_domain)
    if subject is None and not _ASKS.search(plain):
        return Talk.OTHER
    domain = _offered(subject, domains)
    if domain is None:
        return Talk.OTHER
    return Question(domain, _whole(words, subject))


def without_patience(words: str) -> tuple[str, bool]:
    """The question without "take your time" and its like, and whether it held any of them."""
    plain = _PATIENCE.sub(" ", words)
    if plain == words:
        return words, False
    return re.sub(r"\s+([.,?!])", r"\1", re.sub(r"\s+", " ", plain)).strip(" ,"), True


def _domain_of(plain: str, last_domain: str | None) -> str | None:
    for name, _called, asked in _DOMAINS:
        if re.search(asked, plain):
            return name
    bare_place = (
        len(plain.split()) <= 4 and bool(places_in(plain)) and not re.search(r"\b(?:tell|explain|who)\b", plain)
    )
    if bare_place and (last_domain or not _ASKS.search(plain)):
        return "weather"
    return "weather" if _FOLLOW_UP.match(plain) and places_in(plain) and "weather" in (last_domain or "") else None


def _domain_named(plain: str, domains: Sequence[str]) -> str | None:
    """A domain the rules know nothing of, called by its own name."""
    return next(
        (
            domain
            for domain in domains
            if re.search(rf"\b{re.escape(domain.replace('_', ' '))}\b", plain) and _is_new(domain)
        ),
        None,
    )


def _is_new(domain: str) -> bool:
    return not any(re.search(called, domain) for _name, called, _asked in _DOMAINS) and not re.search(_GENERAL, domain)


def _called(subject: str, domains: Sequence[str]) -> str | None:
    """The offered domain that is called as `subject` may be."""
    wanted = next(called for name, called, _asked in _DOMAINS if name == subject)
    return next((domain for domain in domains if re.search(wanted, domain)), None)


def _offered(subject: str | None, domains: Sequence[str]) -> str | None:
    """The offered domain for a subject; the general one, or the last, for everything else."""
    if subject and (named := _called(subject, domains)):
        return named
    general = [domain for domain in domains if re.search(_GENERAL, domain)]
    return next(iter(general or domains[-1:]), None)


def _whole(words: str, subject: str | None) -> str:
    """A question that can be understood by itself."""
    if subject == "weather" and not re.search(_WEATHER, words.lower()):
        return f"What's the weather in {' and '.join(places_in(words))}?"
    return words.strip()

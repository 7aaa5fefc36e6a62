"""Extraction finds names and homes that callers state in passing. Pure: words in, updates out.

A missed name is better than a wrong one, which would be spoken aloud. So an introduction is needed ("my name is", "call
me", "I live in"), the words after it must look like a name, and the clause must not deny, suppose, report or ask. "I'm"
introduces a name in "I'm Dana" but not in "I'm hungry": after it the name must begin with a capital, be no nationality
and no weekday, and end its clause. "I'm in Paris" and "I'm from Oslo" say nothing about a home.
"""

import re
from contextlib import suppress

from backend.errors import BadRequest
from backend.users.profile import PreferenceName
from backend.users.profile_updates import SetPreference


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


CLAUSE_BEFORE = 60
"""Characters before an introduction that may reverse its meaning."""
NAME_WORDS = 4
PLACE_WORDS = 4

ASKED_TO_BE_CALLED = re.compile(
    r"\b(?:call me|i go by|(?:i am|i'm) called|(?:they|people|friends|everyone|everybody) call me)\s+", re.IGNORECASE
)
NAMED = re.compile(
    r"\b(?:(?:my|the) name(?:'s| is)|my first name(?:'s| is)"
    r"|mein name ist|ich hei(?:ß|ss)e|je m'appelle|me llamo|mi nombre es|mi chiamo|meu nome é|jeg heter|jag heter)\s+",
    re.IGNORECASE,
)
IS_ON_THE_LINE = re.compile(r"\bthis is\s+(?=\S+(?:\s\S+)? (?:speaking|calling|here)\b)", re.IGNORECASE)
AM = re.compile(r"\b(?:i'm|i am)\s+", re.IGNORECASE)
LIVES = re.compile(
    r"\b(?:i|we) (?:(?:now|currently|actually|still) )?live in\s+"
    r"|\b(?:i'm|i am|we're|we are) (?:(?:now|currently) )?(?:living|based) in\s+"
    r"|\b(?:i|i've|i have|we|we've|we have) (?:(?:just|recently) )?moved to\s+"
    r"|\bmy home is (?:in )?\s*",
    re.IGNORECASE,
)
TURNED = re.compile(
    r"\b(?:don't|do not|doesn't|didn't|never|not|isn't|stop|why|wish|used to|would|wouldn't|could|might)\b[^.!?;,]*$"
    r"|\b(?:if|when|whether|unless|pretend|imagine|suppose|(?<!\bi )said|says?|thinks?|thought|told|asked)\b[^.!?;]*$",
    re.IGNORECASE,
)
"""Words that, earlier in the clause or sentence, turn a statement into a denial, a supposition or a report."""

WORD = re.compile(r"[^\W\d_](?:[\w'-]*[^\W_])?")
PARTICLES = _set("de da do dos di del della la le van von der den bin al el ibn y of the upon sur am")
"""Small words inside a name or a place."""
ENDS_A_NAME = _set("and but from here calling speaking by again so, then")
"""Words that may follow "I'm Dana" in the same sentence."""
NO_NAMES = _set(
    """
    a an the my your his her its our their this that these those it i i'm i've i'd i'll i'll you he she we they me one
    and or but so because if when while as than then there here what what's who how where why which is am are was be
    been being do does did done have has had can could will would shall should might must not no yes yeah nope
    in on at to of for from by with about into over under after before between through without like near
    ok okay fine good great bad well sure sorry glad happy sad tired hungry thirsty bored busy ready done back home
    late early new old just still also too very really quite pretty almost always never again now later soon today
    tonight tomorrow yesterday maybe perhaps please thanks thank hello hi hey
    going trying looking wondering thinking asking calling speaking talking feeling planning working living getting
    sick ill hot cold wet alone lost confused curious interested worried afraid scared excited surprised sure certain
    crazy lazy silly stupid weird paranoid cynical picky names anything whatever something someone nothing sir madam
    ma'am miss mister boss dad mom mum asap if any anytime everyone everybody nobody all right wrong hard difficult
    easy long short spelled spelt pronounced written called missing unknown secret private important unusual common
    actually basically honestly sometimes only already
    monday tuesday wednesday thursday friday saturday sunday january february march june july august september october
    november december christmas easter
    """
)
"""Words that follow an introduction and are no names. April and May can be names."""
NATIONS_AND_FAITHS = _set(
    """
    african albanian algerian american arab argentinian armenian asian australian austrian bangladeshi belgian
    bolivian bosnian brazilian british bulgarian canadian catalan chilean chinese colombian croatian cuban czech danish
    dutch ecuadorian egyptian english estonian ethiopian european filipino finnish french georgian german ghanaian
    greek hungarian icelandic indian indonesian iranian iraqi irish israeli italian jamaican japanese kenyan korean
    latino latina latvian lebanese lithuanian malaysian mexican moroccan nepali nigerian norwegian pakistani palestinian
    peruvian polish portuguese romanian russian scottish serbian slovak slovenian somali spanish swedish swiss syrian
    taiwanese thai turkish ukrainian venezuelan vietnamese welsh
    buddhist catholic christian hindu jewish mormon muslim orthodox protestant republican democrat
    """
)
BEGINS_A_PLACE = _set(
    "new san santa los las saint port fort cape rio hong tel abu kuala buenos costa south north west east long"
)
"""Words that can begin a place, but not end one."""
NO_PLACES = (NO_NAMES - BEGINS_A_PLACE) | _set(
    """
    fear hope peace pain poverty constant town city downtown village country hotel house apartment flat london's
    denial luxury silence darkness harmony exile another different several two
    """
)


def stated(text: str) -> tuple[SetPreference, ...]:
    """Return the updates from what speakers say about themselves in one utterance."""
    text = " ".join(text.replace("’", "'").split())
    found: list[tuple[PreferenceName, str | None]] = [("name", _name(text)), ("default_location", _home(text))]
    updates = []
    for name, value in found:
        if value:
            with suppress(BadRequest):  # The pattern accepts more than memory does.
                updates.append(SetPreference(name, value))
    return tuple(updates)


def _name(text: str) -> str | None:
    """Return the name that the speaker asks to be called, or the stated one, or that of "I'm …"; the last of each."""
    for introduction in (ASKED_TO_BE_CALLED, NAMED, IS_ON_THE_LINE):
        for found in reversed(list(introduction.finditer(text))):
            if name := _introduced(text, found):
                return name
    for found in reversed(list(AM.finditer(text))):
        name = _introduced(text, found, strict=True)
        if name and name.split()[0].casefold() not in NATIONS_AND_FAITHS:
            return name
    return None


def _home(text: str) -> str | None:
    for found in reversed(list(LIVES.finditer(text))):
        if not _turned(text, found.start()):
            place, after = _words(text, found.end(), PLACE_WORDS, NO_PLACES)
            if place and not after.startswith("?"):
                return place + _region(after)
    return None


def _introduced(text: str, found: re.Match[str], *, strict: bool = False) -> str | None:
    """Return the name after an introduction. A `strict` one must begin with a capital and end its clause."""
    if _turned(text, found.start()):
        return None
    name, after = _words(text, found.end(), NAME_WORDS, NO_NAMES)
    if not name or after.startswith("?") or name.endswith("'s"):
        return None
    following = re.match(r"\s+([\w']+)", after)
    clause_ends = following is None or following[1].casefold() in ENDS_A_NAME
    return None if strict and not (text[found.end()].isupper() and clause_ends) else name


def _turned(text: str, at: int) -> bool:
    return TURNED.search(text[max(0, at - CLAUSE_BEFORE) : at]) is not None


def _words(text: str, at: int, limit: int, none_of: frozenset[str]) -> tuple[str, str]:
    """Return the name that begins at `at`, and the text after it; ('', …) when there is none.

    In a text with capitals, capitalised words and the particles between them form the name: "Rio de Janeiro".
    """
    end = at
    for found in _following(text, at, limit):
        word = found[0]
        if word in PARTICLES or word == "The":
            continue  # It is part of the name if a capitalised word follows.
        if word.casefold() in none_of or not word[0].isupper():
            break
        end = found.end()
    return (text[at:end], text[end:]) if end > at else _uncapitalised(text, at, none_of)


def _uncapitalised(text: str, at: int, none_of: frozenset[str]) -> tuple[str, str]:
    """Return one word as the name if the recogniser writes no capitals, since the next word may be anything."""
    words = _following(text, at, 2)
    # Such a word is no name, or it has a capital, which `_words` reads.
    if not words or words[0][0].casefold() in none_of | PARTICLES or words[0][0][0].isupper():
        return "", text[at:]
    taken = words if words[0][0] in BEGINS_A_PLACE else words[:1]
    return " ".join(word[0].capitalize() for word in taken), text[taken[-1].end() :]


def _following(text: str, at: int, limit: int) -> list[re.Match[str]]:
    """Return at most `limit` words from `at` on, with nothing but a space between them."""
    words: list[re.Match[str]] = []
    while len(words) < limit and (found := WORD.match(text, at)):
        words.append(found)
        at = found.end() + 1
        if text[found.end() : at] != " ":
            break
    return words


def _region(after: str) -> str:
    """Return the state or country after a comma: ", Oregon"."""
    found = re.match(
        rf",\s+((?:[A-Z][\w'-]+)(?: [A-Z][\w'-]+)?)(?=[.,!?;]|$| (?:{'|'.join(sorted(ENDS_A_NAME))})\b)", after
    )
    if found is None or found[1].split()[0].casefold() in NO_PLACES:
        return ""
    return f", {found[1]}"

"""A little English grammar for transcripts: the class of a word, the kind of a sentence, and ends that ask for more.

The lists hold the closed classes nearly whole and the verbs and adjectives that callers of voice agents use; every
other word is a noun, which is right more often than not.
"""

from __future__ import annotations

import re


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CLASSES = {
    "determiner": "a an the my your his our their its these those every each another",
    "quantifier": "some any no both all several few many much more most enough other same own whole",
    "preposition": """of in at from to with by about into onto between under for on over near since until before after
        during without around through like as via per than against behind towards across within except""",
    "conjunction": "and or but because if when while although though unless so that whether where",
    "auxiliary": """is are was were am be been being have has had do does did can could will would shall should may
        might must don't can't won't isn't doesn't didn't wouldn't couldn't aren't haven't
        hasn't shouldn't wasn't weren't""",
    "subject": """i we he she they i'm it's that's we're you're they're he's she's i've we've you've they've i'll we'll
        you'll i'd we'd you'd there's let's""",
    "object": """it me him her us them you this that something somebody someone anything anybody everything everyone
        nothing one ones mine yours myself himself herself""",
    "question word": "what who which why how whose what's where's who's how's when's whats",
    "time": """today tomorrow tonight yesterday now later soon again already yet anymore morning afternoon evening
        night noon midnight monday tuesday wednesday thursday friday saturday sunday january february march april june
        july august september october november december week weekend month year o'clock am pm weekdays mondays tuesdays
        wednesdays thursdays fridays saturdays sundays immediately early late ago""",
    "place": "here there home abroad outside inside downtown upstairs",
    "polite": "please thanks thank bye goodbye",
    "particle": "up down off out away back along together",
    "adverb": "not never just only also even still very really quite too almost always actually maybe perhaps",
    "adjective": """new old first second third last next nearest best cheap cheaper cheapest small large big good
        better great bad direct available free possible open closed ready sure wrong broken double single
        different short long full extra nice right left total current average final certain interested
        italian french german spanish red green blue white black american bigger smaller larger longer shorter
        earlier faster slower higher older younger easier safer warmer colder quieter louder closer worse worst hot
        cold warm cool dry wet dark bright heavy empty busy quick slow high low old young poor rich strong weak thick
        thin wide narrow tight loose deep flat sharp smooth rough expensive important urgent difficult easy hard soft
        loud quiet noisy clean dirty tired hungry thirsty sick ill healthy happy sad angry bored nervous dead alive
        alone afraid safe dangerous strange weird beautiful pretty lovely friendly rude polite fresh spicy sweet salty
        local private public separate special normal usual regular similar recent digital electric medical personal
        necessary impossible vegetarian vegan allergic pregnant dizzy useful perfect terrible horrible delicious
        cheapest fastest earliest latest biggest smallest longest oldest""",
    "verb": """book order change cancel check send get make know tell find give take buy pay call ask reset
        return update see move speak talk look reserve schedule reschedule transfer connect add remind put
        bring use need want say explain show leave keep let go come try turn set play pick report open
        close write read search arrange confirm compare visit travel fly rent hear discuss upgrade include
        cover cost deliver recommend help stop block renew dim delete translate start repeat switch skip
        forward increase print lock wake charge hold forget invite calculate retrieve share log sign fill
        drop think work happen arrive believe receive miss live prefer like love understand feel wait mean
        said told got went paid sent lost bought forgot made done gone been came took met asked answer
        apologize apply attend begin borrow break breathe build burn carry catch choose claim clean climb
        collect complain contact continue cook cross cut dance decide depart describe dial die dress drink
        drive earn eat enjoy enter exchange exist expect expire extend fail fall fight finish fix follow
        freeze grow guess hate hire hope hurt improve install join learn lend lift listen lose lower
        manage mute notice pack pass prepare press promise pull push quit reach realize recharge refund
        register reject remember remove repair replace reply resend rise run sail sell serve sew shut sing
        sit sleep smell smoke solve spell spend split stand stay steal study suggest suit swim taste teach
        throw touch treat trust unlock upload wash watch wear win wish wonder worry ate broke brought felt
        found gave heard held kept knew learned left meant ran saw sat seen sold sounded spoke stood
        stolen taken thought wanted won wrote written end fit own park land rain snow phone""",
}
_CLASS = {word: name for name, words in _CLASSES.items() for word in words.split()}
_VERBS = frozenset(_CLASSES["verb"].split())
_NUMBER = re.compile(
    r"\d|^(zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty|"
    r"seventy|eighty|ninety|hundred|thousand|half|quarter|\w+th)$"
)
LEADS = _set("well so and but okay ok yes no please hi hello just then also right sure yeah yep oh")
"""Words before a sentence proper."""
_TOKEN = re.compile(r"[a-z0-9']+(?:[.\-:@_&+]+[a-z0-9']+)*|\+\d+")
_SUBJECTS = _set("i we he she they it you there this that")
_PARTICLES = _set("in on over through by around before since")
"""Prepositions that stand alone after a verb: "log in", "come over"."""
_STRANDED = _set("for from with about to at of on like in")
"""Prepositions that may end a question: "what is it for"."""
_IS = _set(
    """is are was were am isn't aren't i'm it's that's we're you're they're he's she's there's i've we've you've they've
    there let's i'll we'll you'll i'd we'd you'd"""
)
_CLAUSE = frozenset(("subject", "auxiliary", "verb", "participle", "verb in -ing"))
"""Classes without which words are no statement."""
_NEGATIONS = _set("not don't doesn't didn't never")
_VAGUE = _set("now later soon again already yet anymore immediately early late ago")
"""Words of time that nobody takes back for another."""
_PHRASE = "(determiner |quantifier )?((adjective|number|participle) )*((noun|time|number|adjective) )+"
_VALUE = re.compile(
    r"\b(time |number (adjective )?(noun |time )?|number preposition object "
    rf"|determiner (adjective |number )+(noun |object )?|preposition {_PHRASE})$"
)
"""The classes that a value of the caller ends in: "tuesday", "two pizzas", "five of us", "the red car", "to Rome"."""
_VALUE_PLACED = re.compile(r"\bpreposition (determiner |quantifier )?(adjective |participle )*(noun |adjective )+$")
"""A place or a person: "on the wrong train"."""
_WISH = re.compile(
    r"\b(i|we) (want|need|prefer|(would )?(rather )?(like|prefer|love|have|take))\b|\bplease\b"
    r"|\b(i|we)'(d (rather )?(like|love|prefer|have)|ll (take|have))\b|\blet('s| us)\b"
)
_ARRANGING = _set(
    """book order change move send set put call take add bring play reserve schedule reschedule transfer turn make
    deliver wake remind switch connect forward ship deliver rent pick"""
)
"""What "could you" asks to be done, not to be told."""
_OWN_NAME = re.compile(r"\bname('s| is) (\w+ ?){1,2}$")
_EXPLAINING = _set("tell explain describe know help understand")
"""Requests to be told something; what they end in is the assistant's to say."""
_TAKEN_BACK = re.compile(r"\w (no|sorry|i mean|or rather|actually|make that)\b")
_SHORT_STATEMENT = 7
"""Words. To wait after each longer statement that ends in a value would make most answers late."""
_MORE = _set("very quite almost just also even half past")
_NEED_OBJECT = _set("want need get make find give take buy put bring set have add tell say")
_ASKING = _set("what who which why how whose what's where's who's how's when's whats when where")
_SHORT = 4


def words_of(text: str) -> list[str]:
    """Return the words of a transcript in lower case, without punctuation."""
    return _TOKEN.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


def last_sentence(text: str) -> list[str]:
    """Return the words of the last sentence, with the one before where the last only goes on with it."""
    sentences = [words for words in map(words_of, re.split(r"[.?!]\s", text)) if words]
    found: list[str] = []
    while sentences and (not found or classify(found[0]) in ("preposition", "conjunction")):
        found = sentences.pop() + found
    return found


def classify(word: str) -> str:
    """Return the grammatical class of a word; "noun" where it is in no list."""
    known = _CLASS.get(word)
    if known is not None:
        return known
    if _NUMBER.search(word):
        return "number"
    if len(word) > 4 and word.endswith("ing"):
        return "verb in -ing"
    if len(word) > 4 and word.endswith("ed"):
        return "participle"
    if word.endswith("ly"):
        return "adverb"
    if word.endswith("s") and word[:-1] in _VERBS:
        return "verb"
    return "noun"


def classes_of(words: list[str]) -> list[str]:
    """Return the class of each word, by what it follows, too: "the order" is a noun, "we smoke" a verb."""
    classes: list[str] = []
    for word in words:
        name, before = classify(word), classes[-1] if classes else ""
        if name == "verb" and before in ("determiner", "adjective", "quantifier"):
            name = "noun"
        elif name == "participle" and before in ("determiner", "quantifier"):
            name = "adjective"
        elif name == "noun" and before == "subject" and _IS.isdisjoint(words[max(0, len(classes) - 2) : len(classes)]):
            name = "verb"
        classes.append(name)
    return classes


def kind_of(words: list[str]) -> str:
    """Return "question", "yes-no question", "request", "statement" or "fragment"."""
    opening = next((index for index, word in enumerate(words) if word not in LEADS), len(words) - 1)
    word, name = words[opening], classify(words[opening])
    if word in _ASKING:
        return "question"
    if name == "auxiliary":
        return "yes-no question"
    if name == "verb":
        return "request"
    if name == "preposition" or opening == len(words) - 1 or _CLAUSE.isdisjoint(classes_of(words[opening:])):
        return "fragment"
    return "statement"


def could_be_corrected(words: list[str]) -> bool:
    """Return whether the words ask for or tell a value that is easily taken back for another of its kind.

    That is a day, a time, a number, a name, a choice or a place, as the end of a request ("book it for tuesday",
    "could you send it to my office") or of a short statement ("i'd like the large one", "the meeting is at two").
    What ends in "please" is confirmed by that, what was corrected once is right now, and a question holds no value.
    """
    if not ends_in_a_value(words):
        return False
    kind, said = kind_of(words), " ".join(words)
    if kind == "yes-no question":
        opening = next((index for index, word in enumerate(words) if word in ("can", "could", "would", "will")), None)
        asked = [] if opening is None else [word for word in words[opening + 1 :] if word not in ("please", "also")]
        return asked[:1] == ["you"] and not _ARRANGING.isdisjoint(asked[1:2])
    if kind == "statement":
        tells = _OWN_NAME.search(said) or not _VALUE_PLACED.search(_classes_said(words))
        return len(words) <= _SHORT_STATEMENT and bool(tells or _WISH.search(said))
    return kind == "request" and _EXPLAINING.isdisjoint(words)


def ends_in_a_value(words: list[str]) -> bool:
    """Return whether the words end in a day, a time, a number, a name, a choice or a place that was not taken back yet.

    The place may be one that nobody chooses: "i am on the wrong train".
    """
    if not words or words[-1] in _VAGUE:
        return False
    said = " ".join(words)
    return not _TAKEN_BACK.search(said) and bool(_OWN_NAME.search(said) or _VALUE.search(_classes_said(words)))


def _lacks_is(words: list[str]) -> bool:
    """Return whether an indirect question stops before its verb: "how many rooms there"."""
    at = max((index for index, word in enumerate(words[:-1]) if word in _ASKING), default=None)
    between = [] if at is None else classes_of(words[at + 1 : -1])
    return words[-1] == "there" and between[-1:] == ["noun"] and not {"auxiliary", "verb"}.intersection(between)


def _classes_said(words: list[str]) -> str:
    """Return the classes of the words, each with a space behind it; "one" that stands for a noun is an object."""
    classes = classes_of(words)
    for index, word in enumerate(words):
        if word in ("one", "ones") and index and classes[index - 1] != "determiner":
            classes[index] = "object"
    return " ".join(classes) + " "


def trails_off(words: list[str]) -> bool:
    """Return whether the last word cannot well end a sentence: "and", "the", "to", "my number is"."""
    last, name = words[-1], classify(words[-1])
    before, name_before = (words[-2], classify(words[-2])) if len(words) > 1 else ("", "")
    asking = words[0] in _ASKING or any(word in _ASKING for word in words[1:-2])
    if last == "may" and (before in ("of", "in") or name_before == "number"):
        return False
    if name == "determiner" or last in _MORE or _lacks_is(words):
        return True
    if name == "conjunction":
        return last not in ("though", "where", "so") or before not in ("say", "think", "hope", "guess")
    if name == "auxiliary":
        answers = before in _SUBJECTS and (len(words) <= _SHORT or asking)
        relative = last in ("have", "do", "are", "is") and len(words) > _SHORT
        relative = relative and (before in _SUBJECTS or (before in _NEGATIONS and "that" in words[:-2]))
        return not (answers or relative or (asking and last == "have"))
    if name == "subject":
        return not (asking and name_before == "auxiliary" and "'" not in last)
    if name == "preposition":
        if last in _PARTICLES and name_before in ("verb", "verb in -ing", "object"):
            return False
        if last in ("before", "after") and name_before in ("noun", "time"):
            return False
        if last == "over" and name_before == "auxiliary":
            return False
        if asking and last in _STRANDED and len(words) >= _SHORT and name_before not in ("noun", "determiner"):
            return False
        return not (before in ("love", "like") and last == "to" and len(words) <= _SHORT - 1)
    if name == "question word":
        return len(words) > 1 and before not in ("so", "or", "know", "that", "me", "say")
    if last in _NEED_OBJECT and not asking:
        return name_before in ("subject", "preposition", "") or before in ("you", "please", "can", "could", "would")
    return False

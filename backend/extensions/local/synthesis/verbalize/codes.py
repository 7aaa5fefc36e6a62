"""Rules for texts read by letter or digit: phone numbers, codes, versions, mail and web addresses, tickers."""

import re

from backend.extensions.local.synthesis.verbalize.abbreviations import acronym
from backend.extensions.local.synthesis.verbalize.numbers import (
    cardinal,
    fraction,
    grouped,
    letters_and_digits,
    number,
    one_by_one,
    ordinal,
    spelled,
)
from backend.extensions.local.synthesis.verbalize.spans import Rule, rule

_TOP_LEVEL = "com|org|net|edu|gov|io|ai|dev|app|co|uk|de|fr|es|it|nl|eu|ch|us|ca|au|jp|info|tv|me|fm|ly"
_FILES = (
    "pdf|txt|py|md|csv|docx?|xlsx?|pptx?|zip|png|jpe?g|gif|mp3|mp4|wav|json|html|xml|js|ts|exe|log|toml|ya?ml|ini|env"
)
_SPELLED_ENDINGS = {"io", "ai", "uk", "us", "tv", "fm", "eu", "ch", "de", "fr", "jp", "nl", "py", "md", "js", "ts"}
_SPELLED_FILES = {"pdf", "txt", "csv", "html", "xml", "mp3", "mp4", "exe", "png", "yml", "xlsx", "xls", "pptx", "docx"}


def domain(host: str) -> str:
    """Return the spoken domain of an address: example dot com for "www.example.com"."""
    labels = [label for label in host.lower().removeprefix("www.").split(".") if label]
    *names, last = labels or [""]
    return " dot ".join([*(_label(name) for name in names), _ending(last)])


def _ending(label: str) -> str:
    return spelled(label) if label in _SPELLED_ENDINGS else _label(label)


def _label(label: str) -> str:
    parts = re.findall(r"[A-Za-z]+|\d+|[-_+]", label)
    names = {"-": "dash", "_": "underscore", "+": "plus"}
    return " ".join(names.get(part) or (one_by_one(part) if part.isdigit() else part) for part in parts)


def _mail(match: re.Match[str]) -> str:
    return f"{' dot '.join(_label(part) for part in match[1].split('.') if part)} at {domain(match[2])}"


def _link(match: re.Match[str]) -> str:
    host = match[1].rpartition("@")[2].partition(":")[0]
    return domain(host) if re.search("[A-Za-z]", host) else _label(host.replace(".", " "))


def _file(match: re.Match[str]) -> str:
    name, ending = match.groups()
    ending = ending.lower()
    spoken = letters_and_digits(ending) if ending in _SPELLED_FILES | _SPELLED_ENDINGS else acronym(ending.upper())
    return f"{' dot '.join(_label(part) for part in re.split('[.]', name))} dot {spoken or ending}"


def _phone(match: re.Match[str]) -> str:
    plus = "plus " if match[0].lstrip("(").startswith("+") else ""
    return plus + grouped(re.findall(r"\d+", match[0]))


def _dotted(match: re.Match[str]) -> str:
    parts = match[0].lstrip("vV").split(".")
    return ("version " if match[0][0] in "vV" else "") + " point ".join(cardinal(part) for part in parts)


def _address(match: re.Match[str]) -> str:
    return " dot ".join(one_by_one(part) for part in match[0].split("."))


def _long(match: re.Match[str]) -> str | None:
    digits = match[1]
    if digits.endswith("000") and digits[0] != "0":
        return None
    return grouped([digits[start : start + 3] for start in range(0, len(digits), 3)])


def _labelled(match: re.Match[str]) -> str:
    return f"{match[1].replace('PIN', 'pin').replace('ZIP', 'zip')} {one_by_one(match[2])}"


def _room(match: re.Match[str]) -> str:
    hundreds, rest = match[2][0], match[2][1:]
    spoken = {"0": f"oh {cardinal(rest[1])}"}.get(rest[0], cardinal(rest)) if rest != "00" else "hundred"
    return f"{match[1]} {cardinal(hundreds)} {spoken}"


def _code(match: re.Match[str]) -> str:
    letters, digits = match.groups()
    said = cardinal(digits) if len(digits) <= 2 else one_by_one(digits)
    return f"{acronym(letters) or spelled(letters)} {said}"


def _fraction(match: re.Match[str]) -> str | None:
    above, below = int(match[2]), int(match[3])
    return _mixed(match[1], above, below) if 0 < above < below <= 100 else None


def _glyph(match: re.Match[str]) -> str:
    return _mixed(match[1], *_GLYPHS[match[2]])


def _mixed(whole: str | None, above: int, below: int) -> str:
    """Return a spoken fraction: one half alone, or two and a half with a whole number."""
    said = fraction(above, below)
    return f"{cardinal(whole)} and {'a' + said[3:] if above == 1 else said}" if whole else said


def _rating(match: re.Match[str]) -> str | None:
    """Return a spoken rating: four point five out of five; None for two fifths, which is a fraction."""
    if "." not in match[1] and int(match[1]) < int(match[2]) and int(match[2]) < 10:
        return None
    return f"{number(match[1])} out of {cardinal(match[2])}"


_GLYPHS = {"½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅛": (1, 8), "⅜": (3, 8)}


ADDRESSES: tuple[Rule, ...] = (
    rule(r"(?:mailto:)?\b([\w.+-]+)@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)", _mail),
    rule(r"(?:https?|ftp|wss?)://([^\s/?#<>\"')\]]+)(?:[/?#][^\s<>\"')\]]*[^\s<>\"')\].,;:!?])?/?", _link, re.I),
    rule(r"(?<![\w@.])(www\.[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)(?:[/?#][^\s<>\"')\]]*[^\s<>\"')\].,;:!?])?/?", _link),
    rule(
        rf"(?<![\w@./-])((?:[A-Za-z0-9-]+\.)+(?:{_TOP_LEVEL}))(?:/[^\s<>\"')\]]*[^\s<>\"')\].,;:!?]|/)?(?![\w@])", _link
    ),
    rule(rf"(?<![\w@.])([\w.-]*\w)\.({_FILES})(?!\w)", _file, re.I),
)
CODES: tuple[Rule, ...] = (
    rule(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]\w|\w)", _address),
    rule(r"(?<!\w)[vV]\d+(?:\.\d+)*(?!\w)|(?<![\w.])\d+(?:\.\d+){2,}(?!\w)", _dotted),
    rule(r"(?<=\b[Pp]ython )\d+\.\d+(?!\w)|(?<=\b[Vv]ersion )\d+\.\d+(?!\w)", _dotted),
    rule(r"(?<![\w.+-])(?:\+\d{1,3}[ -]?)?(?:\(\d{2,4}\)[ -]?|\d{2,4}[ -])\d{3,4}[ -]\d{3,4}(?![\w-])", _phone),
    rule(r"(?<![\w.])\+\d{1,3}(?:[ -]?\(?\d{1,4}\)?){2,5}(?![\w-])", _phone),
    rule(r"(?<![\w.-])\d{3}[-. ]\d{4}(?![\w-])", _phone),
    rule(r"(?<![\w.])1[- ]\d{3}[- ]\d{3}[- ]\d{4}(?![\w-])", _phone),
    rule(r"(?<![\w.])24/7(?!\w)", "twenty-four seven"),
    rule(r"(?<![\w.])9/11(?!\w)", "nine eleven"),
    rule(r"(?<![\w.])(\d+(?:\.\d+)?)/(5|10|100)(?![\w.]\w|\w)", _rating),
    rule(r"(?<![\w.])911(?![\w,.]\d|\w)", "nine one one"),
    rule(r"(?<![\w.])(?:(\d+)[ -])?(\d{1,2})[/⁄](\d{1,3})(?![\w/])", _fraction),
    rule(r"(?<![\w.])(\d+)?\s?([½⅓⅔¼¾⅕⅛⅜])", _glyph),
    rule(
        r"\b((?:PIN|[Pp]in|[Cc]ode|[Zz]ip|ZIP|[Ee]xtension|[Pp]asscode|[Oo]rder|[Bb]ooking|"
        r"[Cc]onfirmation)(?: code| number)?(?: is)?):? #?(\d{3,})\b",
        _labelled,
    ),
    rule(r"\b([Rr]oom|[Ss]uite|[Aa]partment|[Ff]light|[Bb]us|[Rr]oute|[Hh]ighway) (\d{3})\b", _room),
    rule(r"(?<![\w.,])#?(\d{7,})(?![\w,.]\d|\w)", _long),
    rule(r"(?<![\w.])\$([A-Z]{1,5})(?![A-Za-z])", lambda match: spelled(match[1])),
    rule(r"(?<!\w)#(\d+)", lambda match: f"number {cardinal(match[1])}"),
    rule(r"(?<!\w)#([A-Za-z]\w*)", lambda match: f"hashtag {_label(match[1])}"),
    rule(r"(?<!\w)@([A-Za-z]\w*)", lambda match: f"at {_label(match[1])}"),
    rule(r"\b(?:No|Nr)\. ?(\d+)\b", lambda match: f"number {cardinal(match[1])}"),
    rule(r"(?<!\w)(\d+)(?:st|nd|rd|th)\b", lambda match: ordinal(int(match[1])), re.I),
    rule(r"\b([A-Z]{1,5})-?(\d{1,5})\b(?![.,]\d)", _code),
    rule(r"(?<![\w.])(\d+)([A-Z])\b", lambda match: f"{cardinal(match[1])} {spelled(match[2])}"),
)
"""The rules for codes, in the order in which they are tried."""

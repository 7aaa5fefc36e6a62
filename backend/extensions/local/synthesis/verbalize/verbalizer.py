"""The verbalizer turns written text into spoken words. Pure.

    verbalize("It is 7:30 and 21 °C.") == "It is seven thirty and twenty-one degrees Celsius."

The caller's transcript stays the written text; only the sound is made from the spoken words.
"""

import re
import unicodedata

from backend.extensions.local.synthesis.verbalize.abbreviations import ABBREVIATIONS
from backend.extensions.local.synthesis.verbalize.amounts import AMOUNTS
from backend.extensions.local.synthesis.verbalize.calendar import CALENDAR
from backend.extensions.local.synthesis.verbalize.codes import ADDRESSES, CODES
from backend.extensions.local.synthesis.verbalize.markup import CALCULATION, MARKUP, REST, pronounceable
from backend.extensions.local.synthesis.verbalize.spans import replaced, rule


def verbalize(text: str) -> str:
    """Return text with numbers, abbreviations, links and the like in words, as in spoken American English.

    The words have punctuation, but no digits or symbols; '' if nothing can be pronounced.
    """
    return pronounceable(unicodedata.normalize("NFC", replaced(text, _RULES)))


def _link_text(match: re.Match[str]) -> str:
    return verbalize(match[1])


_RULES = (
    rule(r"!?\[([^\]\n]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s\"[^\"]*\")?\)", _link_text),
    *ADDRESSES,
    *MARKUP,
    *CALENDAR,
    *AMOUNTS,
    *CODES,
    *ABBREVIATIONS,
    *CALCULATION,
    *REST,
)
"""All rules, in the order in which they are tried."""

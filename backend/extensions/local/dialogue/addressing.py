"""Who is spoken to: the Responder, or somebody else in the room. Pure rules.

The wake name is found in the instructions.
"""

from __future__ import annotations

import json
import re

SILENCE = "wait_for_user"
"""The tool by which it stays silent, where it is on offer."""
_SOMEBODY = (
    r"(?:my|the) (?:son|daughter|wife|husband|mother|father|mom|dad|brother|sister|kids?|children|baby|dog|cat|"
    r"neighbou?r|colleague|boss)|him|her|them|somebody else|someone else"
)
_TO_OTHERS = re.compile(
    r"^(?:(?:hey|oh|yes|no|okay|sorry)\W+)?(?:honey|darling|sweetheart|sweetie|mom|mum|mommy|dad|daddy|kids|guys|"
    r"children)\b"
    r"|\b(?:darling|sweetheart|sweetie)\W*$"
    rf"|\bi(?:'m| am| was) (?:talking|speaking) (?:to|with) (?:{_SOMEBODY})\b"
    r"|\bi(?:'m not| am not| was not| wasn't) (?:talking|speaking) to you\b"
    r"|^(?:(?:no|sorry|i mean)\W+)*not you\W*$"
)
_WAKE_NAME = re.compile(r'Your name in this call is "((?:[^"\\]|\\.)*)"')


def is_for_others(words: str, instructions: str = "", last_said: str = "") -> bool:
    """Whether `words` are clearly addressed to somebody else.

    Where the instructions give a wake name, so is all that does not contain it, except what follows a question.
    """
    plain = words.strip().lower().replace("’", "'")
    if not plain:
        return False
    named = _WAKE_NAME.search(instructions)
    name = str(json.loads(f'"{named[1]}"')).lower() if named else ""
    if name and not re.search(rf"\b{re.escape(name)}\b", plain) and not last_said.endswith("?"):
        return True
    return _TO_OTHERS.search(plain) is not None

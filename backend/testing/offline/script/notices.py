"""The words of the scripted peer when it is asked for notices: those of the notes, by the server's numbers."""

import json
import re
from collections.abc import Sequence

from backend.realtime.items import Item


def notices_spoken(instructions: str, items: Sequence[Item]) -> str:
    """Return the notes that the instructions name (`Tell the news 1 and 2.`); once more, their first sentences."""
    asked = re.search(r"Tell the news (\d+(?: and \d+)*)\.(.*)", instructions, re.DOTALL)
    numbers = asked[1].split(" and ") if asked else []
    notes = [item.words for item in items if item.role == "system"]
    texts = [_text(note) for note in notes if (begun := re.match(r"News (\d+) ", note)) and begun[1] in numbers]
    if asked and "once more" in asked[2]:
        return "As I was saying: " + " ".join(re.split(r"(?<=[.!?])\s", text)[0] for text in texts)
    lead = "" if texts and texts[0].startswith("About ") else "By the way: "  # a late answer names its topic itself
    return lead + " And: ".join(texts)


def _text(note: str) -> str:
    """Return the text below a note's first line, which may be JSON."""
    text = note.partition("\n")[2]
    try:
        return str(json.loads(text))
    except ValueError:
        return text

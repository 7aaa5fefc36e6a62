"""The words without a language model: short spoken sentences. Pure; varied by the turn's number, not by chance."""

import itertools
import json
import re
from collections.abc import Sequence

ACKNOWLEDGEMENTS = ("Let me check.", "One moment, please.", "I will look that up.", "Let me see.")
PURPOSES: dict[str, Sequence[str]] = {
    "greeting": ("Hello! Ask me about the weather, the news, shares, or your calendar.",),
    "filler": ("I am still looking.", "Just a moment longer.", "Still working on it."),
    "nudge": ("Are you still there?", "Is there anything else you would like to know?"),
    "goodbye": ("I have not heard from you for a while, so I will hang up now. Goodbye!",),
}
YES_OR_NO = "Please say yes or no."
SMARTER = "The operator of this server can connect a language model."
_COURTESIES = re.compile(
    r"^(?:(?:yes|please|okay|ok|and|also|now|well|so|hey|(?:can|could|will|would) you|you (?:can|could|may)|"
    r"make sure(?: that)? you|i(?:'d like| would like| want| need)(?: you)? to(?! (?:know|hear)\b))\b[\s,]*)+",
    re.IGNORECASE,
)
_ABBREVIATIONS = r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)(?<!\b[A-Z])(?<!^\d)"
SENTENCE_END = re.compile(rf"(?:(?:{_ABBREVIATIONS}\.|[!?…]+)[\"'”’)\]*_]*\s+|\n+)", re.MULTILINE)
"""The end of a sentence, after which the next one may begin."""
_DICTATED = re.compile(r"[Ss]ay exactly(?: this)?[^\"]*(\"(?:[^\"\\]|\\.)*\")\s*\.?\s*$")


def dictated(instructions: str) -> str:
    """Return the words of instructions that dictate them (`Say exactly this…: "…"`); '' for any others."""
    found = _DICTATED.search(instructions)
    return str(json.loads(found[1])) if found else ""


def purpose(name: str, instructions: str, *, turn: int) -> str:
    """Return the words for a reply of a special purpose; '' for any other purpose."""
    return (dictated(instructions) or pick(PURPOSES[name], turn)) if name in PURPOSES else ""


def news(instructions: str, notes: Sequence[str]) -> str:
    """Return the notes with the numbers in `Tell the news 1 and 2.`, introduced; a repetition is shortened."""
    asked = re.search(r"Tell the news (\d+(?: and \d+)*)\.(.*)", instructions, re.DOTALL)
    wanted = asked[1].split(" and ") if asked else []
    found = [note for note in notes if (begun := re.match(r"News (\d+) ", note)) and begun[1] in wanted]
    texts = [spoken(str(read(note.partition("\n")[2]))) for note in found]
    if asked and "once more" in asked[2]:
        return "As I was saying: " + " ".join(sentences(text)[0] for text in texts if text)
    if not texts:
        return "There was some news, but I have lost it."
    lead = "" if texts[0].startswith("About ") else "By the way: "  # a late answer names its topic itself
    return lead + " And: ".join(texts)


def asks_consent(words: str) -> bool:
    """Return whether the words ask for consent; a question that was cut short does, too."""
    return words.startswith("Shall I ") or YES_OR_NO in words


def question_of_consent(wish: str) -> str:
    """Return the question whether to carry out `wish`."""
    wish = without_courtesies(wish)
    return f"Shall I {wish[:1].lower()}{wish[1:]}? {YES_OR_NO}"


def without_courtesies(sentence: str) -> str:
    """Return a sentence without "please", "can you" and the like before it, and without its last mark."""
    return _COURTESIES.sub("", " ".join(sentence.replace("’", "'").split())).strip(" .?!,")


def read(text: str) -> object:
    """Return the value of JSON text, or the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def spoken(text: str) -> str:
    """Return text without markup and bullets, which cannot be spoken; a link becomes the name of its site."""
    text = re.sub(r"```.*?```", " ", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"https?://(?:www\.)?([\w.-]*\w)[^\s<>]*?(?=[.,;:!?)]*(?:\s|$))", r"\1", text)
    text = re.sub(r"^\s*(?:[-*•]|\d+[.)]|#+)\s+", "", text, flags=re.MULTILINE)
    text = re.sub(r"[*`#>|]+|(?<!\w)_+|_+(?!\w)", "", text)  # the name of a setting keeps its underscores
    return re.sub(r"\s+", " ", text).strip()


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, so that speaking can begin with the first."""
    ends = [found.end() for found in SENTENCE_END.finditer(text)]
    parts = (text[start:end].strip() for start, end in itertools.pairwise((0, *ends, len(text))))
    return [part for part in parts if part]


def closed(text: str) -> str:
    """Return text with a full stop, unless it ends in a mark of its own."""
    return text if text[-1:] in ".?!" else f"{text}."


def as_sentence(text: str) -> str:
    """Return text with a capital, and with a full stop unless it ends in a mark of its own."""
    return closed(text[:1].upper() + text[1:])


def joined(names: Sequence[str], word: str = "and") -> str:
    """Return the names as a list in words: 'a, b and c'."""
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def pick(choices: Sequence[str], turn: int) -> str:
    """Return another choice each turn, in order."""
    return choices[turn % len(choices)]

"""The word error rate of texts in one spelling. Pure.

Errors are substitutions, deletions and insertions of the cheapest alignment (Levenshtein), over the words that were
said. Both sides are normalized alike, and only between spellings of the same sound:

- capitals and punctuation go, hyphens part words; "%" is "percent", "$5" is "5 dollars", "9:00" is "9";
- a number is its digits, each a word: "twenty two", "22" → 2 2; "four one five", "415" → 4 1 5; ordinals as "21st";
- contractions are written out ("it's" → "it is"), "OK" is "okay", "Dr.", "Mr.", "St." and the like are words;
- British spelling is American ("neighbour", "metre", "colour"), "per cent" is one word, "o'clock" goes.
"""

import re
from collections.abc import Iterator, Sequence

UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
]
UNITS += ["seventeen", "eighteen", "nineteen"]
TENS = dict(
    zip(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], range(20, 100, 10), strict=True)
)
VALUES = {word: value for value, word in enumerate(UNITS)} | TENS
ORDINALS = dict(
    zip(
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"],
        range(1, 11),
        strict=True,
    )
)
WRITTEN = {
    "ok": "okay", "dr": "doctor", "mr": "mister", "mrs": "misses", "ave": "avenue", "rd": "road",
    "st": "street", "blvd": "boulevard",
    "neighbour": "neighbor", "neighbours": "neighbors", "colour": "color", "metre": "meter", "metres": "meters",
    "gray": "grey", "oclock": "", "cannot": "can not", "im": "i am", "summarise": "summarize",
}  # fmt: skip
CONTRACTIONS = (
    (r"\bcan't\b", "can not"), (r"\bwon't\b", "will not"), (r"n't\b", " not"), (r"'m\b", " am"), (r"'re\b", " are"),
    (r"'ve\b", " have"), (r"'ll\b", " will"), (r"\b(it|that|what|who|where|there|he|she|how|when|let)'s\b", r"\1 is"),
    (r"\blet is\b", "let us"),
)  # fmt: skip


def errors(said: str, heard: str) -> tuple[int, int]:
    """Return the word errors in `heard`, and the number of words in `said`."""
    wanted, got = normalized(said), normalized(heard)
    row = list(range(len(got) + 1))
    for number, word in enumerate(wanted, 1):
        before, row = row, [number]
        for at, other in enumerate(got, 1):
            row.append(min(before[at] + 1, row[-1] + 1, before[at - 1] + (word != other)))
    return row[-1], len(wanted)


def normalized(text: str) -> list[str]:
    """Return the words of a text in one spelling."""
    text = text.lower().replace("’", "'").replace("per cent", "percent").replace("%", " percent")
    text = re.sub(
        r"\$([\d,]+)(?:\.(\d\d))?", lambda m: f"{m[1]} dollars {'and ' + m[2] + ' cents' if m[2] else ''}", text
    )
    text = re.sub(r"(?<!\S)-(?=\d)", "minus ", text)
    text = re.sub(r"\b(\d{1,2}):00\b", r"\1", text)
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    for pattern, replacement in CONTRACTIONS:
        text = re.sub(pattern, replacement, text)
    words = re.sub(r"[^a-z0-9 ]", " ", text.replace("'", "")).split()
    spelled = " ".join(WRITTEN.get(word, word) for word in words).split()
    return list(_digits(spelled))


def _digits(words: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(words):
        if words[at] in TENS and at + 1 < len(words) and ORDINALS.get(words[at + 1], 10) < 10:
            yield f"{TENS[words[at]] + ORDINALS[words[at + 1]]}th"
            at += 2
            continue
        length, number = _number(words[at:])
        if length:
            yield from number
            at += length
            continue
        word = words[at]
        if word.isdigit():
            yield from word
        elif word in ORDINALS:
            yield f"{ORDINALS[word]}th"
        elif ordinal := re.fullmatch(r"(\d+)(?:st|nd|rd|th)", word):
            yield f"{ordinal[1]}th"
        else:
            yield word
        at += 1


def _number(words: Sequence[str]) -> tuple[int, str]:
    """Return how many words a number at the beginning has, and its digits; 0 where there is none."""
    if not words or words[0] not in VALUES:
        return 0, ""
    value, at = VALUES[words[0]], 1
    if value in TENS.values() and at < len(words) and words[at] in UNITS[1:10]:
        value, at = value + VALUES[words[at]], at + 1
    for name, factor in (("hundred", 100), ("thousand", 1000)):
        if at < len(words) and words[at] == name:
            value, at = value * factor, at + 1
            joined = at + (at < len(words) and words[at] == "and")
            more, digits = _number(words[joined:])
            if more and digits.isdigit() and int(digits) < factor:
                return joined + more, str(value + int(digits))
    return at, str(value)

"""A caller's pauses in a sentence: drawn, with the weights of real pauses."""

import random
from collections.abc import Sequence
from itertools import pairwise

WORDS = """
a an the my your our his her their this that to for from of in on at with by about into over under near before
after behind and or but because so if when whether although since until while than then is are was were am be been
has have had do does did will would could can should must not i we you he she it they there which who how what
where why some any no very too also just please
"""
FUNCTION_WORDS = frozenset(WORDS.split())
OPENERS = frozenset(("and", "or", "but", "because", "so", "if", "when", "whether", "although", "since", "until"))
"""Words before which a clause ends."""
AFTER_FUNCTION_WORD, BEFORE_CLAUSE, BEFORE_PHRASE, ELSEWHERE = 3.0, 3.0, 1.5, 0.6
LEAST_BEFORE, LEAST_AFTER = 2, 2
"""Words on either side of a pause."""


def weights(words: Sequence[str]) -> list[float]:
    """The probability of a pause before each word; hesitation follows function words, planning precedes clauses."""
    found = [0.0] * len(words)
    for number in range(LEAST_BEFORE, len(words) - LEAST_AFTER + 1):
        before, after = words[number - 1].lower(), words[number].lower()
        if after in OPENERS:
            found[number] = BEFORE_CLAUSE
        elif before in FUNCTION_WORDS:
            found[number] = AFTER_FUNCTION_WORD
        elif after in FUNCTION_WORDS:
            found[number] = BEFORE_PHRASE
        else:
            found[number] = ELSEWHERE
    return found


def split(words: Sequence[str], pauses: int, chance: random.Random) -> list[list[str]]:
    """The sentence in pieces, a pause between each two; fewer pieces where it is too short."""
    weight = weights(words)
    places: list[int] = []
    for _ in range(pauses):
        for place in places:
            for near in range(max(0, place - LEAST_AFTER), min(len(words), place + LEAST_AFTER + 1)):
                weight[near] = 0.0
        if not any(weight):
            break
        places += chance.choices(range(len(words)), weight)
    edges = [0, *sorted(places), len(words)]
    return [list(words[begin:end]) for begin, end in pairwise(edges)]

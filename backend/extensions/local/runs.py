"""The probability of the next word or token, by the runs of a few texts. Pure. The followers of the last one, two or
three members are counted, and interpolated by the method of Witten and Bell."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence

ORDER = 4
"""The number of members in the longest run that is counted."""
UNKNOWN = 1 / 32_000


class Runs:
    """The runs in some texts; the first member of a text only begins it."""

    def __init__(self, texts: Iterable[Sequence[Hashable]]) -> None:
        self._following: dict[tuple[Hashable, ...], Counter[Hashable]] = defaultdict(Counter)
        for text in texts:
            for at in range(1, len(text)):
                for length in range(min(ORDER - 1, at) + 1):
                    self._following[tuple(text[at - length : at])][text[at]] += 1

    def __len__(self) -> int:
        return len(self._following)

    def likelihood(self, before: Sequence[Hashable], follower: Hashable) -> float:
        """Return the logarithm of the probability of `follower` after `before`."""
        nearest = tuple(before[1 - ORDER :])
        probability = UNKNOWN
        for length in range(len(nearest) + 1):
            following = self._following.get(nearest[len(nearest) - length :])
            if following is None:
                break
            kinds = len(following)
            probability = (following[follower] + kinds * probability) / (following.total() + kinds)
        return math.log(probability)

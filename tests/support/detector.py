"""A detector with scripted scores, for tests of the code that uses scores."""

from backend.media.frame import Frame


class Saying:
    """Has these scores, one for each frame."""

    def __init__(self, *scores: float) -> None:
        self._scores = iter(scores)

    def score(self, _frame: Frame) -> float:
        return next(self._scores)

"""The legs of a turn's latency, from the caller's last sound to the first sound of the reply."""

from itertools import pairwise

from backend.page_events import AnswerMeasured, TurnMeasured

LEGS = ("hangover_ms", "commit_ms", "reply_started_ms", "first_audio_ms", "end_of_turn_ms", "played_ms")
"""The legs of a turn in order: until the first moment, at which the turn may be over; until the reply was asked for;
until the provider began it; until its first audio; until the turn was believed over, where that came last; until the
first frame was sent. They add up to `first_sound_ms`.

`first_token_ms` is a part of `first_audio_ms`: from the reply's beginning to its first word, or to its first audio if
no word came before."""


SOUNDS_LIMIT = 64
"""The most items of one turn of which the first sound is kept."""


class TurnClock:
    """The clock of one turn, which marks its legs as they are reached and reports them when all are complete.

    It also measures the time to the answer. Whether a reply was the answer shows at its end: a reply that calls a tool
    was only a preamble.
    """

    def __init__(self) -> None:
        self.turn = 0
        self._marks: list[float] = []
        self._token_at: float | None = None
        self.began = 0.0
        """The moment of the caller's last sound of this turn, or of a typed turn's arrival."""
        self._sounds: dict[str, float] = {}
        self._answer = ""
        self._is_measured = True

    def begin(self, turn: int, now: float, hangover_ms: int) -> None:
        """Begin a turn that ended `hangover_ms` before `now`, when its end was detected."""
        self.turn = turn
        self.began = now - hangover_ms / 1000
        self._marks = [self.began, now]
        self._token_at = None
        self._sounds.clear()
        self._answer, self._is_measured = "", False

    def sounds(self, item: str, now: float) -> AnswerMeasured | None:
        """Mark the first sound of an item; return the time to the answer if the answer begins with it."""
        if not self._is_measured and len(self._sounds) < SOUNDS_LIMIT:
            self._sounds.setdefault(item, now)
        return self._measured()

    def answered_by(self, item: str) -> AnswerMeasured | None:
        """Note the item with which the answer begins, known at its end; return the time to it if it has sounded."""
        self._answer = self._answer or item
        return self._measured()

    def _measured(self) -> AnswerMeasured | None:
        if self._is_measured or self._answer not in self._sounds:
            return None
        self._is_measured = True
        return AnswerMeasured(self.turn, round((self._sounds[self._answer] - self.began) * 1000))

    def reach(self, leg: str, now: float) -> bool:
        """Mark `leg` and return True; ignore a leg that is out of order and return False."""
        position = LEGS.index(leg) + 1
        if len(self._marks) != position:
            return False
        self._marks.append(now)
        return True

    def played(
        self, now: float, *, wait_ms: int = 0, reason: str = "", segments: int = 1, discarded: int = 0
    ) -> TurnMeasured | None:
        """Mark the last leg, and return the report of all legs, with the details of a spoken turn."""
        if not self.reach(LEGS[-1], now):
            return None
        marks = [round((mark - self._marks[0]) * 1000) for mark in self._marks]
        begun, sounded = (self._marks[LEGS.index(leg) + 1] for leg in ("reply_started_ms", "first_audio_ms"))
        token_at = sounded if self._token_at is None else self._token_at
        hangover, commit, started, audio, end_of_turn, played = (end - begin for begin, end in pairwise(marks))
        return TurnMeasured(
            turn=self.turn,
            hangover_ms=hangover,
            commit_ms=commit,
            reply_started_ms=started,
            first_audio_ms=audio,
            end_of_turn_ms=end_of_turn,
            played_ms=played,
            first_sound_ms=marks[-1],
            first_token_ms=round((token_at - begun) * 1000),
            wait_ms=wait_ms,
            reason=reason,
            segments=segments,
            discarded=discarded,
        )

    def token(self, now: float) -> None:
        """Mark a word of the reply; only the first one after the reply has begun counts."""
        if self._token_at is None and len(self._marks) == LEGS.index("first_audio_ms") + 1:
            self._token_at = now

    def drop(self) -> None:
        """Drop the marks of this turn, so that it is not reported."""
        self._marks = []

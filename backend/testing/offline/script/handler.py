"""A handler that follows a script exactly, turn by turn.

Each commit takes a turn, except a voice that goes on, if turns state their length of sound. Each reply to typed text
without an answer takes a turn, too; several items, such as a restored history, take one together.
"""

import asyncio
import binascii
import io
import time
from collections.abc import AsyncIterator

from backend.media.frame import FRAME_BYTES, FRAME_MS
from backend.media.pictures import picture_parts
from backend.realtime.items import Item
from backend.realtime.serving.effects import Abort, Order, SendText
from backend.realtime.serving.handler import Handler
from backend.realtime.serving.parts import (
    Begin,
    Call,
    End,
    Expire,
    HearingPart,
    NextMessage,
    ReplyPart,
    ReplySound,
    TranscriptDone,
    TranscriptGrew,
    Words,
)
from backend.testing.offline.script.notices import notices_spoken
from backend.testing.offline.script.schema import ConnectionScript, HearingSpec, ScriptedReply, TurnSpec
from backend.testing.offline.script.sound import Sound, sound_of

RESULT = "function_call_output"
"""The type of items after which a reply speaks a result."""
CHUNK_MS = 100
"""The milliseconds of sound in one delta."""
GOES_ON_WITHIN_S = 1.1
WHOLE = 0.9
"""The share of a turn's sound that must arrive: networks lose some."""
MOST = 1.2
"""The most of a turn's sound with a detector's margins; more is the next sentence."""
LOUD = 800
"""The sample value (of 32,767) above which a sample is more than noise."""


class ScriptedHandler(Handler):
    """Follows one `ConnectionScript`."""

    def __init__(self, script: ConnectionScript) -> None:
        self._script = script
        self._taken = 0
        self._turn: TurnSpec | None = None
        self._answered = True
        self._results = 0
        self._heard_ms = self._given = 0  # of this turn, and words of it that were sent
        self._piece_ms = 0  # since the last commit
        self._joins = any(turn.hear.voiced_ms for turn in script.turns)
        self._voice_began = self._voice_at = self._voice_ended = 0.0  # since the last commit; last; before it
        self._chosen: dict[str, ScriptedReply] = {}
        self._first_asked_at = 0.0

    def feed(self, pcm: bytes) -> None:
        """Note when a voice sounds and for how long, if turns state their length of sound."""
        if self._joins and (loud := loud_ms(pcm)):
            self._piece_ms += loud
            self._voice_at = time.monotonic()
            self._voice_began = self._voice_began or self._voice_at

    def discard(self) -> None:
        """Forget the present segment."""
        self._piece_ms, self._voice_began = 0, 0.0

    def transcribe(self, item: Item) -> AsyncIterator[HearingPart]:
        """Take the next turn, or a further segment of this one, and return its words."""
        turn = self._turn if self._turn and self._goes_on(self._turn.hear) else self._take_turn()
        words = self._words_of_piece(turn.hear)
        self._voice_ended = self._voice_at
        self.discard()
        self._answered = False
        item.turn = self._taken
        return _hear(words)

    def _goes_on(self, hearing: HearingSpec) -> bool:
        """Return whether a segment belongs to the sentence before: it comes soon, and the sentence has room for it."""
        has_room = 0 < self._heard_ms + self._piece_ms <= MOST * hearing.voiced_ms
        return has_room and self._voice_began < self._voice_ended + GOES_ON_WITHIN_S

    def _words_of_piece(self, hearing: HearingSpec) -> str:
        """Return the words of a segment: all that were not given yet, or their share while more is to come."""
        if not hearing.voiced_ms:
            return hearing.text
        self._heard_ms += self._piece_ms
        words = words_of(hearing.text)
        is_whole = self._heard_ms >= WHOLE * hearing.voiced_ms
        upto = len(words) if is_whole else int(len(words) * self._heard_ms / hearing.voiced_ms)
        given, self._given = self._given, max(self._given, upto)
        return "".join(words[given:upto]).strip()

    def answer(self, order: Order) -> AsyncIterator[ReplyPart]:
        """Choose the reply, then make it."""
        reply = self._choose(order)
        self._chosen[order.response_id] = reply
        return self._play(order, reply)

    def lateness_s(self, order: Order) -> float:
        """Return the reply's `late_ms`, in seconds."""
        return self._chosen[order.response_id].late_ms / 1000

    # --- choosing -----------------------------------------------------------------------------------

    def _choose(self, order: Order) -> ScriptedReply:
        self._first_asked_at = self._first_asked_at or time.monotonic()
        if time.monotonic() < self._first_asked_at + self._script.mute_ms / 1000:
            self._take_typed(order)
            return ScriptedReply(hang=True)
        if reply := self._when_told(order):
            return reply
        special = self._script.purposes.get(order.purpose or "")
        if order.out_of_band or (special and order.purpose not in ("answer", "result")):
            return special or self._script.fallback  # a turn's own reply is for answers and results only
        if order.purpose == "notice":
            return ScriptedReply(text=notices_spoken(order.instructions, order.items))
        self._take_typed(order)
        turn = self._turn
        shown = order.items[-1].pictures if order.items else []
        if shown and not self._answered:
            self._answered = True
            return ScriptedReply(text=f"I have got {len(shown)} picture: {_described(shown[-1][1])}.")
        if turn and order.items and order.items[-1].type == RESULT:
            return self._after_results(turn) or special or self._script.fallback  # the newest item is a result
        if turn and turn.reply and not self._answered:
            self._answered = True  # each turn is answered once, however often a reply is asked for
            return turn.reply
        return special or self._script.fallback

    def _when_told(self, order: Order) -> ScriptedReply | None:
        """Return the reply for words of the instructions, or of messages typed since; it takes no turn."""
        typed = [item for item in order.items if item.role == "user" and not item.turn and item.kind == "input_text"]
        for words, reply in self._script.when_told.items():
            if words in order.instructions or any(words in item.words for item in typed):
                for item in typed:
                    item.turn = max(1, self._taken)
                return reply
        return None

    def _take_typed(self, order: Order) -> None:
        typed = [item for item in order.items if item.role == "user" and not item.turn]
        if typed:
            self._take_turn()
        for item in typed:
            item.turn = self._taken

    def _take_turn(self) -> TurnSpec:
        turns = self._script.turns
        at = self._taken % len(turns) if self._script.loop and turns else min(self._taken, len(turns) - 1)
        self._turn = turns[at] if turns else TurnSpec()
        self._taken += 1
        self._answered = False
        self._results = self._heard_ms = self._given = 0
        return self._turn

    def _after_results(self, turn: TurnSpec) -> ScriptedReply | None:
        self._results += 1
        return turn.after_results[min(self._results, len(turn.after_results)) - 1] if turn.after_results else None

    # --- playing ------------------------------------------------------------------------------------

    async def _play(self, order: Order, reply: ScriptedReply) -> AsyncIterator[ReplyPart]:
        if reply.hang:
            await _forever()
        yield Begin()
        for text in reply.garbled:
            yield SendText(text)
        await _wait(reply.first_audio_delay_ms)
        for number, message in enumerate([reply, *reply.messages]):
            if number:
                yield NextMessage()
                await _wait(message.first_audio_delay_ms)
            sound = sound_of(message)
            if message.text or sound.length_ms:
                async for part in _spoken(message, sound, text_only=order.modality == "text"):
                    yield part
        for call in reply.calls:
            yield Call(call.name, call.arguments)
        yield End(reply.status, dict(reply.status_details))


def loud_ms(pcm: bytes) -> int:
    """Return the milliseconds of 24 kHz PCM16 that are more than noise."""
    whole = len(pcm) - len(pcm) % FRAME_BYTES
    pieces = (memoryview(pcm)[at : at + FRAME_BYTES].cast("h") for at in range(0, whole, FRAME_BYTES))
    return FRAME_MS * sum(max(piece) > LOUD or min(piece) < -LOUD for piece in pieces)


async def _hear(words: str) -> AsyncIterator[HearingPart]:
    for piece in words_of(words):
        yield TranscriptGrew(piece)
    yield TranscriptDone(words)


async def _spoken(reply: ScriptedReply, sound: Sound, *, text_only: bool) -> AsyncIterator[ReplyPart]:
    """Yield chunks of sound with their share of the words before them, at the reply's pace."""
    words, given = words_of(reply.text), 0
    clock = asyncio.get_running_loop().time
    started = clock()
    for start in range(0, sound.length_ms, CHUNK_MS):
        due = started + start / 1000 / reply.pace if reply.pace else 0.0
        await asyncio.sleep(max(0.0, due - clock()))
        end = min(start + CHUNK_MS, sound.length_ms)
        share = -(-len(words) * end // sound.length_ms)
        for word in words[given:share]:
            yield Words(word)
        given = share
        if _reached(reply.drop_after_ms, start):
            yield Abort()
        if _reached(reply.expire_after_ms, start):
            yield Expire()
        if _reached(reply.stall_after_ms, start) or _reached(reply.drop_after_ms, start):
            await _forever()
        if not text_only:
            yield ReplySound(sound.between(start, end))
    for word in words[given:]:
        yield Words(word)


def _reached(limit_ms: int | None, now_ms: int) -> bool:
    return limit_ms is not None and now_ms >= limit_ms


def words_of(text: str) -> list[str]:
    """Return the text in pieces of a word each, spaces kept, so that the pieces join to the text."""
    pieces = text.split(" ")
    return [piece if number == 0 else " " + piece for number, piece in enumerate(pieces)] if text else []


def _described(url: str) -> str:
    import av  # slow to import, and needed for pictures only

    kind, encoded = picture_parts(url)
    with av.open(io.BytesIO(binascii.a2b_base64(encoded))) as picture:
        video = picture.streams.video[0]
    return f"a {kind.removeprefix('image/').upper()} of {video.width} by {video.height}"


async def _wait(ms: int) -> None:
    if ms:
        await asyncio.sleep(ms / 1000)


async def _forever() -> None:
    await asyncio.Event().wait()

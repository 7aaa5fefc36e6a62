"""Recognition, dialogue and synthesis together, with a test's engines, as a client sees them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from backend.extensions.local.dialogue.base import Part
from backend.extensions.local.engines import Engines
from backend.extensions.local.recognition.pooled import PooledRecognizer, PooledUtterance
from backend.extensions.local.speech_pool import SpeechPoolFailed
from backend.extensions.local.synthesis.jobs import Piece
from backend.extensions.local.synthesis.pooled import PooledSynthesizer
from backend.extensions.local.voice_session import GAP_S, SAID_ALONE, VoiceSession
from backend.realtime.items import Item
from backend.realtime.serving.effects import Listen, Order
from backend.realtime.serving.parts import (
    Begin,
    Call,
    End,
    ReplySound,
    TranscriptDone,
    TranscriptFailed,
    TranscriptGrew,
    Words,
)
from tests.realtime.talking import a_core, append, ask, tell

SECOND = bytes(48_000)


class HeardText(PooledUtterance):
    """An utterance; the test gives the partial transcripts and the end."""

    def __init__(self, partials: list[str], final: str | Exception) -> None:
        self.fed = b""
        self.expected: tuple[str, ...] = ()
        self.cancelled = False
        self._partials = partials
        self._final = final

    def feed(self, pcm: bytes) -> None:
        self.fed += pcm

    def expect(self, phrases: tuple[str, ...]) -> None:
        self.expected = phrases

    async def partials(self) -> AsyncIterator[str]:
        for partial in self._partials:
            yield partial

    async def finish(self) -> str:
        if isinstance(self._final, Exception):
            raise self._final
        return self._final

    log_probability = 0.0
    others: tuple[tuple[str, float], ...] = ()

    def cancel(self) -> None:
        self.cancelled = True


class Listener(PooledRecognizer):
    """Hands out the utterances of a test, one after another."""

    name = "test recognizer"

    def __init__(self, *utterances: HeardText) -> None:
        self._utterances = iter(utterances)

    def start(self) -> HeardText:
        return next(self._utterances)


class Speaker(PooledSynthesizer):
    """A hundred milliseconds of sound a word, three hundred of rest after a sentence."""

    name = "test voice"

    def __init__(self, *, fails: bool = False) -> None:
        self._fails = fails

    async def speak(self, sentence: str, speed: float = 1.0) -> AsyncGenerator[Piece]:
        if self._fails:
            raise SpeechPoolFailed("no voice")
        yield Piece(bytes(4800 * len(sentence.split())), pause_ms=300)


class Answering:
    """Says what a test gives; records its requests, and whether it was stopped."""

    name = "test dialogue"

    def __init__(self, *parts: Part, endless: bool = False) -> None:
        self.orders: list[Order] = []
        self.stopped = False
        self._parts = parts
        self._endless = endless

    def likeliest(self, heard: Sequence[tuple[str, float]]) -> str:
        return heard[-1][0]

    async def answer(self, order: Order) -> AsyncIterator[Part]:
        self.orders.append(order)
        try:
            for part in self._parts:
                yield part
            if self._endless:
                await asyncio.Event().wait()
        finally:
            self.stopped = True


def session(*utterances: HeardText, dialogue: Answering | None = None, speaker: Speaker | None = None) -> VoiceSession:
    return VoiceSession(Engines(Listener(*utterances), dialogue or Answering(), speaker or Speaker()))


async def test_words_come_while_the_caller_speaks_and_are_never_withdrawn() -> None:
    utterance = HeardText(["what", "what is", "what is the", "what was the weather", "what is the weather in"], "")
    heard = session(utterance)
    early = [part.delta async for part in heard.listen()]
    assert "".join(early) == "what is the weather"


async def test_punctuation_behind_the_last_word_may_still_change() -> None:
    heard = session(HeardText(["Hello. what", "Hello, what is the"], ""))
    assert "".join([part.delta async for part in heard.listen()]) == "Hello, what is"


async def test_the_rest_of_the_transcript_follows_the_commit() -> None:
    heard = session(HeardText(["what is the"], "What is the weather?"), HeardText(["what is the"], "what is the time"))
    early = [part async for part in heard.listen()]
    parts = [part async for part in heard.transcribe(Item("a", "message"))]
    assert early == [TranscriptGrew("what is")] and parts == [TranscriptDone("What is the weather?")]
    assert [part async for part in heard.listen()] == [TranscriptGrew("what is")]
    parts = [part async for part in heard.transcribe(Item("b", "message"))]
    assert parts == [TranscriptGrew(" the time"), TranscriptDone("what is the time")]


async def test_the_client_gets_the_transcript_that_the_dialogue_chose() -> None:
    utterance = HeardText([], "Show me my notice")
    utterance.others = (("Show me my notes", -0.5),)
    heard = session(utterance)
    heard.listen()
    parts = [part async for part in heard.transcribe(Item("a", "message"))]
    assert parts == [TranscriptGrew("Show me my notes"), TranscriptDone("Show me my notes")]


async def test_a_failed_recognition_is_reported_and_the_reply_goes_on() -> None:
    dialogue = Answering("Pardon?")
    heard = session(HeardText([], SpeechPoolFailed("gone")), dialogue=dialogue)
    heard.listen()
    core = a_core()
    append(core, SECOND)
    listens = [each for each in tell(core, "input_audio_buffer.commit") if isinstance(each, Listen)]
    assert isinstance(next(iter([part async for part in heard.transcribe(listens[0].item)])), TranscriptFailed)
    parts = [part async for part in heard.answer(ask(core))]
    assert parts[-1] == End() and any(isinstance(part, ReplySound) for part in parts)


async def test_sound_goes_to_the_utterance_and_a_cleared_one_is_cancelled() -> None:
    first, second = HeardText([], ""), HeardText([], "")
    heard = session(first, second)
    heard.listen()
    heard.feed(SECOND)
    heard.discard()
    heard.listen()
    heard.feed(SECOND[:2])
    assert (first.fed, first.cancelled, second.fed, second.cancelled) == (SECOND, True, bytes(2), False)


async def test_a_reply_waits_for_the_transcript_of_its_question() -> None:
    dialogue = Answering("Hello.")
    heard = session(HeardText([], "hi"), dialogue=dialogue)
    heard.listen()
    core = a_core()
    append(core, SECOND)
    [listen] = [each for each in tell(core, "input_audio_buffer.commit") if isinstance(each, Listen)]
    transcript = heard.transcribe(listen.item)
    parts = heard.answer(ask(core))
    assert await anext(parts) == Begin()
    waiting = asyncio.ensure_future(anext(parts))
    await asyncio.sleep(0.01)
    assert not waiting.done() and dialogue.orders == []
    assert [part async for part in transcript][-1] == TranscriptDone("hi")
    assert await waiting == Words("Hello. ")


async def test_sentences_are_spoken_with_rests_between_them_and_calls_follow() -> None:
    dialogue = Answering("One moment.", "There.", Call("route", "{}"))
    parts = [part async for part in session(dialogue=dialogue).answer(ask(a_core()))]
    assert parts == [
        Begin(),
        Words("One moment. "),
        *[ReplySound(bytes(4800))] * 2,
        Words("There. "),
        *[ReplySound(bytes(4800))] * (3 + 1),
        Call("route", "{}"),
        End(),
    ]


async def test_a_text_reply_is_not_spoken() -> None:
    parts = [
        part async for part in session(dialogue=Answering("Hi.")).answer(ask(a_core(), output_modalities=["text"]))
    ]
    assert parts == [Begin(), Words("Hi. "), End()]


async def test_closing_a_reply_stops_the_dialogue() -> None:
    dialogue = Answering("Well,", endless=True)
    parts = session(dialogue=dialogue).answer(ask(a_core()))
    [await anext(parts) for _ in range(3)]
    await parts.aclose()  # type: ignore[attr-defined]
    assert dialogue.stopped


async def test_a_voice_that_fails_ends_the_reply_as_failed() -> None:
    dialogue = Answering("Hello.")
    parts = [part async for part in session(dialogue=dialogue, speaker=Speaker(fails=True)).answer(ask(a_core()))]
    assert isinstance(parts[-1], End) and parts[-1].status == "failed"


async def test_a_word_during_a_reply_is_expected_to_be_a_murmur_until_the_client_has_cut_it() -> None:
    before, over, after = (HeardText([], "") for _ in range(3))
    listener = Listener(before, over, after)
    heard = VoiceSession(Engines(listener, Answering("Well, that is a long story."), Speaker()))
    heard.listen()
    heard.feed(SECOND)
    async for _part in heard.answer(ask(a_core())):
        pass
    heard.listen()
    heard.feed(SECOND)
    heard.silenced()
    heard.listen()
    heard.feed(SECOND)
    assert [each.expected for each in (before, over, after)] == [(), SAID_ALONE, ()]


async def test_silence_after_a_commit_does_not_change_the_expectation_for_the_next_voice() -> None:
    over, after = HeardText([], ""), HeardText([], "")
    heard = VoiceSession(Engines(Listener(over, after), Answering("A very " + "long " * 40 + "story."), Speaker()))
    heard.listen()
    heard.feed(bytes(960))  # before the reply
    async for _part in heard.answer(ask(a_core())):
        pass
    heard.feed(bytes(960))  # without a gap: still the same sound
    assert over.expected == ()
    await asyncio.sleep(GAP_S + 0.05)
    heard.feed(SECOND)
    assert over.expected == SAID_ALONE
    heard.listen()
    heard.feed(bytes(960))
    assert after.expected == SAID_ALONE
    heard.silenced()
    await asyncio.sleep(GAP_S + 0.05)
    heard.feed(SECOND)
    assert after.expected == ()

"""The plan of a run: calls, their scenes, and the scenes' clips. Written to a file, read by all processes."""

from enum import StrEnum

import msgspec

PAUSES_MS = (300, 600, 800, 1000)
FALSE_TURNS_S = 24.0
"""Seconds without a caller's voice in a scene that counts false turns."""


class Kind(StrEnum):
    """The subject of a scene."""

    PAUSE = "pause"
    DIGITS = "digits"
    CORRECTION = "correction"
    LIST = "list"
    QUESTION = "question"
    ANSWER = "answer"
    SENTENCE = "sentence"
    COMMAND = "command"
    INTERRUPTION = "interruption"
    BACKCHANNEL = "backchannel"
    NOISE = "noise"
    MUFFLED = "muffled aside"
    EQUAL = "equal aside"
    BABBLE = "babble"
    MUSIC = "music"
    OTHER_VOICE = "another voice"
    ROOM_ALONE = "babble alone"
    MUSIC_ALONE = "music alone"


FINISHED = (Kind.QUESTION, Kind.ANSWER)
"""Complete and short: quick answers are expected."""
TURNS = (Kind.PAUSE, Kind.DIGITS, Kind.CORRECTION, Kind.LIST, Kind.QUESTION, Kind.ANSWER, Kind.SENTENCE)
TAKES_FLOOR = (Kind.COMMAND, Kind.INTERRUPTION)
DURING_REPLY = (*TAKES_FLOOR, Kind.BACKCHANNEL, Kind.NOISE, Kind.MUFFLED, Kind.EQUAL)
IN_NOISE = (Kind.BABBLE, Kind.MUSIC)
NOBODY_CALLS = (Kind.OTHER_VOICE, Kind.ROOM_ALONE, Kind.MUSIC_ALONE)


class Spoken(msgspec.Struct, frozen=True):
    """One utterance before it is sound: pieces of text, and the pause in milliseconds after each but the last."""

    pieces: list[str]
    pauses_ms: list[int] = []
    drawn_out: list[float] = []
    """The factor by which the end of each piece but the last is lengthened."""


class ClipSpec(msgspec.Struct, frozen=True):
    """A clip before it is sound."""

    seed: int
    spoken: list[Spoken] = []
    noise: str = ""
    """cough, laugh, hum, hmm: instead of speech."""
    who: str = "caller"
    """caller, aside or other: the speaker of the words."""
    pace: float = 1.0
    """The speed, relative to the caller's usual."""
    muffled_hertz: float = 0.0
    quieter_db: float = 0.0
    room: str = ""
    """babble, music or talker: the sound of the room."""
    room_db: float = 0.0
    """The room's loudness, relative to the caller."""
    seconds: float = 0.0
    """The least length; a room sounds for so long."""


class Scene(msgspec.Struct, frozen=True):
    """One scene of a call."""

    number: int
    kind: Kind
    clips: list[ClipSpec]
    """The first clip; some scenes have a second one, said into the reply."""
    prompt: str = ""
    """How the reply before this scene ends."""
    reply_ms: int = 1500
    follow_ms: int = 1200
    """The length of the reply to the second clip."""
    after_s: float = 0.0
    """Seconds of the reply at which the second clip begins."""
    rest_s: float = 0.8
    """Silence before the scene."""
    tool: bool = False
    """The model calls `wait_for_user` for words to others."""
    label: str = ""
    """The decibels, or the noise."""


class Call(msgspec.Struct, frozen=True):
    """One caller's scenes, one after another."""

    number: int
    family: str
    voice: str
    speed: float
    pitch: int
    level_dbfs: float
    provider_ms: int
    scenes: list[Scene]
    same_sound_as: int = -1
    """The call with the same clips, for another provider; -1: its own."""


class Word(msgspec.Struct, frozen=True, array_like=True):
    """One word of a clip: the span of its sound, in seconds after the clip's beginning."""

    text: str
    begin: float
    end: float
    who: str


class Clip(msgspec.Struct, frozen=True):
    """Sound, as packets of 20 ms, in Opus or G.711; see `benchmarks.microphone.Speech`."""

    packets: list[bytes]
    settling: list[bytes]
    pause: list[bytes]
    words: list[Word]
    voiced: list[list[tuple[float, float]]]
    """For each clip: the span of each of its pieces."""


class Played(msgspec.Struct):
    """The record of a scene, in seconds on the steady clock."""

    scene: int
    began: float
    said: list[tuple[float, float]]
    """The times of the first and the last packet of each clip; fewer than the clips if no reply came."""
    ended: float = 0.0
    trouble: str = ""


class CallResult(msgspec.Struct):
    """A caller's record of a call."""

    number: int
    played: list[Played]
    at: list[float]
    packets: list[bytes]
    trouble: str = ""


class Reply(msgspec.Struct):
    """A reply as the provider saw it; moments on the steady clock."""

    id: str
    scene: int
    purpose: str
    tone: int
    asked: float
    words: list[str]
    """The call's words in its input, as scene.clip.number."""
    follows: list[str] = []
    """The model's own items in its input."""
    audio_ms: int = 0
    """Its length."""
    waits: bool = False
    """It only calls `wait_for_user`."""
    first_audio: float = 0.0
    done: float = 0.0
    status: str = ""
    tokens: int = 0
    """Input and output, as `response.done` says."""
    items: list[str] = []
    deleted: bool = False


class Commit(msgspec.Struct):
    """A piece of the caller's sound at the provider."""

    at: float
    audio_ms: int
    transcript: str


class ProviderLog(msgspec.Struct):
    """The provider's record of one call."""

    call: int
    replies: list[Reply] = []
    commits: list[Commit] = []
    errors: list[str] = []
    counts: dict[str, int] = {}

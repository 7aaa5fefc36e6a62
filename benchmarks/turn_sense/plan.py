"""What a run consists of: calls, their scenes, and the clips that are said in them. Written to a file, read by all."""

from __future__ import annotations

from enum import StrEnum

import msgspec

PAUSES_MS = (300, 600, 800, 1000)
FALSE_TURNS_S = 24.0
"""How long nobody calls in a scene that counts false turns."""


class Kind(StrEnum):
    """What a scene is about."""

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
    """One thing said, before it is sound: pieces of text, and the pause in milliseconds after each but the last."""

    pieces: list[str]
    pauses_ms: list[int] = []
    drawn_out: list[float] = []
    """How much the end of each piece but the last is lengthened; 1: not."""


class ClipSpec(msgspec.Struct, frozen=True):
    """A clip before it is sound."""

    seed: int
    spoken: list[Spoken] = []
    noise: str = ""
    """cough, laugh, hum, hmm: instead of speech."""
    who: str = "caller"
    """caller, aside or other: whose words these are."""
    pace: float = 1.0
    """How fast it is said, beside the caller's usual."""
    muffled_hertz: float = 0.0
    quieter_db: float = 0.0
    room: str = ""
    """babble, music or talker: what sounds all the time."""
    room_db: float = 0.0
    """How loud that is beside the caller."""
    seconds: float = 0.0
    """The least length; a room sounds for so long."""


class Scene(msgspec.Struct, frozen=True):
    """One happening of a call."""

    number: int
    kind: Kind
    clips: list[ClipSpec]
    """What opens it; for some a second one, said into the reply."""
    prompt: str = ""
    """How the reply before this scene ends."""
    reply_ms: int = 1500
    follow_ms: int = 1200
    """The length of the reply to the second clip."""
    after_s: float = 0.0
    """How long the reply has been heard when the second clip begins."""
    rest_s: float = 0.8
    """Silence before the scene."""
    tool: bool = False
    """The model calls `wait_for_user` for what is not said to it."""
    label: str = ""
    """How many decibels, or which noise."""


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
    """The call whose clips are said again, with another provider; -1: its own."""


class Word(msgspec.Struct, frozen=True, array_like=True):
    """One word of a clip: from when to when it sounds, in seconds after the clip's beginning."""

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
    """For each thing said: from when to when each of its pieces sounds."""


class Played(msgspec.Struct):
    """What happened in a scene, in seconds on the steady clock."""

    scene: int
    began: float
    said: list[tuple[float, float]]
    """When the first and the last packet of each clip left; fewer than the clips where no reply came."""
    ended: float = 0.0
    trouble: str = ""


class CallResult(msgspec.Struct):
    """What a caller brings home."""

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
    """What of the call's words its input holds, as scene.clip.number."""
    follows: list[str] = []
    """The model's own items that its input holds."""
    audio_ms: int = 0
    """How long it is."""
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
    """A piece of the caller's sound as the provider got it."""

    at: float
    audio_ms: int
    transcript: str


class ProviderLog(msgspec.Struct):
    """What the provider saw of one call."""

    call: int
    replies: list[Reply] = []
    commits: list[Commit] = []
    errors: list[str] = []
    counts: dict[str, int] = {}

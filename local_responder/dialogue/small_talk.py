"""Small talk: what the Responder answers itself, at once and briefly. Pure.

A kind is recognised by its pattern, or by being nearest to its examples among all that a sentence could be for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from local_responder.dialogue import wording
from local_responder.dialogue.routing import Specialist


class Talk(StrEnum):
    """What can be said that is no question for anybody; `OTHER` is a statement that calls for no facts."""

    NOTHING = "nothing"
    HOW_ARE_YOU = "how_are_you"
    WHO = "who"
    ABILITIES = "abilities"
    TIME = "time"
    DATE = "date"
    REPEAT = "repeat"
    JOKE = "joke"
    NO = "no"
    THANKS = "thanks"
    GOODBYE = "goodbye"
    STOP = "stop"
    YES = "yes"
    TOLD = "told"
    GREETING = "greeting"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind is recognised, and what is answered."""

    pattern: str = r"(?!)"
    examples: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


KINDS: dict[Talk, Kind] = {
    Talk.HOW_ARE_YOU: Kind(
        r"\bhow are you\b|\bhow do you do\b|\bhow's it going\b",
        (
            "How is life with you?",
            "How do you feel?",
            "How are things going?",
            "How are you feeling today?",
            "How have you been?",
            "How's your day?",
            "Are you well?",
            "What's up?",
        ),
        ("I am fine, thank you. What can I do for you?",),
    ),
    Talk.WHO: Kind(
        r"\b(?:who|what) are you\b|\bwho (?:made|built) you\b|\byour name\b|"
        r"\bare you (?:an? )?(?:real|human|robot|machine|ai|person)\b",
        (
            "Who am I talking to?",
            "Who is this?",
            "Who is speaking?",
            "With whom am I speaking?",
            "Do you have a name?",
            "What are you called?",
            "Are you a computer or a man?",
            "Are you alive?",
            "Am I talking to a machine?",
            "Who made you?",
        ),
        (
            "I am the local Responder of this server: recognition, a voice and a few rules, without a provider. "
            + wording.SMARTER,
        ),
    ),
    Talk.ABILITIES: Kind(
        r"\bwhat can you do\b|^(?:please )?help(?: me)?\W*$|\bcan you help(?: me)?\W*$|\bwhat do you know\W*$",
        (
            "What are you able to do?",
            "What can I say to you?",
            "Which questions can you answer?",
            "What are you good at?",
            "What do you do?",
            "How can you help me?",
            "What may I ask you?",
            "What else can you do?",
            "What are you for?",
            "What can I use you for?",
            "What topics do you know about?",
            "How does this work, what can I ask?",
            "Do you have any skills?",
        ),
    ),
    Talk.TIME: Kind(
        r"\bwhat time is it\b(?! in)|\bwhat(?:'s| is) the time\b(?! in)",
        ("Do you have the time?", "How late is it?", "Can you tell me the time?"),
    ),
    Talk.DATE: Kind(
        r"\bwhat day is (?:it|today)\b|\bwhat(?:'s| is) (?:the|today's) date\b",
        ("Which day is it today?", "What day of the week is it?", "Which date do we have?"),
    ),
    Talk.REPEAT: Kind(
        r"\bsay (?:that|it) again\b|\brepeat (?:that|it)\b|^(?:pardon|sorry)\W*$|\bwhat did you say\b",
        (
            "I did not hear that, once more please.",
            "Could you repeat what you said?",
            "Say it once more.",
            "Come again?",
            "I didn't get that.",
            "I didn't understand you.",
            "What was that?",
            "Once again, please.",
            "Can you say that more clearly?",
        ),
    ),
    Talk.JOKE: Kind(
        r"\bjoke\b",
        (
            "Make me laugh.",
            "Do you know anything funny?",
            "Say something silly.",
            "Entertain me.",
            "Tell a funny story.",
            "Cheer me up.",
            "Amuse me.",
            "I want to laugh.",
            "Do you know a good one?",
        ),
        ("Why did the packet cross the network? Because it was routed that way.",),
    ),
    Talk.NO: Kind(r"^no\b(?!.*\bwhat\b)|^nope\b", (), ("All right.",)),
    Talk.THANKS: Kind(
        r"\bthank(?:s| you)\b",
        (
            "That was great.",
            "Well done, you are brilliant.",
            "I appreciate it.",
            "Good job, very helpful.",
            "You're wonderful.",
            "That was useful.",
            "Perfect, that's what I needed.",
            "Cheers.",
            "Great, just what I wanted.",
            "I'm grateful.",
            "You are so kind.",
            "Nice work.",
            "That's good to know.",
        ),
        ("You are welcome.", "My pleasure."),
    ),
    Talk.GOODBYE: Kind(
        r"\b(?:good)?bye\b|\bsee you\b|\bhang up\b|\bgood ?night\b",
        (
            "I must leave you now.",
            "Talk to you later.",
            "That is all for today.",
            "Until next time.",
            "I have to go.",
            "I've got to go now.",
            "Take care.",
            "Have a nice day.",
            "That's everything.",
            "Let's end the call.",
            "I'm done here.",
            "I'm off.",
            "Later!",
            "Speak to you soon.",
        ),
        ("Goodbye! It was nice talking to you.",),
    ),
    Talk.STOP: Kind(
        r"^(?:please )?(?:stop|wait|quiet|be quiet|shut up|enough|hold on|never mind)\b"
        r"(?!.*\b(?:research|work|search))|"
        r"^(?:please )?cancel\b(?: that| it| please)*\W*$",
        (),
        ("Okay.",),
    ),
    Talk.YES: Kind(
        r"^(?:yes|yeah|yep|sure|okay|ok|right|of course)\b\W*(?:please)?\W*$",
        (),
        ("All right. What would you like to know?",),
    ),
    Talk.GREETING: Kind(
        r"^(?:hello|hi|hey|good (?:morning|afternoon|evening|day))\b(?:\W+(?:there|you|everyone))?\W*$|"
        r"\bare you (?:there|listening)\b|\bcan you hear me\b",
        (
            "Hello, pleased to meet you.",
            "Good to have you here.",
            "I am glad to talk to you.",
            "It's nice chatting with you.",
            "Lovely to hear your voice.",
            "Hello hello.",
            "Anybody there?",
            "Is anyone there?",
            "Are you still there?",
            "Do you hear me?",
            "Greetings.",
            "Hope you're having a good day.",
            "I hope you are well.",
            "Let's talk.",
        ),
        ("Hello! What would you like to know?", "Hello! How can I help?"),
    ),
    Talk.TOLD: Kind(
        r"^(?:my name is|my name's|i am called|call me|i live in|i'm from|i am from)\b(?!.*\bfrom now on\b)",
        (),
        ("Good to know. What can I do for you?",),
    ),
}
SPECIALISTS = tuple(Specialist(kind, examples=each.examples) for kind, each in KINDS.items() if each.examples)
"""The kinds, to be compared with those who may be asked."""
NOT_HEARD = ("I am sorry, I did not understand that. Please say it again, or type it.", "I did not catch that.")


def talk_of(plain: str) -> Talk | None:
    """Return the kind whose pattern fits a sentence in lower case."""
    return next((kind for kind, each in KINDS.items() if re.search(each.pattern, plain)), None)


def answer(kind: Talk, *, turn: int, now: datetime, last_said: str, specialists: Sequence[Specialist]) -> str:
    """Return the answer to small talk in the caller's turn number `turn`."""
    match kind:
        case Talk.TIME:
            return f"It is {now:%H:%M} where this server is."
        case Talk.DATE:
            return f"Today is {now:%A}, {now:%B} {now.day}."
        case Talk.REPEAT:
            return last_said or "I have not said anything yet."
        case Talk.NOTHING:
            return wording.pick(NOT_HEARD, turn)
        case Talk.ABILITIES:
            return abilities(specialists)
        case Talk.OTHER:
            return f"I am not sure what you would like. {abilities(specialists)} {wording.SMARTER}"
        case _:
            return wording.pick(KINDS[kind].answers, turn)


def abilities(specialists: Sequence[Specialist]) -> str:
    """Return what can be asked for, in one sentence: the names of those who may be asked, and an example."""
    names = [each.domain.replace("_", " ") for each in specialists if not each.takes_unknown]
    example = next((each.examples[0] for each in reversed(specialists) if each.examples), "")
    such_as = f", for example: {example}" if example else "."
    return f"You can ask me for {wording.joined(names, 'or')}{such_as}" if names else "I know a few facts by heart."

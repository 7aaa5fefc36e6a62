"""What the demonstration says: short spoken sentences. Pure; varied by the turn's number, not by chance."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime

from local_responder.dialogue.intents import Talk

ACKNOWLEDGEMENTS = ("Let me check.", "One moment, please.", "I will look that up.", "Let me see.")
FILLERS = ("I am still looking.", "Just a moment longer.", "Still working on it.")
NUDGES = ("Are you still there?", "Is there anything else you would like to know?")
GOODBYE = "I have not heard from you for a while, so I will hang up now. Goodbye!"
WHO_I_AM = (
    "I am the offline demonstration: a few simple rules with a synthetic voice, not an A I model. "
    "I understand some questions, such as the weather in a city or the price of a share."
)
PURPOSES: dict[str, Sequence[str]] = {
    "greeting": ("Hello! I am the offline demonstration. Ask me about the weather in a city.",),
    "filler": FILLERS,
    "nudge": NUDGES,
    "goodbye": (GOODBYE,),
}
TALK: dict[Talk, Sequence[str]] = {
    Talk.NOTHING: (
        "I am sorry, I did not understand that. Please say it again, or type it.",
        "I did not catch that. You can ask me, for example, what the weather is in Seattle.",
    ),
    Talk.GREETING: ("Hello! This is the offline demonstration. What would you like to know?", "Hello! How can I help?"),
    Talk.HOW_ARE_YOU: ("I am fine, thank you. What can I do for you?",),
    Talk.WHO: (WHO_I_AM,),
    Talk.ABILITIES: (
        "As the offline demonstration, I can look up the weather, share prices, the news and a few simple facts.",
    ),
    Talk.JOKE: ("Why did the packet cross the network? Because it was routed that way.",),
    Talk.THANKS: ("You are welcome.", "My pleasure."),
    Talk.GOODBYE: ("Goodbye! It was nice talking to you.",),
    Talk.YES: ("All right. What would you like to know?",),
    Talk.NO: ("All right.",),
    Talk.STOP: ("Okay.",),
    Talk.TOLD: ("Good to know. What can I do for you?",),
    Talk.OTHER: ("I see. I am only a demonstration, but you can ask me about the weather in a city.",),
}


def talk(kind: Talk, *, turn: int, now: datetime, last_said: str = "") -> str:
    """The answer to small talk in the caller's turn number `turn`."""
    match kind:
        case Talk.TIME:
            return f"It is {now:%H:%M} where this server is."
        case Talk.DATE:
            return f"Today is {now:%A}, {now:%B} {now.day}."
        case Talk.REPEAT:
            return last_said or "I have not said anything yet."
        case _:
            return pick(TALK[kind], turn)


def purpose(name: str, instructions: str, *, turn: int) -> str | None:
    """The words for a reply of a purpose, or None when it is not a special one.

    Instructions that dictate the words (`Say exactly this…: "…"`) are followed.
    """
    return (dictated(instructions) or pick(PURPOSES[name], turn)) if name in PURPOSES else None


def dictated(instructions: str) -> str:
    """The words of instructions that dictate them (`Say exactly this…: "…"`); '' for any others."""
    found = re.search(r"[Ss]ay exactly(?: this)?[^\"]*(\"(?:[^\"\\]|\\.)*\")\s*\.?\s*$", instructions)
    return str(json.loads(found[1])) if found else ""


def news(instructions: str, notes: Sequence[str]) -> str:
    """What the notes with these numbers say (`Tell the news 1 and 2.`), introduced; shortened when it is told again."""
    told = re.search(r"Tell the news (\d+(?: and \d+)*)\.(.*)", instructions, re.DOTALL)
    wanted = told[1].split(" and ") if told else []
    found = [note for note in notes if (begun := re.match(r"News (\d+) ", note)) and begun[1] in wanted]
    texts = [spoken(str(_note_text(note))) for note in found]
    if told and "once more" in told[2]:
        return "As I was saying: " + " ".join(sentences(text)[0] for text in texts if text)
    return "By the way: " + " And: ".join(texts) if texts else "There was some news, but I have lost it."


def _note_text(note: str) -> object:
    quoted = note.partition("\n")[2]
    try:
        return json.loads(quoted)
    except ValueError:
        return quoted


def acknowledgement(turn: int) -> str:
    """A few words while a Thinker works."""
    return pick(ACKNOWLEDGEMENTS, turn)


def result(outputs: Sequence[str]) -> str:
    """Function call outputs, put into words."""
    return " ".join(_result(output) for output in outputs) or "I have no answer to that."


YES_OR_NO = "Please say yes or no."


def question_of_consent(wish: str) -> str:
    """Asks whether to do what `wish` says."""
    wish = re.sub(r"^(?:yes\W+)?(?:please\s+)?", "", wish.strip(" .!?"), flags=re.IGNORECASE)
    return f"Shall I {wish[:1].lower()}{wish[1:]}? {YES_OR_NO}"


def consent(wish: str) -> str:
    """The same wish, agreed to."""
    return f"Yes, {wish[:1].lower()}{wish[1:]}"


def _result(output: str) -> str:
    try:
        data = json.loads(output)
    except ValueError:
        data = output
    if isinstance(data, str):
        return spoken(data)
    if not isinstance(data, dict):
        return "I have an answer, but I cannot put it into words."
    for key in ("answer", "result", "summary", "text", "message", "content"):
        if isinstance(data.get(key), str) and data[key].strip():
            return _labelled(spoken(data[key]), data)
    if "cancelled" in data:
        return "All right."
    return f"I am sorry, I could not find that out. {spoken(str(data['error']))}" if data.get("error") else "Done."


def _labelled(words: str, data: dict[str, object]) -> str:
    """A sample is called a sample, whatever the words say."""
    is_sample = data.get("source") == "sample" or data.get("sample") is True
    return words if not is_sample or "sample" in words.lower() else f"This is sample data: {words}"


def spoken(text: str) -> str:
    """Text without what cannot be spoken: markup, links, bullets."""
    text = re.sub(r"```.*?```", " ", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"https?://\S+", "a link", text)
    text = re.sub(r"^\s*(?:[-*•]|\d+[.)]|#+)\s+", "", text, flags=re.MULTILINE)
    text = re.sub(r"[*_`#>|]+", "", text)
    return re.sub(r"\s+", " ", text).strip()


def sentences(text: str) -> list[str]:
    """The text sentence by sentence, so that speaking can begin with the first."""
    return [part for part in re.split(r"(?<=[.!?])\s+", text.strip()) if part]


def pick(choices: Sequence[str], turn: int) -> str:
    """Another choice each turn, in order."""
    return choices[turn % len(choices)]

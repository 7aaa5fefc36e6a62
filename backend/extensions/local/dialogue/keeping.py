"""What is to be remembered, told again, forgotten or held to from now on: found in a sentence by rules. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from backend.extensions.local.dialogue import wording

MEMORY, PROMPT, MODE = "memory", "manage_prompt", "get_personality"
"""The tools that keep it."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """Which tool is to do what, and with what; `about` is empty for everything, or for what was said last."""

    tool: str
    action: str
    about: str = ""


_ELSEWHERE = (
    r"(?!my name\b)(?!.*\b(?:research|tasks?|search|calendar|meetings?|appointments?|schedule|reminders?|notes?|"
    r"shares?|stocks?|questions?|body|bmi|blood|pressure|creatinine)\b)"
)
"""What other specialists keep, or the conversation tells."""
_RULES: tuple[tuple[str, str, str], ...] = (
    (PROMPT, "delete", r"(?:forget|delete|drop|remove|cancel|stop following) (?:(?:my|the|that|this|your|last|all) )*"
                       r"(?:standing )?(?:instruction|rule)s?(?:[\s:]+(?:(?:about|to|that) )?(?P<about>.+))?"),
    (PROMPT, "list", r"(?:what|which|list|tell|show)\b.*\b(?:standing|my) instructions\b.*"),
    (MODE, "", r"(?:what(?:'s| is)|describe|tell me about) your (?:personality|mode|manner|character)\b.*|"
               r"(?:which|what) (?:mode|personality)\b.*"),
    (PROMPT, "add", r"(?:from now on|from here on|in future)[\s,]+(?P<about>.+)"),
    (PROMPT, "add", r"(?P<about>(?!what|why|how|who|when|where)\w.+?)[\s,]+from now on"),
    (PROMPT, "add", r"(?P<about>(?:always|never) (?:answer|speak|reply|respond|call|talk|use|say|begin|start|end|be|"
                    r"keep|give|tell|address|mention)\b.+)"),
    (MEMORY, "create", r"(?P<about>.+?)[,.]? (?:please )?(?:remember|keep) (?:that|this|it)(?: in mind)?"),
    (MEMORY, "create", r"(?:remember|keep in mind|don't forget|do not forget|you should know)"
                       r"(?:(?:\s+this)?\s*[:,]|\s+that)?\s+"
                       r"(?P<about>(?!(?:to|me|when|what|where|who|how|why|if|this|that|it|us)\b|my name$).+)"),
    (MEMORY, "search", r"(?:what (?:do|can) you (?:know|remember|tell me) (?:about|of)|do you (?:know|remember)|"
                       rf"(?:what|who|where|when)(?:'s| is| are| was)) {_ELSEWHERE}(?:the \w+ of )?"
                       r"(?P<about>(?:me|my|our|us)\b.*)"),
    (MEMORY, "search", r"what (?:do you remember|did i tell you|have i told you)(?: (?:about|of) (?P<about>.+))?"),
    (MEMORY, "delete", r"forget (?:that|it|this|about (?:that|it)|what i (?:just )?(?:said|told you))"),
    (MEMORY, "delete", r"forget (?:what|all|everything) (?:that )?(?:you know|i (?:have )?(?:told|said to) you) "
                       r"about (?P<about>.+)"),
    (MEMORY, "delete", rf"forget {_ELSEWHERE}(?:about |that )?(?P<about>(?:my|our|i|i'm)\b.+)"),
)  # fmt: skip


def keeping(sentence: str) -> Keeping | None:
    """What a sentence wants of the memory, if anything."""
    plain = wording.without_courtesies(sentence)
    for tool, action, pattern in _RULES:
        if found := re.fullmatch(pattern, plain, re.IGNORECASE):
            about = (found.groupdict().get("about") or "").strip()
            if about.lower() in ("me", "us", "myself", "") and action == "search":
                return Keeping(tool, "list")
            return Keeping(tool, action, about)
    return None


def whole(sentence: str, before: Sequence[str]) -> str:
    """A "Forget that." with what was said before put in, so that it can be understood by itself; else the sentence.

    `before` is what its speaker said, oldest first.
    """
    if keeping(sentence) != Keeping(MEMORY, "delete"):
        return sentence
    for earlier in map(keeping, reversed(before)):
        match earlier:
            case Keeping("memory", "create" | "search", about):
                return f"Forget what you know about {about}."
            case Keeping("manage_prompt", "add", about):
                return f"Forget my instruction: {about}."
    return sentence

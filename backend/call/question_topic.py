"""The topic of a question, for a sentence that begins with "About …:". Pure; English."""

from __future__ import annotations

import re

MAX_WORDS = 12
"""Longer topics are cut: who hears one remembers what was asked."""
_COURTESY = re.compile(
    r"^\W*(?:(?:please|hey|hi|hello|okay|ok|so|and|well|also|now)\W+)*"
    r"(?:(?:can|could|would|will) you (?:please )?|i(?:'d| would) like (?:you )?to (?:know (?:about )?)?|"
    r"i want (?:you )?to (?:know (?:about )?)?|i need (?:you )?to |let me know |do you know |please )*",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"(?:(?:do|run|make) (?:a |an |some |me )*(?:\w+ )?(?:research|search|study|report|overview|analysis)"
    r"|research|investigate|look (?:up|into|for)|find out|find|search(?: the (?:web|internet|news))?|check|tell me"
    r"|give me|get me|show me|explain|summari[sz]e|describe|compare|read me|analy[sz]e|write)\b"
    r"(?: (?:about|on|into|for|of|to me))?\s*",
    re.IGNORECASE,
)
_WHAT_IS = re.compile(
    r"(?:what(?:'s| is| are| was| were)|how(?:'s| is| are)|who(?:'s| is| was)|where(?:'s| is| are))\s+", re.IGNORECASE
)
_WHAT_ABOUT = re.compile(r"(?:what|how) about\s+", re.IGNORECASE)
_VERB_AT_END = re.compile(r"\s+(?:like|doing|going|looking)$", re.IGNORECASE)
_CLAUSE = re.compile(
    r"(?:what|how|who|where|when|why|which|is|are|was|were|do|does|did|can|could|should|will|would|has|have)\b",
    re.IGNORECASE,
)


def topic_of(question: str) -> str:
    """Return what a question is about: "Research electric cars." → "electric cars".

    One that names no thing is quoted: "Should I buy gold?" → 'your question "Should I buy gold"'.
    """
    words = " ".join(question.split()).rstrip(" .?!")
    words = re.sub(r"[, ]+please$", "", words, flags=re.IGNORECASE)
    asked = _COURTESY.sub("", words, count=1)
    for lead in (_WHAT_ABOUT, _ORDER, _WHAT_IS):
        if (found := lead.match(asked)) and (rest := asked[found.end() :].strip()):
            return _short(_VERB_AT_END.sub("", rest) if lead is _WHAT_IS else rest)
    return f'your question "{_short(asked)}"' if _CLAUSE.match(asked) else _short(asked) or "your question"


def _short(topic: str) -> str:
    words = topic.strip(" ,;:").split()
    return " ".join(words[:MAX_WORDS])

"""The happenings of the gauntlet, a row of the table each."""

import asyncio
from typing import Any

from benchmarks.gauntlet.cells import QUESTION, GauntletCall, Happening

BEGUN, ANSWER, FILLER = 440, 880, 660
"""The pitches of words before the answer, of the answer, and of remarks in between, in Hz."""
ONE = {ANSWER: 600}
BOTH = {ANSWER: 600, BEGUN: 8000}
"""The sounds that must be heard once, and for how many milliseconds at most."""
ANSWERED: dict[str, Any] = {"text": "It is sunny.", "tone": {"hz": ANSWER, "ms": 600}}
PREAMBLE: dict[str, Any] = {"text": "Let me see.", "tone": {"hz": BEGUN, "ms": 600}}
STORY: dict[str, Any] = {"text": "It was a dark night. " * 6, "tone": {"hz": BEGUN, "ms": 8000}, "pace": 1}
LIMIT = {"type": "rate_limit_error", "code": "rate_limit_exceeded", "message": "Please try again in 6s."}
GARBLED = [
    "{",
    "[]",
    "null",
    '{"type": 5}',
    '{"type": "no.such.event", "event_id": "e1"}',
    '{"type": "response.created", "response": 5}',
    '{"type": "response.output_audio.delta", "response_id": 1, "delta": {}}',
    '{"type": "response.output_audio.delta", "response_id": "other", "item_id": "x", "delta": "AAAA"}',
    '{"type": "response.audio.delta", "response_id": "other", "item_id": "x", "delta": "@@@"}',
    '{"type": "response.done", "response": {"output": 5}}',
    '{"type": "response.done", "response": {"id": "other", "status": "completed"}}',
    '{"type": "error", "error": null}',
    '{"type": "rate_limits.updated", "rate_limits": [5]}',
    '{"serverContent": 5}',
    '{"serverContent": {"modelTurn": {"parts": [{"inlineData": {"data": "@@@"}}]}}}',
    '{"toolCall": {"functionCalls": [{"name": "x"}]}}',
    '{"usageMetadata": "many"}',
]
"""Messages outside of every protocol, and some that one of them would half understand."""
AT_WORK = "A specialist is still at work"
"""The form of a filler's request, also where a request has no purpose."""
NO_REASON = dict.fromkeys(("gemini", "gpt_live"), "its replies do not say that they broke off")
NO_DOMAIN = {"gpt_live": "its delegations do not say to which Thinker"}


def ask_almanac(*seconds: int) -> list[dict[str, Any]]:
    """Parallel calls of the slow Thinker."""
    return [{"name": "route_to_thinker", "arguments": {"domain": "almanac", "query": str(each)}} for each in seconds]


def script(reply: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A connection that gives this reply to the question, and the answer to all other requests."""
    turns = [{"hear": QUESTION, "reply": each, "after_results": [ANSWERED]} for each in (reply, ANSWERED)]
    filler = {"text": "Still looking.", "tone": {"hz": FILLER, "ms": 400}}
    return {"turns": turns, "fallback": ANSWERED, "when_told": {AT_WORK: filler}, **more}


REST = script(ANSWERED)
"""The script of every later connection."""


HANGS: dict[str, Any] = {"turns": [{"hear": QUESTION, "reply": {"hang": True}}], "fallback": {"hang": True}}
"""A connection on which no answer ever comes, in however many segments the question is heard."""


async def asks(line: GauntletCall) -> None:
    """Ask, and get an answer."""
    await line.ask()
    await line.hears(ANSWER)


async def asks_again_after_the_silence(line: GauntletCall) -> None:
    """Ask; hear about the failure; ask again when the provider speaks again."""
    await line.ask()
    silent_until = asyncio.get_running_loop().time() + line.away_s
    await line.hears_apology()
    await asyncio.sleep(max(0.0, silent_until - asyncio.get_running_loop().time()))
    await asks(line)


async def hears_the_provider_die(line: GauntletCall) -> None:
    """Ask; the provider is killed in the middle of its answer, and started again."""
    await line.ask()
    await line.hears(BEGUN)
    await asyncio.sleep(1.5)
    line.peer.kill()
    await line.comes_back()
    await line.hears(ANSWER)


async def loses_the_provider_while_a_thinker_works(line: GauntletCall) -> None:
    """Ask; the provider is killed while a Thinker works for it, and does not know the call when it is back."""
    await line.ask()
    await line.call.event("thinker", 20, event="working")
    line.peer.kill()
    await asyncio.gather(line.comes_back(), line.hears(ANSWER))


async def waits_for_the_provider(line: GauntletCall) -> None:
    """Ask; the provider goes before it answers, and answers when it is back."""
    await line.ask()
    await line.is_heard()
    await asyncio.gather(line.outage(), line.hears(ANSWER, line.away_s + 30))


async def asks_while_the_provider_is_away(line: GauntletCall) -> None:
    """Ask while no provider listens, and once more after the request to repeat."""

    async def ask() -> None:
        await line.call.event("responder_changed", 20, state="lost")
        await line.ask()
        await line.hears_apology(line.away_s + 30)

    await asyncio.gather(line.outage(), ask())
    await asks(line)


HAPPENINGS = (
    Happening("a plain answer", REST, asks, ONE),
    Happening(
        "silence for 20 s",
        REST,
        asks_again_after_the_silence,
        ONE,
        away_s=20,
        short_s=10,
        mute=True,
    ),
    Happening("silence in mid-word", script(STORY | {"stall_after_ms": 1000}), asks, BOTH),
    Happening("the connection breaks in mid-word", script(STORY | {"drop_after_ms": 1500}), asks, BOTH),
    Happening("the session expires in mid-word", script(STORY | {"expire_after_ms": 1500}), asks, BOTH),
    Happening(
        "a rate limit of 6 s",
        script({"status": "failed", "status_details": {"error": LIMIT}}),
        asks,
        ONE,
        cannot=dict.fromkeys(("gemini", "gpt_live"), "it names no rate limit of a reply"),
    ),
    Happening("malformed events", script(ANSWERED | {"garbled": GARBLED}), asks, ONE),
    Happening(
        "a promise without action",
        script({"text": "Let me look that up.", "tone": {"hz": BEGUN, "ms": 800}}),
        asks,
        BOTH,
    ),
    Happening(
        "two messages in one reply",
        script(PREAMBLE | {"messages": [ANSWERED | {"first_audio_delay_ms": 1500}]}),
        asks,
        BOTH,
        cannot=dict.fromkeys(("gemini", "gpt_live"), "its replies are of one piece"),
    ),
    Happening("parallel tool calls", script({"calls": ask_almanac(1, 3)}), asks, ONE, cannot=NO_DOMAIN),
    Happening(
        "a preamble, then a slow tool", script(PREAMBLE | {"calls": ask_almanac(6)}), asks, BOTH, cannot=NO_DOMAIN
    ),
    Happening(
        "a Thinker's progress and its result",
        script({"calls": ask_almanac(8)}),
        asks,
        ONE,
        also=(FILLER,),
        cannot=NO_DOMAIN,
    ),
    Happening("fails before it sounds", script({"status": "failed"}), asks, ONE, cannot=NO_REASON),
    Happening(
        "fails after it sounds",
        script(PREAMBLE | {"text": "It is", "status": "failed", "status_details": {"error": {"code": "server_error"}}}),
        asks,
        BOTH,
        cannot=NO_REASON,
    ),
    Happening(
        "incomplete after it sounds",
        script(PREAMBLE | {"text": "It is", "status": "incomplete", "status_details": {"reason": "max_output_tokens"}}),
        asks,
        BOTH,
        cannot=NO_REASON,
    ),
    Happening("killed in mid-word", script(STORY), hears_the_provider_die, BOTH, alone=True, short_s=1),
    Happening(
        "killed while a Thinker works",
        script({"calls": ask_almanac(4)}),
        loses_the_provider_while_a_thinker_works,
        ONE,
        alone=True,
        cannot=NO_DOMAIN,
    ),
    Happening(
        "refused for 8 s, an answer owed",
        HANGS,
        waits_for_the_provider,
        ONE,
        alone=True,
        away_s=8,
        short_s=4,
    ),
    Happening("refused for 8 s, asked meanwhile", REST, asks_while_the_provider_is_away, ONE, alone=True, away_s=8),
    Happening(
        "refused for 60 s, an answer owed",
        HANGS,
        waits_for_the_provider,
        ONE,
        alone=True,
        away_s=60,
    ),
)

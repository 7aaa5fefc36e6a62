"""Consent by voice: real WebRTC calls, a scripted Responder, and a model that acts in every turn.

The caller is asked in one call and answers in another of the same conversation.
"""

import asyncio
from typing import Any

import pytest

from backend.extensions.github.stand_in import REPO, TOKEN, GitHub, seeded
from backend.testing.services.server import serving
from backend.tools.confirmations import HEARD_AFTER_S
from tests.support.offline_peer import offline_peer
from tests.support.running_server import PlacedCall, a_browser, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

TITLE = "The gate is stuck"
CREATE = {"name": "github_issue", "arguments": {"action": "create", "title": TITLE, "text": "Since Monday."}}
ROUTE = {
    "name": "route_to_thinker",
    "arguments": {"domain": "engineering", "query": "Open an issue that the gate is stuck."},
}
ORDER, NO, ELSE, YES, THANKS = (
    "please open an issue that the gate is stuck",
    "no do not do that",
    "why is the sky blue",
    "yes",
    "thank you very much",
)

pytestmark = [pytest.mark.realtime, pytest.mark.slow, pytest.mark.timeout(240)]


def script_of(*utterances: str) -> dict[str, Any]:
    """A connection on which every turn routes the same order to the Thinker again."""
    reply = {"text": "Shall I open it?", "tone": {"hz": 440, "ms": 300}}
    return {"turns": [{"hear": words, "reply": {"calls": [ROUTE]}, "after_results": [reply]} for words in utterances]}


SCRIPT = {"connections": [script_of(ORDER, NO), script_of(ELSE, ELSE, YES, THANKS)], "chat": [{"calls": [CREATE]}]}
"""The chat model acts again each time it has to ask first, until the agent stops it.

In the second call, the earlier words take a turn of the script, together with the first one.
"""


async def turn(call: PlacedCall, words: str) -> None:
    """Say something, and hear the reply to its end."""
    worked = done(call)
    await call.say(silence(200) + speech(words))
    await call.event("transcript", within_s=15, role="user", content=words)
    await until(lambda: done(call) > worked, 30)
    await call.hears_nothing_for(0.5)
    await asyncio.sleep(HEARD_AFTER_S)  # a question is answered once it was heard


def done(call: PlacedCall) -> int:
    """How often a Thinker has come to an end."""
    return sum(each["event"] in ("complete", "failed") for each in call.events_of("thinker"))


def posted(hub: GitHub) -> int:
    return sum(issue["title"] == TITLE for issue in hub.issues.values())


async def test_only_a_spoken_yes_after_the_question_has_the_act_done_once() -> None:
    hub = seeded()
    async with offline_peer(SCRIPT) as peer, serving(hub.answering) as github:
        settings = {"GITHUB__TOKEN": TOKEN, "GITHUB__REPO": REPO, "GITHUB__BASE_URL": github.url}
        settings |= {"ROUTER__ABOVE": "0", "IDLE_NUDGE_S": "0"}
        with running_server(peer, **settings) as server:
            async with a_browser(server) as browser, placed_call(server, browser=browser) as asking:
                await turn(asking, ORDER)
                await asking.event("confirmation.asked", tool="github_issue")
                await turn(asking, NO)
                assert [each["agreed"] for each in asking.events_of("confirmation.answered")] == [False]
                conversation = asking.ticket.conversation_id
                async with placed_call(server, browser=browser, conversation=conversation) as answering:
                    await turn(answering, ELSE)
                    assert posted(hub) == 0
                    await turn(answering, YES)
                    assert posted(hub) == 1
                    await turn(answering, THANKS)
                    assert posted(hub) == 1

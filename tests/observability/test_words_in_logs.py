"""No word of a user is in the logs of a server at INFO, whatever was said, and whatever failed."""

import asyncio
import re
from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest

from backend.testing.services.server import Reply, Request, json_reply, serving
from backend.testing.services.services import every_service, pointing_at
from tests.support.running_server import RunningServer, a_browser, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

TYPED = ("Remind me in two seconds to feed the wombat.", "Make a note to phone the plumber.", "My name is Nick.")
SPOKEN = "what's the weather in seattle"
TASK, INPUT, SEARCHED = "Explain how glaciers move.", "The parcel has arrived.", "sister"
OURS = {
    *("assistant", "from", "knowledge", "memory", "model", "news", "note", "open", "reason", "research"),
    *("stock", "stocks", "tasks", "think", "weather", "what", "with"),
}
"""Words that users say and that our own messages have."""


def words_in(*texts: str) -> set[str]:
    """Return the words of four letters or more."""
    return {word for text in texts for word in re.findall(r"[a-z]{4,}", text.lower())}


def failing(status: int) -> Reply:
    """Return a refusal that repeats what was asked, as some services do."""
    return json_reply({"error": {"message": TYPED[0] + SPOKEN + TASK, "type": "error", "code": None}}, status)


def broken(request: Request) -> Reply:
    """Answer as a service or a model that refuses every other request and fails at the rest."""
    return failing(400 if len(request.body + request.path.encode()) % 2 else 500)


async def tour(server: RunningServer) -> list[str]:
    """Say and type to a server all that one can, and return it."""
    async with a_browser(server) as browser:
        browser.timeout = httpx2.Timeout(60)
        thinkers = (await browser.get("/api/config")).json()["thinkers"]
        typed = [*(each["example"] for each in thinkers), *TYPED]
        for words in typed:
            await browser.post("/api/multiturn", json={"message": words, "conversation_id": "tour"})
        await browser.post("/api/tasks", json={"instruction": TASK})
        await browser.post("/api/input", json={"text": INPUT})
        await browser.post("/api/reasoning", json={"task": TASK})
        await browser.get("/api/conversations", params={"q": SEARCHED})
        async with placed_call(server, browser=browser, within_s=30) as call:
            await call.say(silence(300) + await asyncio.to_thread(speech, SPOKEN) + silence(300))
            await until(lambda: bool(call.events_of("transcript_done")), 30)
            address = f"/api/sessions/{call.ticket.session_id}/messages"
            await browser.post(
                address, json={"text": typed[0]}, headers={"authorization": f"Bearer {call.ticket.token}"}
            )
            await until(lambda: bool(call.events_of("notice")), 60)
            heard = [str(said["content"]) for said in call.events_of("transcript") if said["role"] == "user"]
    return [*typed, *heard, TASK, INPUT, SEARCHED, SPOKEN]


@pytest.mark.document("002", "logs and databases")
@pytest.mark.slow
@pytest.mark.parametrize("works", [True, False])
async def test_no_word_is_in_the_log_of_a_server_that_was_told_everything(works: bool) -> None:
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(serving(every_service if works else broken))
        settings: dict[str, Any] = {name.upper(): value for name, value in pointing_at(services.url).items()}
        if not works:
            settings |= {"LOCAL_MODEL_URL": services.url, "LOCAL_MODEL": "llama3.2", "MODEL_ATTEMPTS": "2"}
        settings |= {"OFFLINE_URL": "", "CHAT_TURNS_PER_MINUTE": "0", "COORDINATOR__MAX_RESULT_WAIT_S": "1"}
        with running_server(options=("--log-level", "info"), **settings) as server:
            said = await tour(server)
            written = "".join((server.folder / name).read_text() for name in ("stderr.log", "security.log"))
    assert "thinker_start" in written and ("HTTP Request: GET http://" in written) == bool(services.requests)
    assert words_in(*said) & words_in(written) <= OURS, written

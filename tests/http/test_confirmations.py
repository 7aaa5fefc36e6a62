"""The page and the export show what a caller is asked to agree to."""

from pathlib import Path
from typing import Any

import httpx2

from tests.http.test_identity import user_of
from tests.http.world import place_call, world
from tests.support.consent import confirmations, tool_context

ACT = {"action": "create", "title": "The gate is stuck", "text": ""}
SHOWN = {"conversation_id": "c1", "tool": "github_issue", "arguments": {"action": "create", "title": ACT["title"]}}


async def test_an_open_confirmation_is_shown_and_exported_with_its_tool_call(tmp_path: Path) -> None:
    asked = confirmations(lambda: 1_000.0)
    services: dict[str, Any] = {"confirmations": asked, "user_data": {"confirmations": asked}}
    async with world(tmp_path, services_with=services) as here, here.browser() as browser:
        session_id = (await place_call(browser))["session_id"]
        _, id_ = await asked.ask(tool_context(user_of(here, session_id), "c1"), "github_issue", ACT)
        shown = [SHOWN | {"id": id_, "expires_at": 1_300.0}]
        assert await answered(browser, "/api/confirmations") == {"confirmations": shown}
        assert await answered(browser, "/api/me/export") == {"confirmations": shown}


async def answered(browser: httpx2.AsyncClient, path: str) -> Any:
    """Return the JSON of the server's answer."""
    return (await browser.get(path)).json()

"""The page in the user's language: all visible text comes from the language file, with numbers and dates."""

import re
from typing import Any, get_args

import pytest
from playwright.async_api import Browser, Route

from backend.page_events import Problem
from tests.support.browser import Tab, tab_in
from tests.support.page import FRONTEND
from tests.support.standin import SESSION, StandIn, refusal, standing_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

UNTRANSLATED = """() => {
  const servers = ".words, .chip, code, h1, title, noscript, script, .log .row, .facts, dd, option";
  const words = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement, data } = walker.currentNode;
    if (parentElement.closest(servers)) continue;
    words.push(data);
  }
  for (const element of document.querySelectorAll("[aria-label], [title], [placeholder]")) {
    if (element.closest(servers)) continue;
    words.push(...["aria-label", "title", "placeholder"].map((name) => element.getAttribute(name) ?? ""));
  }
  return words.map((each) => each.trim()).filter((each) => /[A-Za-z]{3}/.test(each) && !each.includes("⟦"));
}"""
"""Returns visible text outside of the marked texts, except names and words from the server."""


SAID_IN_GERMAN: dict[Problem, str] = {
    "call_failed": "Der Anruf endete wegen eines Fehlers im Server.",
    "no_reply": "Die Antwort ist fehlgeschlagen.",
    "reply_too_long": "Die Antwort ist zu lang.",
    "responder_complained": "Der Sprachdienst meldet ein Problem.",
    "responder_lost": "Die Verbindung zum Sprachdienst ist abgebrochen.",
    "responder_gone": "Der Sprachdienst antwortet nicht.",
}


async def marked(route: Route) -> None:
    """Serve the English texts with each form in brackets."""
    english = (FRONTEND / "texts" / "en.js").read_text()
    body = re.sub(r'(": |(?:one|other): )"([^"\n]*)"', r'\1"⟦\2⟧"', english)
    await route.fulfill(body=body, content_type="text/javascript")


def call(server: StandIn) -> None:
    """Publish a call with an event of every kind."""
    server.publish("session_started", session_id=SESSION, responder="R", model="m", offline=True, transport="webrtc")
    thinker: dict[str, Any] = {
        "call_id": "c1",
        "domain": "weather",
        "label": "⟦Weather⟧",
        "query": "⟦Seattle⟧",
        "turn": 1,
    }
    server.publish("transcript", role="user", item_id="u1", content="Is it raining?")
    server.publish("thinker", **thinker, event="routed", elapsed_ms=0)
    server.publish("thinker", **thinker, event="complete", elapsed_ms=1600, source="sample")
    server.publish("transcript_interrupted", item_id="a1", heard="It", content="It rains.")
    server.publish("murmur", kind="noise", words="")
    server.publish("turn_metrics", turn=1, hangover_ms=300, commit_ms=5, reply_started_ms=20, first_audio_ms=60,
                played_ms=15, first_sound_ms=400, first_token_ms=40, wait_ms=1270, reason="eager",
                segments=2)  # fmt: skip
    server.publish("task", task_id="t1", event="queued", kind="⟦research⟧", instruction="⟦x⟧", detail="")
    server.publish("notice", id="n1", kind="result", text="⟦done⟧", state="waiting")


async def test_all_visible_text_comes_from_the_language_file(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        await tab.page.route("**/texts/en.js", marked)
        await tab.page.goto(f"{server.url}/?raw=1")
        await tab.sees("state", "⟦Ready to talk⟧")
        for panel in ("open-drawer", "open-devices"):
            await tab.press(panel)
        assert await tab.page.evaluate(UNTRANSLATED) == []
        await tab.press("open-settings")
        await tab.page.get_by_test_id("settings-theme").wait_for()
        assert await tab.page.evaluate(UNTRANSLATED) == []
        await tab.page.keyboard.press("Escape")
        await tab.press("connect")
        await tab.sees("state", "⟦Connected⟧")
        call(server)
        await tab.sees("metrics-total", "400 ms")
        await tab.sees("notices", "Waiting")
        assert await tab.page.evaluate(UNTRANSLATED) == []
        server.publish("session_ended", reason="idle")
        await tab.sees("notice", "⟦The call ended because nobody spoke for a while.⟧")
        assert await tab.page.evaluate(UNTRANSLATED) == []


@pytest.mark.parametrize(
    ("language", "shown", "state", "time", "asked"),
    [
        ("de-AT", "de", "Bereit zum Gespräch", "1,6 s", "Antworten sollen sofort kommen"),
        ("es-MX", "es", "Todo listo para hablar", "1.6 s", "las respuestas deben llegar enseguida"),
        ("fr-FR", "fr", "Prêt à parler", "1,6 s", "les réponses doivent venir tout de suite"),
        ("ja-JP", "ja", "準備ができました", "1.6 秒", "すぐに答える設定"),
        ("nl-NL", "en", "Ready to talk", "1.6 s", "answers should come at once"),
    ],
)
async def test_the_page_uses_the_language_of_the_browser(
    browser: Browser, language: str, shown: str, state: str, time: str, asked: str
) -> None:
    async with standing_in() as server, tab_in(browser, language=language) as tab:
        loaded: list[str] = []
        tab.page.on("request", lambda request: loaded.append(request.url))
        await tab.page.goto(f"{server.url}/?raw=1")
        await tab.sees("state", state)
        assert await tab.page.evaluate("document.documentElement.lang") == shown
        assert [url.rsplit("/", 1)[1] for url in loaded if "/texts/" in url] == [f"{shown}.js"], (
            "more than one language was loaded"
        )
        await begin(tab)
        call(server)
        await tab.sees("thinkers", time)
        await tab.sees("turn-pauses", asked)


async def test_problems_are_shown_in_the_language_of_the_page(browser: Browser) -> None:
    said = {"message": "Something in English.", "hint": "More in English."}
    async with standing_in() as server, tab_in(browser, language="de-DE", complaints="expected") as tab:
        server.offer_refusal = refusal(422, said["message"], said["hint"])
        await tab.page.goto(f"{server.url}/?raw=1")
        await tab.press("connect")
        await tab.sees("notice", "Der Server konnte nicht antworten.")
        assert "English" not in await tab.page.get_by_test_id("notice").inner_text()
        await begin(tab, "way-retry")
        for problem in get_args(Problem):
            server.publish("error", **said, problem=problem)
            await tab.sees("notice", SAID_IN_GERMAN[problem])
            hint_is_theirs = problem == "responder_complained"  # the provider words this hint
            assert ("Something in English" in await tab.page.get_by_test_id("notice").inner_text()) is hint_is_theirs
            await tab.press("way-dismiss")
        server.publish("error", **said)
        await tab.sees("notice", said["message"])
        await tab.sees("notice", said["hint"])


async def begin(tab: Tab, by: str = "connect") -> None:
    await tab.press(by)
    await tab.page.locator("body[data-phase=connected]").wait_for()

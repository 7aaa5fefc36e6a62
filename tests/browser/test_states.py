"""Each state of a call on the page, against a stand-in for the server."""

import json
from array import array
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.support.browser import ELSEWHERE, WHOLE, Tab, launched, tab_in
from tests.support.page import page_on_stand_in
from tests.support.standin import CONVERSATION, StandIn, refusal, standing_in
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

HURRY = """(() => {
  const wait = window.setTimeout;
  let shortened = false;
  window.setTimeout = (run, ms, ...rest) => {
    const first = ms === 8000 && !shortened;
    shortened ||= first;
    return wait(run, first ? 250 : ms, ...rest);
  };
})();"""
"""Shortens the eight seconds that the first connection may take, for tests in which it never succeeds."""
NO_UDP = """(() => {
  const answer = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function (description) {
    const lost = description.sdp.replace(/a=candidate.*\\r\\n/g, "");
    return answer.call(this, { type: description.type, sdp: lost });
  };
})();"""
"""Hides the addresses of server and browser from each other, as a strict firewall does."""
LOUD = "() => Number(document.querySelector('[data-testid=level-out] [role=meter]').ariaValueNow) > 30"
SILENT = "() => Number(document.querySelector('[data-testid=level-out] [role=meter]').ariaValueNow) === 0"


def thinker(server: StandIn, event: str, **more: Any) -> None:
    known = {"call_id": "c1", "domain": "weather", "label": "Weather", "query": "Seattle", "elapsed_ms": 900}
    server.publish("thinker", **(known | {"event": event} | more))


# --- without UDP ---------------------------------------------------------------------------------------


async def test_a_call_without_udp_falls_back_to_a_websocket(browser: Browser) -> None:
    async with page_on_stand_in(browser, HURRY, NO_UDP) as (tab, server):
        await tab.press("connect")
        await until(lambda: len(server.sockets) == 1, 30)
        await tab.sees("state", "Connected")
        assert server.offers[-1]["conversation_id"] == CONVERSATION
        server.publish(
            "session_started", session_id="s", responder="r", model="m", offline=False, transport="websocket"
        )
        await tab.sees("state", "Connected, over a WebSocket")


async def test_a_websocket_call_carries_both_voices_and_a_flush_silences_the_reply(browser: Browser) -> None:
    async with page_on_stand_in(browser, address="/?raw=1&transport=websocket") as (tab, server):
        await tab.connect()
        [call] = server.sockets
        await until(lambda: len(call.pieces) > 75, 30)
        assert {len(piece) for piece in call.pieces} == {960}
        assert max(abs(sample) for sample in array("h", b"".join(call.pieces))) > 1000, "no beeps"
        await call.speak(20_000)
        await tab.page.wait_for_function(LOUD)
        await call.flush()
        await tab.page.wait_for_function(SILENT, timeout=15_000)
        await tab.press("connect")
        await tab.sees("state", "Call ended")
        await until(lambda: {"type": "bye"} in call.messages)


async def test_a_broken_websocket_is_opened_again(browser: Browser) -> None:
    async with page_on_stand_in(browser, address="/?raw=1&transport=websocket", complaints="expected") as (tab, server):
        await tab.connect()
        await server.sockets[0].drop()
        await tab.sees("entry-note", "Reconnected")
        assert len(server.sockets) == 2


async def test_a_call_without_any_connection_shows_an_error(browser: Browser) -> None:
    no_socket = "window.WebSocket = class extends EventTarget { static OPEN = 1; readyState = 0; close() {} };"
    async with page_on_stand_in(browser, HURRY, NO_UDP, no_socket) as (tab, _):
        await tab.press("connect")
        await tab.sees("notice", "The audio connection could not be established.")
        await tab.sees("state", "Not connected")


# --- lost connections ----------------------------------------------------------------------------------


async def test_a_lost_call_retries_a_full_server_until_it_is_back(browser: Browser) -> None:
    async with page_on_stand_in(browser, complaints="expected") as (tab, server):
        await tab.connect()
        server.offer_refusal = refusal(429, "All lines are busy.", retry_after="1")
        server.publish("session_ended", reason="shutdown")
        await tab.sees("notice", "The connection was lost.")
        await tab.sees("state", "Reconnecting, attempt 2")
        await tab.sees("entry-note", "Reconnected")
        assert not await tab.page.get_by_test_id("notice").is_visible()


async def test_a_lost_call_waits_for_the_network_and_can_be_given_up(browser: Browser) -> None:
    async with page_on_stand_in(browser, complaints="expected") as (tab, server):
        await tab.connect()
        server.publish("transcript", role="user", item_id="u1", content="Are you there?")
        await tab.sees("entry-user", "Are you there?")
        await tab.page.context.set_offline(True)
        server.publish("session_ended", reason="network_lost")
        await tab.sees("notice", "This device is offline.")
        await tab.page.context.set_offline(False)
        await tab.sees("state", "Connected")
        await tab.page.route("**/api/rtc/offer", lambda route: route.abort())
        server.publish("session_ended", reason="network_lost")
        await tab.sees("notice", "Reconnecting now")
        await tab.press("way-stop")
        await tab.sees("state", "Not connected")
        await tab.sees("entry-user", "Are you there?")


async def test_an_ended_call_can_be_continued(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    server.publish("transcript", role="user", item_id="u1", content="One more thing.")
    await tab.sees("entry-user", "One more thing.")
    assert not await tab.page.get_by_test_id("new-conversation").is_visible()
    await tab.press("connect")
    await tab.sees("connect", "Continue")
    await tab.connect()
    await tab.sees("entry-user", "One more thing.")
    await tab.press("connect")
    await tab.sees("state", "Call ended")
    await tab.press("new-conversation")
    await tab.sees("connect", "Start talking")
    await expect(tab.page.get_by_test_id("entry-user")).to_have_count(0)
    assert not await tab.page.get_by_test_id("summary").is_visible()
    await tab.connect()
    sent = [offer.get("conversation_id") for offer in server.offers]
    assert sent == [None, CONVERSATION, None]


# --- speaking ------------------------------------------------------------------------------------------

HEARD = "() => testPeers.at(-1).getSenders()[0].track.enabled"


async def test_push_to_talk_sends_sound_only_while_space_or_the_button_is_held(tab: Tab, server: StandIn) -> None:
    await tab.press("open-devices")
    await tab.page.get_by_test_id("push-to-talk").check()
    await tab.page.keyboard.press("Escape")
    await tab.connect()
    server.publish("floor", floor="listening")
    await tab.sees("floor", "Hold the space bar")
    assert await tab.page.evaluate(HEARD) is False
    await tab.page.evaluate("document.activeElement.blur()")
    await tab.page.keyboard.down("Space")
    assert await tab.page.evaluate(HEARD) is True
    await tab.page.keyboard.up("Space")
    assert await tab.page.evaluate(HEARD) is False
    await tab.page.get_by_test_id("composer-text").press("Space")
    await expect(tab.page.get_by_test_id("composer-text")).to_have_value(" ")
    assert await tab.page.evaluate(HEARD) is False
    await tab.page.get_by_test_id("hold").hover()
    await tab.page.mouse.down()
    assert await tab.page.evaluate(HEARD) is True
    await tab.page.mouse.up()
    assert await tab.page.evaluate(HEARD) is False


async def test_the_speaker_can_be_chosen_and_is_remembered() -> None:
    async with launched(program=WHOLE) as browser, page_on_stand_in(browser) as (tab, server):
        await tab.press("open-devices")
        await tab.page.get_by_test_id("speaker").select_option(label="Fake Audio Output 2")
        await tab.page.wait_for_function("() => document.querySelector('audio').sinkId !== ''")
        chosen = await tab.page.evaluate("document.querySelector('audio').sinkId")
        await tab.page.goto(server.url + "/?raw=1")
        await tab.page.wait_for_function("(id) => document.querySelector('audio').sinkId === id", arg=chosen)


async def test_interruptions_can_be_switched_by_keyboard_and_follow_the_server(
    tab: Tab,
    server: StandIn,
) -> None:
    await tab.connect()
    await tab.press("open-settings")
    box = tab.page.get_by_label("Let me interrupt")
    await expect(box).to_be_checked()
    await box.focus()
    await tab.page.keyboard.press("Space")
    await until(lambda: server.interruptions == [False])
    server.publish("floor", floor="assistant")
    await tab.sees("floor", "Speaking — interruptions are off")
    assert not await box.is_checked()
    server.publish("interruptions", allowed=True)
    await tab.page.wait_for_function("() => document.querySelector('[data-testid=interruptions]').checked")
    await expect(tab.page.get_by_test_id("floor")).to_have_text("Speaking")


async def test_a_switch_returns_if_the_server_refuses_it(browser: Browser) -> None:
    async with page_on_stand_in(browser, complaints="expected") as (tab, server):
        await tab.connect()
        server.typing_refusal = refusal(422, "This session has no live call.")
        await tab.press("open-settings")
        await tab.page.get_by_test_id("interruptions").click()
        await tab.sees("notice", "This session has no live call.")
        await expect(tab.page.get_by_test_id("interruptions")).to_be_checked()


async def test_a_pause_is_shown_as_the_turn_of_the_caller(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    for floor, words in (("listening", "Listening"), ("user", "I hear you"), ("pausing", "I hear you")):
        server.publish("floor", floor=floor)
        await tab.page.locator(f"[data-testid=presence][data-floor={floor}]").wait_for()
        await tab.sees("floor", words)


async def test_a_murmur_is_a_line_and_not_a_message(browser: Browser) -> None:
    async with page_on_stand_in(browser, size=(320, 640)) as (tab, server):
        await tab.connect()
        server.publish("transcript_delta", role="assistant", item_id="a1", delta="Paris is the capital ")
        server.publish("murmur", kind="agreement", words="mm-hmm")
        server.publish("murmur", kind="noise", words="")
        server.publish("transcript_delta", role="assistant", item_id="a1", delta="of France.")
        server.publish("transcript", role="user", item_id="u2", content="Thanks.")
        await tab.sees("entry-user", "Thanks.")
        assert await tab.transcript() == [
            ("assistant", "live", "Paris is the capital of France."),
            ("murmur", "final", "Mm-hmm"),
            ("murmur", "final", "A cough or laugh"),
            ("user", "final", "Thanks."),
        ]
        await tab.sees("entry-murmur", "the assistant kept talking")
        assert await tab.page.evaluate("document.documentElement.scrollWidth") <= 320


# --- Thinkers ------------------------------------------------------------------------------------------


async def test_the_card_of_a_thinker_shows_its_tools_and_can_cancel_it(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    thinker(server, "routed")
    thinker(server, "working", detail="looking it up", tool={"id": "t1", "name": "get_weather", "event": "started"})
    await tab.sees("thinker", "get_weather")
    await tab.sees("thinker", "looking it up")
    await tab.page.get_by_role("button", name="Cancel: Weather").click()
    await until(lambda: server.asked == [("c1", "cancel")])
    thinker(server, "cancelled")
    await tab.sees("thinker", "Cancelled")
    assert not await tab.page.get_by_test_id("thinker-ask").is_visible()


async def test_a_late_answer_can_be_asked_for_on_the_page(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    thinker(server, "stale", source="cache")
    await tab.sees("thinker", "Answered late")
    await tab.page.get_by_role("button", name="Say it now: Weather").click()
    await until(lambda: server.asked == [("c1", "say")])
    thinker(server, "complete", source="cache", citations=[
        {"title": "https://www.example.org/a?b=c", "url": "https://www.example.org/a?b=c"},
        {"title": "Some Book, 1971", "url": ""},
    ])  # fmt: skip
    server.publish("transcript", role="assistant", item_id="a1", content="It rains.")
    await tab.sees("entry-assistant", "Weather")
    await expect(tab.page.locator("[data-testid=entry-assistant] .source")).to_have_text("from cache")
    link = tab.page.locator("[data-testid=entry-assistant] a")
    assert await link.evaluate("(a) => [a.href, a.rel, a.textContent]") == [
        "https://www.example.org/a?b=c",
        "noopener noreferrer",
        "example.org",
    ]


async def test_say_it_now_asks_only_once(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    thinker(server, "stale", source="live")
    button = tab.page.get_by_test_id("thinker-ask")
    await button.dblclick()
    await tab.sees("thinker-ask", "In a moment…")
    await tab.page.keyboard.press("Enter")
    await expect(button).to_be_disabled()
    thinker(server, "complete", source="live")
    await tab.page.locator("[data-testid=thinker][data-state=complete]").wait_for()
    await button.wait_for(state="hidden")
    assert server.asked == [("c1", "say")]


async def test_a_citation_without_a_web_address_is_not_a_link(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    thinker(server, "complete", source="live", citations=[
        {"title": "<b>bold</b>", "url": "javascript:alert(1)"}, {"title": "<b>bold</b>", "url": ""},
    ])  # fmt: skip
    server.publish("transcript", role="assistant", item_id="a1", content="It rains.")
    await tab.sees("entry-assistant", "<b>bold</b>")
    await expect(tab.page.locator(".citation[href], .citation b")).to_have_count(0)


# --- after the call ------------------------------------------------------------------------------------


async def recorded_call(tab: Tab, server: StandIn) -> None:
    """Publish a short call of two turns, one of them interrupted."""
    await tab.connect()
    server.publish("transcript", role="user", item_id="u1", content="Weather in Seattle?")
    thinker(server, "routed")
    thinker(server, "complete", source="sample", citations=[{"title": "A page", "url": "https://example.org/"}])
    server.publish("turn_metrics", turn=1, first_sound_ms=400)
    server.publish("answer_metrics", turn=1, answer_ms=1000)
    server.publish("transcript_interrupted", item_id="a1", heard="It rains", content="It rains all day.")
    server.publish("transcript", role="user", item_id="u2", content="Stop.")
    server.publish("turn_metrics", turn=2, first_sound_ms=600)
    await tab.sees("transcript", "Stop.")


async def test_an_ended_call_shows_a_summary(tab: Tab, server: StandIn) -> None:
    await recorded_call(tab, server)
    await tab.press("connect")
    await tab.sees("summary", "Your call")
    facts = await tab.page.locator("[data-testid=summary] .fact").all_inner_texts()
    assert [fact.replace("\n", " ") for fact in facts][1:] == [
        "Your turns 2",
        "Thinkers asked Weather",
        "Median time to first sound 500 ms",
        "Median time to the answer 1.0 s",
        "Interruptions 1",
    ]


async def test_the_conversation_can_be_copied_and_saved(tab: Tab, server: StandIn, tmp_path: Path) -> None:
    await tab.page.context.grant_permissions(["clipboard-read", "clipboard-write", "microphone"])
    await recorded_call(tab, server)
    await tab.press("copy")
    await tab.sees("copy", "Copied")
    copied = await tab.page.evaluate("navigator.clipboard.readText()")
    assert "**You:** Weather in Seattle?\n" in copied
    assert "**Assistant:** It rains ~~all day.~~" in copied
    assert "*Weather · sample data · A page (https://example.org/)*" in copied
    async with tab.page.expect_download() as downloading:
        await tab.press("save-json")
    file = tmp_path / "saved.json"
    await (await downloading.value).save_as(file)
    messages = json.loads(file.read_text())["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert (messages[1]["interrupted"], messages[1]["heard"]) == (True, "It rains")
    assert messages[1]["answers"] == [
        {"domain": "weather", "source": "sample", "citations": [{"title": "A page", "url": "https://example.org/"}]}
    ]


async def test_turns_are_announced_when_they_end(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    server.publish("transcript_delta", role="assistant", item_id="a1", delta="It is")
    server.publish("floor", floor="assistant")
    await tab.sees("entry-assistant", "It is")
    await expect(tab.page.get_by_test_id("announcer")).to_have_text("")
    server.publish("transcript", role="assistant", item_id="a1", content="It is raining.")
    announced = "(words) => document.querySelector('[data-testid=announcer]').textContent === words"
    await tab.page.wait_for_function(announced, arg="Assistant: It is raining.")
    thinker(server, "failed", error="Nobody answers.")
    await tab.page.wait_for_function(announced, arg="Weather failed.")


# --- narrow windows ------------------------------------------------------------------------------------


async def test_a_phone_opens_the_thinkers_with_one_press_and_closes_them_with_escape(browser: Browser) -> None:
    async with page_on_stand_in(browser, size=(360, 740)) as (tab, server):
        await tab.connect()
        thinker(server, "working")
        await tab.sees("side-badge", "1")
        await tab.sees("thinking", "Thinking: Weather")
        assert not await tab.page.get_by_test_id("thinker").is_visible()
        await tab.press("open-side")
        await tab.sees("thinker", "Seattle")
        await tab.page.get_by_test_id("thinker-ask").focus()
        await tab.page.keyboard.press("Escape")
        assert not await tab.page.get_by_test_id("thinker").is_visible()
        assert await tab.page.evaluate("document.activeElement.dataset.testid") == "open-side"
        thinker(server, "complete", source="live")
        await tab.sees("thinking", "Answered: Weather")


# --- tasks and notices ---------------------------------------------------------------------------------


async def test_tasks_of_a_newer_server_are_counted_as_unreadable(tab: Tab, server: StandIn) -> None:
    server.unreadable_tasks = 1
    await tab.connect()
    server.publish("session_started", session_id="s", responder="r", model="m", offline=False)
    await tab.sees("unreadable", "One task cannot be shown: a newer version of the server wrote it.")
    server.unreadable_tasks = 0
    server.publish("task", event="queued", task_id="t1", kind="research", instruction="Compare heat pumps")
    await tab.press("task-cancel")
    await tab.sees("task", "Cancelled")
    await tab.page.get_by_test_id("unreadable").wait_for(state="hidden")


async def test_a_background_task_shows_its_progress_and_can_be_cancelled(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    known = {"task_id": "t1", "kind": "research", "instruction": "Compare heat pumps"}
    server.publish("task", event="running", **known)
    server.publish("task", event="progress", detail="reading 3 sources", **known)
    await tab.sees("task", "reading 3 sources")
    await tab.page.get_by_role("button", name="Cancel: Compare heat pumps").click()
    await until(lambda: server.cancelled_tasks == ["t1"])
    await tab.sees("task", "Cancelled")
    assert not await tab.page.get_by_test_id("task-cancel").is_visible()


async def test_notices_are_listed_with_their_state(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    server.publish("notice", id="n1", kind="result", text="Heat pumps win.", source="t1", state="waiting")
    await tab.sees("notice-item", "Waiting")
    server.publish("notice", id="n1", kind="result", text="Heat pumps win.", source="t1", state="told")
    await tab.page.locator("[data-testid=notice-item][data-state=told]").wait_for()
    await expect(tab.page.get_by_test_id("notice-item")).to_have_count(1)


# --- a provider that refuses ---------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["responder_refused", "responder_gone"])
async def test_only_a_local_caller_sees_advice_for_the_operator(browser: Browser, reason: str) -> None:
    async with standing_in() as server:
        notices = []
        for url in (server.url, server.url.replace("127.0.0.1", ELSEWHERE)):
            async with tab_in(browser, complaints="expected") as tab:
                await tab.open(url)
                await tab.page.get_by_test_id("composer-text").fill("Hello")
                await tab.page.keyboard.press("Enter")
                await tab.sees("state", "Connected")
                server.publish("session_ended", reason=reason)
                await tab.sees("state", "Not connected")
                notices.append(await tab.text("notice"))
    assert "responder-thinker doctor" in notices[0] and "provider" in notices[0]
    assert "doctor" not in notices[1] and ".env" not in notices[1] and "again" in notices[1]

"""The page against a stand-in for the server: calls, texts, failures, and resumed events."""

import asyncio

import pytest
from playwright.async_api import Browser, Route, expect
from starlette.responses import Response

from tests.support.browser import WHOLE, Tab, launched, tab_in
from tests.support.page import page_on_stand_in
from tests.support.standin import CONFIG, CONVERSATION, SESSION, TOKEN, StandIn, refusal, standing_in
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
LOUD = 1e-4
HERE = "On this machine: local Responder"


def begin(server: StandIn) -> None:
    """Publish the first events of every session."""
    server.publish(
        "session_started",
        session_id=SESSION,
        responder="Offline demonstration",
        model="demonstration",
        offline=True,
        hearing="ten",
        transport="webrtc",
    )
    server.publish("floor", floor="listening")


async def sends(tab: Tab, more_than: float) -> None:
    """Wait until more packets than this have gone to the server."""

    async def has_sent() -> bool:
        return (await tab.heard()).counters["packetsSent"] > more_than

    await until(has_sent, 30)


async def test_a_button_pressed_before_the_page_is_wired_acts_once_it_is(browser: Browser, server: StandIn) -> None:
    async with tab_in(browser) as tab:

        async def slowly(route: Route) -> None:
            await asyncio.sleep(1)
            await route.continue_()

        await tab.page.route("**/texts/en.js", slowly)
        await tab.page.goto(server.url, wait_until="commit")
        await tab.press("open-settings")
        await tab.page.get_by_test_id("settings").wait_for()


# --- calls ---------------------------------------------------------------------------------------------


async def test_a_call_carries_sound_both_ways_until_the_button_is_pressed_again(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    await tab.loud_within(30, LOUD)
    await sends(tab, 20)
    await tab.page.wait_for_function(
        "() => Number(document.querySelector('[data-testid=level-out] [role=meter]').ariaValueNow) > 20"
    )
    await tab.press("connect")
    await tab.sees("state", "Call ended")
    await until(lambda: server.disconnects == [{"session_id": SESSION, "token": TOKEN}])
    live = await tab.page.evaluate("testPeers[0].getSenders().map((sender) => sender.track.readyState)")
    assert live == ["ended"]
    await tab.connect()


async def test_the_offer_has_no_candidates_and_no_fingerprint_by_default(tab: Tab, server: StandIn) -> None:
    await expect(tab.page.get_by_test_id("recognise-field")).to_be_hidden()
    await tab.connect()
    assert "a=candidate" not in server.offers[0]["sdp"]
    assert "fingerprint" not in server.offers[0]


async def agreeing(server: StandIn, tab: Tab) -> None:
    """Open the page of a server that asks for fingerprints, and agree."""
    server.config = CONFIG | {"fingerprint": True}
    await tab.open(server.url)
    await tab.page.get_by_test_id("open-devices").click()
    assert not await tab.page.get_by_test_id("recognise").is_checked()
    await tab.page.get_by_test_id("recognise").check()
    await tab.page.keyboard.press("Escape")


async def test_the_offer_has_a_fingerprint_after_the_user_agreed(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        await agreeing(server, tab)
        await tab.connect()
        assert len(bytes.fromhex(server.offers[0]["fingerprint"])) == 32


async def test_the_offer_has_no_fingerprint_if_the_browser_refuses_it(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        await tab.page.add_init_script("HTMLCanvasElement.prototype.toDataURL = () => { throw new Error('no'); };")
        await agreeing(server, tab)
        await tab.connect()
        assert "fingerprint" not in server.offers[0]


async def test_closing_the_page_hangs_up(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    await tab.page.goto("about:blank")
    await until(lambda: server.disconnects == [{"session_id": SESSION, "token": TOKEN}])


async def test_a_call_can_be_cancelled_while_it_connects(tab: Tab, server: StandIn) -> None:
    await tab.page.evaluate("""() => {
        const button = document.querySelector("[data-testid=connect]");
        button.click();
        setTimeout(() => button.click());
    }""")
    await tab.sees("state", "Call ended")
    await tab.connect()
    assert len(server.offers) == 1


async def test_muting_sends_silence_and_keeps_the_connection(tab: Tab) -> None:
    await tab.connect()
    await tab.press("mute")
    await tab.sees("state", "Connected, muted")
    energy = """async () => [...(await testPeers[0].getStats()).values()]
        .find((report) => report.type === "media-source").totalAudioEnergy"""
    sent = (await tab.heard()).counters["packetsSent"]

    async def is_silent() -> bool:
        before = await tab.page.evaluate(energy)
        await asyncio.sleep(1.2)  # the fake microphone beeps every second
        return bool(await tab.page.evaluate(energy) - before < 1e-4)

    await until(is_silent, 30)  # earlier sound passes slowly through a busy browser
    await sends(tab, sent)


async def test_another_microphone_can_be_chosen_during_the_call(tab: Tab) -> None:
    await tab.connect()
    track = "() => testPeers[0].getSenders()[0].track.label"
    before = await tab.page.evaluate(track)
    await tab.press("open-devices")
    await tab.page.get_by_test_id("microphone").select_option(label="Fake Audio Input 2")
    await tab.page.wait_for_function("() => testPeers[0].getSenders()[0].track.label === 'Fake Audio Input 2'")
    assert before != "Fake Audio Input 2"


async def test_audio_processing_is_on_unless_the_address_asks_for_raw_audio(browser: Browser) -> None:
    settings = """() => { const s = testPeers[0].getSenders()[0].track.getSettings();
        return [s.echoCancellation, s.noiseSuppression, s.autoGainControl]; }"""
    async with standing_in() as server, tab_in(browser) as tab:
        for raw in (False, True):
            await tab.open(server.url, raw=raw)
            await tab.connect()
            assert await tab.page.evaluate(settings) == [not raw] * 3


async def test_an_unplugged_microphone_is_reported_and_the_connection_stays(tab: Tab) -> None:
    await tab.connect()
    await tab.page.evaluate("testPeers[0].getSenders()[0].track.dispatchEvent(new Event('ended'))")
    await tab.sees("notice", "The microphone was disconnected.")
    await tab.sees("state", "Connected, without a microphone")
    await sends(tab, (await tab.heard()).counters["packetsSent"] + 10)


# --- texts ---------------------------------------------------------------------------------------------


async def test_the_conversation_is_shown_during_the_call(tab: Tab, server: StandIn) -> None:
    await expect(tab.page.get_by_test_id("offline-banner")).to_have_text(HERE)
    await tab.connect()
    begin(server)
    server.publish("floor", floor="assistant")
    server.publish("transcript_done", role="assistant", item_id="a1", content="It rains all day.")
    server.publish("transcript_interrupted", item_id="a1", heard="It rains", content="It rains all day.")
    server.publish("thinker", call_id="c1", event="complete", domain="weather", label="Weather",
                query="Seattle", elapsed_ms=1840, source="sample")  # fmt: skip
    server.publish("turn_metrics", turn=1, hangover_ms=300, commit_ms=5, reply_started_ms=20,
                first_audio_ms=60, played_ms=15, first_sound_ms=400)  # fmt: skip
    await tab.sees("floor", "Speaking")
    await tab.sees("metrics-total", "400 ms")
    card = await tab.text("thinker")
    assert all(words in card for words in ("Weather", "Answered", "Seattle", "1.8 s", "sample data"))
    assert await tab.transcript() == [("assistant", "interrupted", "It rains all day.")]
    await expect(tab.page.locator("[data-testid=transcript] s")).to_have_text(" all day.")


async def test_the_banner_names_the_parts_that_are_still_loading(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        assert isinstance(server.config, dict)
        settled = server.config
        server.config = settled | {"loading": ["speech recognition", "speech synthesis"]}
        await tab.open(server.url)
        await tab.sees("offline-banner", "warming up: speech recognition, speech synthesis")
        await tab.sees("connect", "Start talking")
        server.config = settled | {"loading": ["speech recognition"]}
        await tab.page.get_by_text(f"{HERE} · warming up: speech recognition", exact=True).wait_for()
        server.config = settled
        await tab.page.get_by_text(HERE, exact=True).wait_for()


async def test_typed_words_and_examples_reach_the_conversation(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    await tab.page.get_by_test_id("composer-text").fill("Tell me about Paris.")
    await tab.page.get_by_test_id("composer-text").press("Enter")
    await tab.sees("entry-user", "Tell me about Paris.")
    await tab.page.get_by_role("button", name="What's the weather in Seattle?").click()
    await until(lambda: server.typed == ["Tell me about Paris.", "What's the weather in Seattle?"])


@pytest.mark.parametrize("by", ["example", "Enter"])
async def test_an_example_or_enter_begins_a_conversation_without_a_microphone(
    tab: Tab, server: StandIn, by: str
) -> None:
    if by == "example":
        await tab.page.get_by_text("Tell me about Paris.").click()
    else:
        await tab.page.get_by_test_id("composer-text").fill("Tell me about Paris.")
        await tab.page.get_by_test_id("composer-text").press("Enter")
    await tab.sees("state", "Connected, without a microphone")
    await tab.sees("entry-user", "Tell me about Paris.")
    assert server.typed == ["Tell me about Paris."]
    begin(server)
    await tab.sees("floor", "Ready — type a question")
    await tab.page.set_viewport_size({"width": 320, "height": 640})
    box = await tab.page.get_by_test_id("connect").bounding_box()
    assert box and box["x"] + box["width"] <= 320
    await tab.press("speak")  # one more click begins to speak
    await tab.sees("floor", "Listening — go ahead")
    assert not await tab.page.get_by_test_id("speak").is_visible()
    await tab.press("mute")
    await tab.sees("floor", "Muted — unmute to speak")


async def test_words_before_a_failed_call_return_to_the_field(browser: Browser) -> None:
    async with page_on_stand_in(browser, complaints="expected") as (tab, server):
        server.offer_refusal = refusal(500, "Out of order.")
        await tab.page.get_by_test_id("composer-text").fill("Hello there")
        await tab.press("composer-send")
        await tab.sees("notice", "The server could not answer.")
        await tab.page.wait_for_function("() => document.querySelector('#composer-text').value === 'Hello there'")


async def test_refused_words_return_to_the_field(browser: Browser) -> None:
    async with page_on_stand_in(browser, complaints="expected") as (tab, server):
        await tab.connect()
        server.typing_refusal = refusal(500, "Out of order.")
        await tab.page.get_by_test_id("composer-text").fill("Hello there")
        await tab.press("composer-send")
        await tab.sees("notice", "The server could not answer.")
        await tab.page.wait_for_function("() => document.querySelector('#composer-text').value === 'Hello there'")
        await tab.press("way-dismiss")
        await tab.sees("state", "Connected")


# --- failures ------------------------------------------------------------------------------------------


async def test_a_refused_microphone_is_explained_and_typing_still_works() -> None:
    async with launched(microphone="refused", program=WHOLE) as browser, page_on_stand_in(browser) as (tab, server):
        await tab.press("connect")
        await tab.sees("notice", "The browser blocked the microphone.")
        await tab.press("way-type")
        await tab.sees("state", "Connected, without a microphone")
        await tab.loud_within(30, LOUD)
        await sends(tab, 10)
        await tab.page.get_by_test_id("composer-text").fill("Hello")
        await tab.press("composer-send")
        await until(lambda: server.typed == ["Hello"])


async def test_a_missing_microphone_is_explained() -> None:
    async with launched(microphone="absent") as browser, page_on_stand_in(browser) as (tab, _):
        await tab.press("connect")
        await tab.sees("notice", "No microphone was found.")
        await expect(tab.page.get_by_test_id("way-type")).to_be_enabled()


async def test_a_full_server_shows_a_countdown_and_can_be_tried_again(browser: Browser) -> None:
    async with page_on_stand_in(browser, complaints="expected") as (tab, server):
        server.offer_refusal = refusal(429, "All lines are busy.", retry_after="2")
        await tab.press("connect")
        await tab.sees("notice", "All lines are busy.")
        await tab.sees("way-retry", "Try again in 2 seconds")
        await expect(tab.page.get_by_test_id("way-retry")).to_be_disabled()
        await tab.press("way-retry")
        await tab.sees("state", "Connected")
        assert not await tab.page.get_by_test_id("notice").is_visible()


@pytest.mark.parametrize(
    ("answer", "title", "hint"),
    [
        (refusal(422, "The SDP offer has no audio.", "Offer Opus."), "The SDP offer has no audio.", "Offer Opus."),
        (
            refusal(403, "Foreign origin."),
            "The server does not accept calls from this address.",
            "Ask the people who run this server for access.",
        ),
        (Response("<html>Bad Gateway", 502), "The server could not answer.", "Try again in a moment."),
    ],
    ids=["refused offer", "foreign origin", "broken proxy"],
)
async def test_a_refused_call_says_why(browser: Browser, answer: Response, title: str, hint: str) -> None:
    async with page_on_stand_in(browser, complaints="expected") as (tab, server):
        server.offer_refusal = answer
        await tab.press("connect")
        await tab.sees("notice", title)
        await tab.sees("notice", hint)
        await tab.sees("state", "Not connected")


async def test_an_unreachable_server_is_distinguished_from_an_offline_device(browser: Browser) -> None:
    async with page_on_stand_in(browser, complaints="expected") as (tab, _):
        await tab.page.route("**/api/rtc/offer", lambda route: route.abort())
        await tab.press("connect")
        await tab.sees("notice", "The server is not responding.")
        await tab.page.context.set_offline(True)
        await tab.press("way-retry")
        await tab.sees("notice", "This device is offline.")
        await tab.page.context.set_offline(False)
        await tab.page.get_by_test_id("notice").wait_for(state="hidden")


async def test_a_lost_connection_is_restored_with_the_conversation(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    begin(server)
    server.publish("transcript", role="user", item_id="typed-1", content="Before the break.")
    await tab.sees("entry-user", "Before the break.")
    server.publish("session_ended", reason="network_lost")
    await tab.sees("entry-note", "Reconnected. The conversation continues.")
    await tab.sees("state", "Connected")
    server.publish("transcript", role="user", item_id="typed-1", content="After it.")
    await tab.sees("transcript", "After it.")
    said = [words for role, _, words in await tab.transcript() if role == "user"]
    assert said == ["Before the break.", "After it."]
    assert [offer.get("conversation_id") for offer in server.offers] == [None, CONVERSATION]


async def test_a_problem_during_a_call_is_shown_without_ending_it(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    server.publish("error", message="The voice service is slow.", hint="It will catch up.")
    await tab.sees("notice", "The voice service is slow.")
    await tab.sees("state", "Connected")
    await tab.press("way-dismiss")
    await tab.page.get_by_test_id("notice").wait_for(state="hidden")


async def test_a_click_allows_sound_that_the_browser_blocks(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        await tab.page.add_init_script("""
            const play = HTMLMediaElement.prototype.play;
            HTMLMediaElement.prototype.play = () => Promise.reject(new DOMException("", "NotAllowedError"));
            window.allowSound = () => { HTMLMediaElement.prototype.play = play; };
        """)
        await tab.open(server.url)
        await tab.press("connect")
        await tab.sees("notice", "The browser has blocked the sound.")
        await tab.page.evaluate("allowSound()")
        await tab.press("way-sound")
        await tab.page.get_by_test_id("notice").wait_for(state="hidden")
        await tab.sees("state", "Connected")


# --- events --------------------------------------------------------------------------------------------


async def test_events_resume_after_a_break_without_loss_or_repetition(browser: Browser) -> None:
    async with page_on_stand_in(browser, complaints="expected") as (tab, server):
        await tab.connect()
        begin(server)
        server.publish("transcript_delta", role="user", item_id="u1", delta="one ")
        await tab.sees("entry-user", "one")
        server.break_streams()
        server.publish("transcript_delta", role="user", item_id="u1", delta="two ")
        await tab.sees("entry-user", "one two")
        assert [last for last, _ in server.event_requests] == [None, "3"]
        assert (await tab.transcript())[0][2] == "one two "


async def test_a_stream_refused_by_a_proxy_is_resumed(browser: Browser) -> None:
    async with page_on_stand_in(browser, complaints="expected") as (tab, server):
        await tab.connect()
        begin(server)
        await tab.sees("floor", "Listening")
        server.events_status = 502
        server.break_streams()
        await until(lambda: len(server.event_requests) == 2)
        server.events_status = 200
        server.publish("floor", floor="user")
        await tab.sees("floor", "I hear you")
        assert server.event_requests[-1] == ("2", "")


async def test_an_unknown_session_ends_the_call_with_a_message(browser: Browser) -> None:
    async with page_on_stand_in(browser, complaints="expected") as (tab, server):
        server.events_status = 404
        await tab.press("connect")
        await tab.sees("notice", "This conversation is over, or belongs to another browser.")
        await tab.sees("state", "Not connected")


async def test_missed_events_are_replaced_by_the_transcript_of_the_server(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    server.record = [{"role": "user", "item_id": "u1", "content": "Said while away.", "at": 1}]
    server.publish("gap", missed=12)
    await tab.sees("entry-user", "Said while away.")

"""The page's store turns server events into state. It is pure JavaScript, and runs in Chromium."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.browser import Tab, chromium
from tests.support.standin import standing_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
Event = tuple[str, dict[str, Any]]

REDUCE = """async (events) => {
  const { INITIAL_STATE, reduce } = await import("/store.js");
  return events.reduce((state, [type, data], n) => reduce(state, { type, data, at: 1000 + n }), INITIAL_STATE);
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tab() -> AsyncIterator[Tab]:
    async with standing_in() as server, chromium() as opened:
        await opened.open(server.url)
        yield opened


async def state_after(tab: Tab, *events: Event) -> dict[str, Any]:
    """Return the state of a new page after `events`."""
    state: dict[str, Any] = await tab.page.evaluate(REDUCE, [list(event) for event in events])
    return state


def spoken(state: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the transcript as (id, state, text)."""
    return [(entry["id"], entry["state"], entry["text"]) for entry in state["transcript"]["entries"]]


def floor(who: str) -> Event:
    return "floor", {"floor": who}


def delta(role: str, item: str, words: str) -> Event:
    return "transcript_delta", {"role": role, "item_id": item, "delta": words}


def said(role: str, item: str, words: str) -> Event:
    return "transcript", {"role": role, "item_id": item, "content": words}


def generated(item: str, words: str) -> Event:
    return "transcript_done", {"role": "assistant", "item_id": item, "content": words}


def cut_off(item: str, heard: str, words: str) -> Event:
    return "transcript_interrupted", {"item_id": item, "heard": heard, "content": words}


def thinker(call: str, event: str, **more: Any) -> Event:
    known = {"call_id": call, "event": event, "domain": "weather", "label": "Weather", "query": "Seattle"}
    return "thinker", {"elapsed_ms": 5, **known, **more}


async def test_streamed_words_fill_one_entry_until_the_final_text_replaces_them(tab: Tab) -> None:
    state = await state_after(tab, delta("user", "u1", "what's the"), delta("user", "u1", " wether"))
    assert spoken(state) == [("u1", "live", "what's the wether")]
    state = await state_after(tab, delta("user", "u1", "what's the wether"), said("user", "u1", "What's the weather?"))
    assert spoken(state) == [("u1", "final", "What's the weather?")]


async def test_a_reply_is_live_then_done_then_heard(tab: Tab) -> None:
    events = [
        delta("assistant", "a1", "It is"),
        generated("a1", "It is raining."),
        said("assistant", "a1", "It is raining."),
    ]
    states = [spoken(await state_after(tab, *events[: n + 1]))[0][1] for n in range(3)]
    assert states == ["live", "done", "final"]


async def test_a_late_transcript_stands_before_the_reply_to_it(tab: Tab) -> None:
    state = await state_after(
        tab,
        floor("user"),
        floor("listening"),
        delta("assistant", "a1", "Let me look."),
        said("user", "u1", "What's the weather?"),
    )
    assert [entry[0] for entry in spoken(state)] == ["u1", "a1"]


async def test_an_interruption_stands_after_the_reply_it_interrupted(tab: Tab) -> None:
    state = await state_after(
        tab,
        said("user", "u1", "Weather?"),
        delta("assistant", "a1", "It is raining in"),
        floor("held"),
        floor("user"),
        cut_off("a1", "It is", "It is raining in"),
        floor("listening"),
        delta("assistant", "a2", "Paris is"),
        said("user", "u2", "Stop. Paris?"),
    )
    assert [entry[0] for entry in spoken(state)] == ["u1", "a1", "u2", "a2"]


async def test_words_after_a_nudge_stay_below_it_despite_an_earlier_noise(tab: Tab) -> None:
    state = await state_after(
        tab,
        floor("user"),
        floor("listening"),
        said("assistant", "nudge", "Are you still there?"),
        said("user", "u1", "Yes."),
    )
    assert [entry[0] for entry in spoken(state)] == ["nudge", "u1"]


async def test_an_empty_delta_keeps_the_place_of_later_words(tab: Tab) -> None:
    state = await state_after(
        tab, delta("user", "u1", ""), delta("assistant", "a1", "Hello"), said("user", "u1", "Hi there")
    )
    assert [entry[0] for entry in spoken(state)] == ["u1", "a1"]


async def test_an_empty_transcript_leaves_no_entry(tab: Tab) -> None:
    assert spoken(await state_after(tab, delta("user", "u1", "hm"), said("user", "u1", " "))) == []


async def test_an_interrupted_reply_separates_heard_from_unheard_words(tab: Tab) -> None:
    state = await state_after(
        tab, generated("a1", "It is raining in Seattle."), cut_off("a1", "It is", "It is raining.")
    )
    (entry,) = state["transcript"]["entries"]
    rest = await tab.page.evaluate("async (entry) => (await import('/state/transcript.js')).unheard(entry)", entry)
    assert (entry["state"], entry["heard"], rest) == ("interrupted", "It is", " raining.")


async def test_no_late_event_revives_an_interrupted_reply(tab: Tab) -> None:
    late = [delta("assistant", "a1", "more"), generated("a1", "All of it"), said("assistant", "a1", " ")]
    state = await state_after(tab, cut_off("a1", "", "All"), *late)
    assert spoken(state) == [("a1", "interrupted", "All")]


async def test_a_reply_that_was_brought_back_goes_on_behind_what_was_heard_of_it(tab: Tab) -> None:
    cut = cut_off("a1", "Paris is", "Paris is the capital of France.")
    aside = said("user", "u1", "Honey, close the door.")
    state = await state_after(tab, cut, aside, said("assistant", "a1", "the capital of France."))
    assert spoken(state) == [
        ("a1", "final", "Paris is the capital of France."),
        ("u1", "final", "Honey, close the door."),
    ]
    state = await state_after(tab, cut, aside, cut_off("a1", "the capital", "the capital of France."))
    (entry, _) = state["transcript"]["entries"]
    assert (entry["state"], entry["heard"], entry["text"]) == (
        "interrupted", "Paris is the capital", "Paris is the capital of France.",
    )  # fmt: skip


async def test_transcript_thinkers_and_log_are_bounded(tab: Tab) -> None:
    flood = [said("user", f"u{n}", f"words {n}") for n in range(450)] + [thinker(f"c{n}", "routed") for n in range(60)]
    state = await state_after(tab, *flood)
    sizes = len(state["transcript"]["entries"]), len(state["thinkers"]), len(state["log"])
    assert sizes == (200, 30, 300)
    assert spoken(state)[-1][0] == "u449"
    assert state["thinkers"][0]["id"] == "c59"


async def test_a_thinker_has_one_card_with_its_latest_state(tab: Tab) -> None:
    state = await state_after(
        tab,
        thinker("c1", "routed"),
        thinker("c1", "working", elapsed_ms=40, detail="asking the weather service"),
        thinker("c1", "complete", elapsed_ms=910, source="live"),
    )
    (card,) = state["thinkers"]
    assert (card["state"], card["elapsedMs"], card["source"], card["label"]) == ("complete", 910, "live", "Weather")
    assert card["detail"] == ""


async def test_the_end_of_a_call_abandons_unfinished_thinkers(tab: Tab) -> None:
    state = await state_after(
        tab, thinker("c1", "working"), thinker("c2", "complete"), ("session_ended", {"reason": "idle"})
    )
    assert {card["id"]: card["state"] for card in state["thinkers"]} == {"c1": "abandoned", "c2": "complete"}
    assert (state["phase"], state["failure"]["kind"]) == ("ended", "ended-idle")


async def test_a_deliberate_hang_up_is_no_failure(tab: Tab) -> None:
    state = await state_after(tab, ("session_ended", {"reason": "disconnected"}))
    assert (state["phase"], state["failure"]) == ("ended", None)


async def test_deltas_of_one_item_share_a_row_of_the_log(tab: Tab) -> None:
    state = await state_after(tab, *[delta("assistant", "a1", "x")] * 5, floor("user"))
    assert [(row["type"], row["count"]) for row in state["log"]] == [("transcript_delta", 5), ("floor", 1)]


async def test_an_unknown_event_changes_only_the_log(tab: Tab) -> None:
    before, after = await state_after(tab), await state_after(tab, ("something_new", {"n": 1}))
    assert [row["text"] for row in after.pop("log")] == ['{"n":1}']
    before.pop("log")
    assert after == before


async def test_a_new_call_clears_the_page_but_not_the_log(tab: Tab) -> None:
    state = await state_after(
        tab,
        said("user", "u1", "Hello"),
        thinker("c1", "complete"),
        ("session_ended", {"reason": "error"}),
        ("page_connecting", {"step": "microphone"}),
    )
    assert (spoken(state), state["thinkers"], state["failure"], len(state["log"])) == ([], [], None, 3)


async def test_the_transcript_of_the_server_fills_a_gap_and_keeps_streaming_entries(tab: Tab) -> None:
    record = [
        {"role": "user", "item_id": "u1", "content": "Weather?"},
        {"role": "assistant", "item_id": "a1", "content": "It is", "interrupted": True},
    ]
    state = await state_after(
        tab,
        said("user", "u1", "Weather?"),
        delta("assistant", "a2", "And in"),
        ("gap", {"missed": 40}),
        ("page_transcript_loaded", {"messages": record}),
    )
    assert [(id_, state_) for id_, state_, _ in spoken(state)] == [
        ("u1", "final"),
        ("a1", "interrupted"),
        ("a2", "live"),
    ]


async def test_unchanged_parts_keep_their_identity(tab: Tab) -> None:
    same = await tab.page.evaluate("""async () => {
      const { INITIAL_STATE, reduce } = await import("/store.js");
      const delta = { role: "user", item_id: "u1", delta: "x" };
      const next = reduce(INITIAL_STATE, { type: "transcript_delta", data: delta, at: 1 });
      return Object.keys(next).filter((name) => next[name] !== INITIAL_STATE[name]).sort();
    }""")
    assert same == ["log", "transcript"]


async def test_interruptions_follow_the_server_until_the_user_chooses(tab: Tab) -> None:
    configured: Event = ("page_configured", {"interruptions": False})
    chosen: Event = ("page_interruptions", {"allowed": True})
    assert (await state_after(tab))["interruptions"] == {"allowed": True, "chosen": False}
    assert (await state_after(tab, configured))["interruptions"] == {"allowed": False, "chosen": False}
    assert (await state_after(tab, chosen, configured))["interruptions"] == {"allowed": True, "chosen": True}
    started: Event = ("session_started", {"session_id": "s", "interruptions": False})
    assert (await state_after(tab, started))["interruptions"] == {"allowed": False, "chosen": False}
    switched: Event = ("interruptions", {"allowed": False})
    assert (await state_after(tab, ("session_started", {}), switched))["interruptions"]["allowed"] is False


async def test_a_restored_responder_removes_the_error_and_shows_its_name(tab: Tab) -> None:
    started: Event = ("session_started", {"session_id": "s", "responder": "One", "model": "m-1"})
    lost: Event = ("responder_changed", {"state": "lost", "responder": "", "model": ""})
    failed: Event = ("error", {"message": "The connection broke.", "hint": "Connecting again."})
    state = await state_after(tab, started, failed, lost)
    assert state["failure"] and state["session"]["responder"] == "One"
    state = await state_after(
        tab, started, failed, lost, ("responder_changed", {"state": "connected", "responder": "Two", "model": "m-2"})
    )
    assert state["failure"] is None and (state["session"]["responder"], state["session"]["model"]) == ("Two", "m-2")


async def test_words_after_a_pause_stay_where_their_turn_began(tab: Tab) -> None:
    state = await state_after(
        tab, said("assistant", "a1", "Hello."), floor("user"), floor("pausing"), delta("assistant", "a2", "It"),
        floor("user"), said("user", "u1", "What is the weather?"),
    )  # fmt: skip
    assert [item for item, _, _ in spoken(state)] == ["a1", "u1", "a2"]


async def test_a_murmur_is_kept_when_the_transcript_is_read_again(tab: Tab) -> None:
    record = [{"role": "assistant", "content": "Paris is a city.", "item_id": "a1"}]
    state = await state_after(
        tab, ("murmur", {"kind": "hesitation", "words": ""}),
        ("page_transcript_loaded", {"messages": record, "prefix": ""}),
    )  # fmt: skip
    assert [text for _, _, text in spoken(state)] == ["Um", "Paris is a city."]


FOLLOW = """() => new Promise(async (resolve) => {
  const { EventStream } = await import("/client/event_stream.js");
  const seen = [];
  const receive = (type) => {
    seen.push(type);
    if (type === "session_ended") return resolve(seen);
    throw new Error("a fault of the page");
  };
  new EventStream({ url: "" }, { id: "s1", token: "t" }, receive, () => {}, () => {});
})"""


async def test_a_fault_of_the_page_loses_one_event_but_not_the_stream(tab: Tab) -> None:
    events = "id: 1\nevent: floor\ndata: {}\n\nid: 2\nevent: session_ended\ndata: {}\n\n"
    await tab.page.route("**/api/events/s1", lambda route: route.fulfill(body=events, content_type="text/event-stream"))
    assert await tab.page.evaluate(FOLLOW) == ["floor", "session_ended"]
    assert tab.complaints.pop() == "a fault of the page"

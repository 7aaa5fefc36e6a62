"""The page shows the measured legs of a turn as bars and as a table, by mouse, keyboard and screen reader."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.support.browser import Tab
from tests.support.standin import SESSION, StandIn

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

LEGS = {
    "hangover_ms": 300,
    "commit_ms": 4,
    "reply_started_ms": 30,
    "first_audio_ms": 120,
    "end_of_turn_ms": 200,
    "played_ms": 16,
}

AFTER = """async (events) => {
  await (await import("/texts.js")).loaded;
  const turns = await import("/state/turns.js");
  const state = events.reduce((state, [type, data]) => turns.turnsAfter(state, { type, data }), turns.NO_TURNS);
  return ASK;
}"""


def legs(turn: int, **changes: int) -> tuple[str, dict[str, Any]]:
    parts = LEGS | {name: ms for name, ms in changes.items() if name != "first_token_ms"}
    token = {"first_token_ms": changes.get("first_token_ms", 90)}
    about = {"wait_ms": 700, "reason": "nothing known", "segments": 1, "discarded": 0}
    return "turn_metrics", {"turn": turn, **parts, "first_sound_ms": sum(parts.values()), **token, **about}


def thinker(turn: int, event: str, elapsed_ms: int, **more: Any) -> tuple[str, dict[str, Any]]:
    known = {"call_id": f"c{turn}", "domain": "weather", "label": "Weather", "query": "Seattle"}
    return "thinker", {**known, "event": event, "turn": turn, "into_turn_ms": 500, "elapsed_ms": elapsed_ms, **more}


def tool(event: str) -> dict[str, str]:
    return {"id": "t1", "name": "get_current_weather", "event": event}


def a_turn_with_a_thinker(turn: int) -> list[tuple[str, dict[str, Any]]]:
    return [
        legs(turn),
        thinker(turn, "routed", 0),
        thinker(turn, "working", 40, tool=tool("started"), detail="calling get_current_weather"),
        thinker(turn, "working", 640, tool=tool("finished")),
        thinker(turn, "complete", 900, source="live"),
    ]


async def turns_after(tab: Tab, ask: str, *events: tuple[str, dict[str, Any]]) -> Any:
    """Return the value of `ask`, JavaScript over `turns` and `state`, after the events."""
    return await tab.page.evaluate(AFTER.replace("ASK", ask), [list(event) for event in events])


async def page_with(server: StandIn, tab: Tab, *events: tuple[str, dict[str, Any]]) -> None:
    """Open a call with these events."""
    await tab.connect()
    server.publish("session_started", session_id=SESSION, responder="R", model="m", offline=True, hearing="ten",
                transport="webrtc")  # fmt: skip
    for type_, data in events:
        server.publish(type_, **data)


async def test_medians_and_slowest_turns_are_computed_until_a_new_call(tab: Tab) -> None:
    events = [legs(turn, hangover_ms=100 * turn) for turn in (1, 2, 3, 4, 5)]
    middle = await turns_after(tab, "turns.medians(state)", *events)
    assert (middle["first_sound_ms"], middle["legs"]["hangover"], middle["p95_ms"]) == (670, 300, 870)
    worst = await turns_after(tab, "turns.slowest(state, 2).map((turn) => turn.turn)", *events)
    assert worst == [5, 4]
    assert await turns_after(tab, "turns.medians(state)") is None
    many = [legs(turn) for turn in range(1, 301)]
    assert await turns_after(tab, "[state.list.length, state.list[0].turn]", *many) == [200, 101]
    begun = ("session_started", {"session_id": "one"})
    assert await turns_after(tab, "state.list.length", begun, *events, begun) == 5
    anew = ("page_connecting", {"step": "microphone", "again": False})
    assert await turns_after(tab, "state.list.length", begun, *events, anew) == 0


async def test_turns_are_counted_over_all_sessions_of_a_conversation(tab: Tab) -> None:
    one, two = ("session_started", {"session_id": "one"}), ("session_started", {"session_id": "two"})
    again = ("page_connecting", {"step": "answer", "again": True})
    numbers = "state.list.map((turn) => turn.turn)"
    assert await turns_after(tab, numbers, one, legs(1), legs(2), again, two, legs(1), legs(2)) == [1, 2, 3, 4]


async def test_the_bars_are_as_wide_as_the_legs_were_long(tab: Tab, server: StandIn) -> None:
    await page_with(server, tab, *a_turn_with_a_thinker(1))
    await tab.sees("turn", "Weather")
    await tab.page.locator("[data-testid=turn] .bar.tool").wait_for()
    widths = await tab.page.locator("[data-testid=turn] .bar").evaluate_all(
        "bars => bars.map((bar) => [bar.className.split(' ').at(-1) || 'tool', bar.style.left, bar.style.width])"
    )
    shown = {name: (float(left[:-1]) * 14, float(width[:-1]) * 14) for name, left, width in widths}
    expected = {
        "hangover": (0, 300), "commit": (300, 4), "reply_started": (304, 30), "first_token": (334, 90),
        "first_audio": (424, 30), "end_of_turn": (454, 200), "played": (654, 16),
        "complete": (500, 900), "tool": (540, 600),
    }  # fmt: skip
    lanes = await tab.page.locator("[data-testid=turn] .lane:not(.of-axis)").evaluate_all(
        "lanes => lanes.map((lane) => [...lane.children].map((each) => each.getBoundingClientRect().width))"
    )
    assert len(lanes) == 3 and all(name > 60 and track > 100 for name, track in lanes), (
        "the names are not beside their bars"
    )
    for name, (start, ms) in expected.items():
        assert list(shown[name]) == pytest.approx([start, ms], abs=0.5), name


async def test_a_turn_can_be_chosen_by_keyboard_and_read_as_a_table(tab: Tab, server: StandIn) -> None:
    events = [legs(turn, hangover_ms=100 * turn) for turn in range(1, 10)]
    answers = [("answer_metrics", {"turn": turn, "answer_ms": ms}) for turn, ms in ((8, 1900), (9, 2000))]
    await page_with(server, tab, *events, *answers, *a_turn_with_a_thinker(10)[1:])
    await tab.sees("turn-medians", "Median of 9 turns 870 ms")
    await expect(tab.page.get_by_test_id("metrics-total")).to_have_text("1270 ms")
    await expect(tab.page.get_by_test_id("turns").get_by_role("button")).to_have_count(6)
    await tab.page.get_by_test_id("turns-slowest").focus()
    await tab.page.keyboard.press("Enter")
    await tab.page.keyboard.press("Tab")
    await tab.page.keyboard.press("Enter")
    await tab.sees("turn", "Turn 9")
    await tab.page.get_by_test_id("turn").locator("summary").press("Enter")
    rows = await tab.page.locator("[data-testid=turn-table] tr").all_inner_texts()
    assert [row.split("\t") for row in rows] == [
        ["Part", "From", "Took", "Median"],
        ["End of speech confirmed", "0 ms", "900 ms", "500 ms"],
        ["Turn submitted", "900 ms", "4 ms", "4 ms"],
        ["Reply started", "904 ms", "30 ms", "30 ms"],
        ["First word", "934 ms", "90 ms", "90 ms"],
        ["First sound", "1024 ms", "30 ms", "30 ms"],
        ["Waited for more", "1054 ms", "200 ms", "200 ms"],
        ["Heard", "1254 ms", "16 ms", "16 ms"],
        ["Time to first sound", "0 ms", "1270 ms", "870 ms"],
        ["Time to the answer", "0 ms", "2000 ms", "1950 ms"],
    ]
    picture = await tab.page.locator("[data-testid=turn] [role=img]").get_attribute("aria-label")
    assert picture is not None and picture.startswith("Turn 9: 1270 ms to first sound, ")
    server.publish("turn_metrics", **legs(11)[1])
    await tab.sees("metrics-total", "670 ms")
    assert "Turn 9" in await tab.text("turn"), "the chosen turn changed"
    await tab.sees("turn-medians", "Median of 10 turns 820 ms")
    total = await tab.page.locator("[data-testid=turn-table] .of-total").inner_text()
    assert total.split("\t") == ["Time to first sound", "0 ms", "1270 ms", "820 ms"], (
        "the table lacks the newest medians"
    )


WAITS: list[tuple[dict[str, Any], str]] = [
    ({"wait_ms": 1400, "reason": "trailing off"}, "Waited 1400 ms: trailing off."),
    ({"wait_ms": 700, "reason": "nothing known"}, "Waited 700 ms: no words were known yet."),
    (
        {"wait_ms": 420, "reason": "complete question", "segments": 3},
        "Waited 420 ms: complete question, said in 3 pieces.",
    ),
    ({"wait_ms": 0, "reason": ""}, ""),
]


async def test_the_wait_of_a_turn_is_explained_in_words(tab: Tab, server: StandIn) -> None:
    await page_with(server, tab)
    for turn, (about, words) in enumerate(WAITS, 1):
        server.publish("turn_metrics", **legs(turn)[1] | about)
        await tab.sees("turn", f"Turn {turn}")
        explained = tab.page.get_by_test_id("turn-pauses")
        assert await explained.all_inner_texts() == ([words] if words else [])


async def test_discarded_replies_are_counted_in_their_turn_with_their_tokens(tab: Tab, server: StandIn) -> None:
    discarded = ("reply_discarded", {"turn": 1, "input_tokens": 1300, "output_tokens": 20})
    metrics = legs(1)[1] | {"segments": 2, "discarded": 2}
    await page_with(server, tab, discarded, ("turn_metrics", metrics), discarded)
    await tab.sees("turn-pauses", "said in 2 pieces, 2 prepared replies thrown away (2640 tokens).")
    server.publish("turn_metrics", **legs(2)[1])
    await tab.sees("turn", "Turn 2")
    assert "thrown away" not in await tab.text("turn")

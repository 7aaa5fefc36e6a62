"""The waveforms follow the levels, rest in silence, respect reduced motion, and cost little."""

import pytest
from playwright.async_api import Browser

from tests.support.browser import Tab, tab_in
from tests.support.standin import standing_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
FRAME_BUDGET_MS = 0.5
"""The most milliseconds of the 16.7 of a frame; about 0.01 was measured."""
HEIGHTS = """(name) => {
  const canvas = document.querySelector(`[data-testid=${name}] canvas`);
  const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const rows = [...Array(height).keys()];
  const tall = (x) => rows.filter((y) => data[(y * width + x) * 4 + 3] > 0).length;
  return Array.from({ length: 48 }, (_, number) => tall(number * 4 + 1));
}"""
"""Returns the height of each column of a waveform in pixels of its canvas."""
DRAWN = """async (frames) => {
  const { showLevels } = await import("/view/levels.js");
  const draw = showLevels();
  const paints = [];
  const { clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...args) { paints.push(1); clearRect.apply(this, args); };
  for (const [now, level] of frames) draw({ in: level, out: 0 }, now);
  CanvasRenderingContext2D.prototype.clearRect = clearRect;
  return paints.length;
}"""
COST = """async () => {
  const { showLevels } = await import("/view/levels.js");
  const draw = showLevels();
  const frames = 1200;
  const began = performance.now();
  for (let n = 0; n < frames; n++) draw({ in: Math.random(), out: Math.random() }, 10_000 + n * 16.7);
  return (performance.now() - began) / frames;
}"""


async def heights(tab: Tab, name: str) -> list[int]:
    found: list[int] = await tab.page.evaluate(HEIGHTS, name)
    return found


async def draw(tab: Tab, *levels: float, step_ms: float = 50) -> int:
    """Draw the caller's side at these levels; return how often something was painted."""
    frames = [[10_000 + number * step_ms, level] for number, level in enumerate(levels)]
    painted: int = await tab.page.evaluate(DRAWN, frames)
    return painted


async def test_both_sides_are_drawn_during_a_call(tab: Tab) -> None:
    await tab.connect()  # the stand-in sends a tone, and the fake microphone sends beeps
    for name in ("level-in", "level-out"):
        await tab.page.wait_for_function(f"() => Math.max(...({HEIGHTS})('{name}')) > 12")


async def test_nothing_is_painted_in_silence(tab: Tab) -> None:
    assert await draw(tab, *[0.0] * 200) <= 2, "more than the line of each side was painted"
    assert await draw(tab, 1.0, *[0.0] * 200) <= 51, "something was painted after the sound had left the canvas"


async def test_reduced_motion_shows_the_level_as_one_bar(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser, reduced_motion=True) as tab:
        await tab.open(server.url)
        await draw(tab, 1.0, 0.5, step_ms=200)
        shown = await heights(tab, "level-in")
        assert set(shown[:24]) == {22} and set(shown[24:]) == {0}
        await draw(tab, 1.0, 0.5, 0.0, step_ms=200)
        assert set((await heights(tab, "level-in"))[4:]) == {0}


async def test_painting_a_frame_takes_little_time(tab: Tab) -> None:
    took = min([await tab.page.evaluate(COST) for _ in range(5)])
    assert took < FRAME_BUDGET_MS, f"{took:.3f} ms a frame"

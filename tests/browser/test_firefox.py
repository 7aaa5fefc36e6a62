"""The same page in Firefox, against the real server: the call connects and sound flows both ways."""

from __future__ import annotations

import pytest

from tests.support.browser import HEARD
from tests.support.firefox import FirefoxTab, firefox
from tests.support.real_server import real_server
from tests.support.waiting import until

pytestmark = pytest.mark.browser


async def flows_both_ways(tab: FirefoxTab) -> bool:
    """Half a second of packets has gone each way."""
    heard = await tab.evaluate(f"({HEARD})()")
    return bool(heard["packetsReceived"] > 25 and heard["packetsSent"] > 25)


async def test_firefox_connects_and_hears_an_answer() -> None:
    async with real_server() as url, firefox() as tab:
        await tab.open(f"{url}/?raw=1")
        await tab.sees("state", "Ready to talk")
        await tab.press("connect")
        await tab.sees("state", "Connected")
        await until(lambda: flows_both_ways(tab), 20)
        await tab.press("mute")
        await tab.evaluate("""(() => {
            const field = document.querySelector("[data-testid=composer-text]");
            field.value = "What's the weather in Seattle?";
            field.form.requestSubmit();
        })()""")
        await tab.sees("transcript", "What's the weather in Seattle?")
        await until(lambda: tab.evaluate(f"({HEARD})().then((heard) => heard.totalAudioEnergy > 0.01)"), 20)
        await tab.press("connect")
        await tab.sees("state", "Call ended")

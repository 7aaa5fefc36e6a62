"""A provider dies while a Thinker works for its call, and one with another protocol continues the call.

A strict peer plays each provider, in a process of its own. Each provider fails once and takes over once. The second one
gets the conversation and the Thinker's answer in its own protocol, and may refuse nothing of it.
"""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from backend.extensions.self_hosted.scripted import REFUSALS
from benchmarks.gauntlet.ears import longest_silence_s, times_heard
from benchmarks.gauntlet.happenings import ANSWER, ANSWERED, BEGUN, PREAMBLE, REST, STORY, ask_almanac, script
from benchmarks.gauntlet.providers import PROVIDERS, GauntletProvider
from benchmarks.gauntlet.run import PLUGINS
from tests.support.offline_peer import OfflinePeer, offline_peer, restartable_peer
from tests.support.running_server import PlacedCall, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

QUESTION = "is it sunny"
SILENCE_MOST_S = 4.0
BY_NAME = {each.name: each for each in PROVIDERS}
HEARD_HERE = ("gpt-realtime-2", "gemini", "qwen", "gpt_live", "vllm_omni", "azure", "gpt-realtime-2")
"""Providers for which the server finds the turns, each followed by the one that takes over."""
HEARD_THERE = ("gpt-realtime-2", "xai", "speech_to_speech", "azure", "localai", "gpt-realtime-2")
"""Providers that can find turns themselves."""
CHANGING = (("xai", "gemini"), ("qwen", "localai"))
"""Pairs between which the finding of turns moves from the server to the provider, or back."""
CASES = [*pairwise(HEARD_HERE), *pairwise(HEARD_THERE), *CHANGING]


def settings_of(
    first: GauntletProvider, one: OfflinePeer, second: GauntletProvider, two: OfflinePeer
) -> dict[str, str]:
    """Return the settings of a server that prefers the first provider and falls back on the second."""
    mine, other = dict(first.settings(one)), dict(second.settings(two))
    names = f"{mine['RESPONDERS']},{other['RESPONDERS']}"
    plugins = {"PLUGIN_FOLDERS": str(PLUGINS), "OPENAI_API_KEY": "k"}
    return plugins | other | mine | {"RESPONDERS": names, "IDLE_NUDGE_S": "0"}


@pytest.mark.alone
@pytest.mark.parametrize(("first", "second"), CASES, ids=map("-to-".join, CASES))
async def test_a_call_continues_in_another_protocol_with_its_history_and_its_open_tool_call(
    tmp_path: Path, first: str, second: str
) -> None:
    delegates = first == "gpt_live"  # without saying to which Thinker, so its answer is cut instead
    dying = script(STORY if delegates else PREAMBLE | {"calls": ask_almanac(4)})
    one_is, two_is = BY_NAME[first], BY_NAME[second]
    now = asyncio.get_running_loop().time
    async with (
        restartable_peer(tmp_path / "one.json", dying, "--strict", one_is.wire) as one,
        offline_peer(REST, "--strict", two_is.wire) as two,
    ):
        with running_server(None, **settings_of(one_is, one.peer, two_is, two)) as server:
            async with placed_call(server, within_s=15) as call:
                await call.say(silence(100) + speech(QUESTION))
                await until(lambda: heard(call, BEGUN) == 1, 15)
                if not delegates:
                    await call.event("thinker", 15, event="working")
                one.kill()
                died = now()
                await call.event("responder_changed", 15, state="connected")
                await until(lambda: heard(call, ANSWER) == 1, 20)
                assert longest_silence_s(call.caller.received.frames, died, now()) < SILENCE_MOST_S
                await call.hears_nothing_for(1.5)
                assert heard(call, ANSWER) == 1
                said = [event["content"] for event in call.events_of("transcript")]
                assert said.count("One moment, please.") <= 1
                assert not call.events_of("session_ended")
                await goes_on(call)
        await given_all(two, two_is, delegates=delegates, transcribes=first != "vllm_omni")


async def goes_on(call: PlacedCall) -> None:
    """Ask another question, and wait for its answer over the new connection."""
    await call.say(silence(100) + speech(QUESTION))
    await until(lambda: heard(call, ANSWER) == 2, 15)


async def given_all(peer: OfflinePeer, provider: GauntletProvider, *, delegates: bool, transcribes: bool) -> None:
    """Assert that the peer got the conversation and the Thinker's answer, and refused nothing."""
    logs = [log for log in await peer.connections() if log["received"]]
    given = json.dumps([entry["event"] for log in logs for entry in log["received"]])
    assert not transcribes or QUESTION in given
    assert delegates or "It is in the almanac." in given
    if provider.wire == "gemini":
        assert not [log["closed"] for log in logs if str(log["closed"]).startswith("closed 1007")]
    errors = [entry["event"]["error"] for log in logs for entry in log["sent"] if entry["type"] == "error"]
    assert [error for error in errors if REFUSALS & {error["code"], error["type"]}] == []


def heard(call: PlacedCall, hz: int) -> int:
    """Return how often the caller heard a tone."""
    return len(times_heard(call.caller.received.frames, hz))


def test_each_provider_fails_once_and_takes_over_once() -> None:
    wires: dict[str, Any] = {each.name: each.wire for each in PROVIDERS}
    assert {wires[name] for name, _ in CASES} == {wires[name] for _, name in CASES} == set(wires.values())
    assert ANSWERED["tone"]["hz"] == ANSWER

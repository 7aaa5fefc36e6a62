"""Runs the gauntlet: for each provider a peer, a server and its calls, several providers in parallel."""

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from backend.errors import VoiceError
from backend.testing.calls import call_to
from backend.testing.peer import RestartablePeer, restartable_peer
from backend.testing.speech import speech
from benchmarks import processes
from benchmarks.gauntlet.cells import QUESTION, Cell, GauntletCall, Happening, run_cell
from benchmarks.gauntlet.happenings import REST
from benchmarks.gauntlet.providers import GauntletProvider

PLUGINS = Path(__file__).parent / "thinkers"
SETTINGS = {
    "OPENAI_API_KEY": "k",
    "IDLE_NUDGE_S": "0",
    "IDLE_DISCONNECT_S": "0",
    "PLUGIN_FOLDERS": str(PLUGINS),
    "SESSION_CAP": "100",
}
CORES = processes.Cores.available(shared=True).server
AT_ONCE = 1
"""Providers with calls at the same time: with more, the calling program itself is late."""
PLACED_WITHIN_S = 30.0


async def run_gauntlet(
    providers: Sequence[GauntletProvider], happenings: Sequence[Happening], *, short: bool = False
) -> list[Cell]:
    """Drive each provider through all happenings, and return the sounds of it."""
    await asyncio.to_thread(speech, QUESTION)
    crowd = asyncio.Semaphore(AT_ONCE)
    async with asyncio.TaskGroup() as group:
        lanes = [group.create_task(_Lane(provider, happenings, short).run(crowd)) for provider in providers]
    return [cell for lane in lanes for cell in lane.result()]


class _Lane:
    """One provider's way through the gauntlet."""

    def __init__(self, provider: GauntletProvider, happenings: Sequence[Happening], short: bool) -> None:
        self._provider = provider
        self._short = short
        unable = [each for each in happenings if provider.wire in each.cannot]
        able = [each for each in happenings if each not in unable]
        self._together = [each for each in able if not each.alone]
        self._alone = [each for each in able if each.alone and (each.short_s or not short)]
        self._cells = [Cell(provider.name, each.name, cannot=each.cannot[provider.wire]) for each in unable]

    async def run(self, crowd: asyncio.Semaphore) -> list[Cell]:
        """Return the sounds of all calls with the provider."""
        connections = [*(each.behaviour(short=self._short) for each in self._together), REST]
        async with AsyncExitStack() as stack:
            script = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "script.json"
            playing = restartable_peer(script, {"connections": connections}, "--strict", self._provider.wire)
            async with crowd:
                peer = await stack.enter_async_context(playing)
            async with crowd:
                env = SETTINGS | dict(self._provider.settings(peer.peer))
                serving = processes.server(peer.peer.url, CORES, env)
                url, _ = await asyncio.to_thread(serving.__enter__)
                stack.push_async_callback(asyncio.to_thread, serving.__exit__, None, None, None)
                await self._run_together(url, peer, self._together)
            for happening in self._alone:
                try:
                    await peer.follow(happening.behaviour(short=self._short), when_back=REST)
                except AssertionError as error:
                    self._cells.append(Cell(self._provider.name, happening.name, trouble=f"no peer: {error}"))
                    continue
                await self._run_together(url, peer, [happening])
        return self._cells

    async def _run_together(self, url: str, peer: RestartablePeer, happenings: Sequence[Happening]) -> None:
        """Place one call after another, so that each gets the connection of its own script; then let all go on."""
        running, all_placed = [], asyncio.Event()
        for happening in happenings:
            placed = asyncio.Event()
            running.append(asyncio.create_task(self._call(happening, url, peer, placed, all_placed)))
            await placed.wait()
        all_placed.set()
        self._cells += await asyncio.gather(*running)

    async def _call(
        self,
        happening: Happening,
        url: str,
        peer: RestartablePeer,
        placed: asyncio.Event,
        all_placed: asyncio.Event,
    ) -> Cell:
        away_s = happening.seconds(short=self._short)
        try:
            async with call_to(url, within_s=PLACED_WITHIN_S) as call:
                placed.set()
                await all_placed.wait()
                return await run_cell(self._provider.name, happening, GauntletCall(call, peer, away_s))
        except (AssertionError, VoiceError) as error:
            return Cell(self._provider.name, happening.name, trouble=f"no call: {error}")
        finally:
            placed.set()

"""The whole server as a process, and calls placed to it by a program: what end-to-end tests are made of."""

from __future__ import annotations

import asyncio
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from responder_thinker.caller import ReceivedFrame
from responder_thinker.signalling import ReceivedEvent, Signalling, Ticket, page_events
from responder_thinker.webrtc import WebRTCCaller
from responder_thinker.websocket import WebSocketCaller
from tests.support.forked import Forked
from tests.support.offline_peer import OfflinePeer
from tests.support.shared_responder import shared_local_responder
from tests.support.waiting import until

READY_WITHIN_S = 60.0
TAKES_ALL = {"ADMISSION_MAX_LAG_MS": "0", "ADMISSION_MAX_CPU_PERCENT": "0"}
"""However busy the machine is: tests share it with other tests."""
ANSWERED_OTHERWISE = frozenset(
    {"LOCAL_CALLS", "LOCAL_MODEL_URL", "OFFLINE_SCRIPT", "OFFLINE_URL", "OPENAI_API_KEY", "RESPONDER", "RESPONDERS"}
)
"""Settings that say who answers; a server without any of them takes the local Responder."""
END_WITHIN_S = 15.0
COMMAND = str(Path(sys.executable).parent / "responder-thinker")


@dataclass
class RunningServer:
    """A serving process."""

    url: str
    process: subprocess.Popen[bytes]
    folder: Path
    printed: str

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self.process.pid


@contextmanager
def running_server(
    peer: OfflinePeer | None = None, *, prefix: Sequence[str] = (), options: Sequence[str] = (), **env: str
) -> Iterator[RunningServer]:
    """`responder-thinker serve` on a free port with a data folder of its own, ended by its pid.

    `prefix` goes before the command, `options` behind it. With `peer` it takes that process for the OpenAI API.
    Without, it takes the local Responder that all servers of this test process share, unless `env` says who answers:
    `OFFLINE_URL=""` has it start its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        shared = {} if peer or prefix or ANSWERED_OTHERWISE & env.keys() else {"OFFLINE_URL": shared_local_responder()}
        process = _start(Path(folder), environment(Path(folder), peer) | shared | env, prefix, options)
        try:
            yield when_ready(process, Path(folder))
        finally:
            end(process)


def environment(folder: Path, peer: OfflinePeer | None = None) -> dict[str, str]:
    """Return the environment of a server that keeps its data in `folder` and takes `peer` for the OpenAI API."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    # Open-Meteo is not asked for from tests: an address that refuses at once stands for "cannot be reached".
    nowhere = {"OPEN_METEO_FORECAST_URL": "http://127.0.0.1:9/f", "OPEN_METEO_GEOCODING_URL": "http://127.0.0.1:9/g"}
    settings = {"DATA_DIR": f"{folder}/var", "OFFERS_PER_MINUTE": "0", "SECURITY_LOG": f"{folder}/security.log"}
    provider = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": peer.base_url} if peer else {}
    return kept | nowhere | settings | TAKES_ALL | provider


def end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, then SIGKILL to that very process."""
    process.terminate()
    try:
        process.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()


def _start(
    folder: Path, settings: Mapping[str, str], prefix: Sequence[str], options: Sequence[str]
) -> subprocess.Popen[bytes]:
    starting = subprocess.Popen if prefix else Forked
    with (folder / "stderr.log").open("wb") as log:
        return starting(
            [*prefix, COMMAND, "serve", "--port", "0", *options],
            cwd=folder,
            env={"COLUMNS": "200"} | dict(settings),
            stdout=subprocess.PIPE,
            stderr=log,
        )


def when_ready(process: subprocess.Popen[bytes], folder: Path) -> RunningServer:
    """Wait for everything up to the line that says how to end it; errors are in the folder's `stderr.log`."""
    assert process.stdout
    printed = ""
    deadline = time.monotonic() + READY_WITHIN_S
    while "Ctrl-C" not in printed:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(process.stdout.fileno(), 4096).decode() if ready else ""
        assert piece, f"the server did not start:\n{printed}\n{(folder / 'stderr.log').read_text()}"
        printed += piece
    found = re.search(r"http://[\w.:]+", printed)
    assert found, printed
    return RunningServer(found[0].replace("localhost", "127.0.0.1"), process, folder, printed)


@dataclass
class PlacedCall:
    """One call from the caller's side: what was heard, and what the page was told."""

    http: httpx2.AsyncClient
    ticket: Ticket
    caller: WebRTCCaller | WebSocketCaller
    events: list[ReceivedEvent] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)

    async def told(self, type_: str, within_s: float = 8.0, **data: Any) -> ReceivedEvent:
        """Wait until the page was told this; returns the first such event."""
        await until(lambda: any(_fits(event, type_, data) for event in self.events), within_s)
        return next(event for event in self.events if _fits(event, type_, data))

    def all_told(self, type_: str) -> list[dict[str, Any]]:
        """The data of every event of a type, so far."""
        return [event.data for event in self.events if event.type == type_]

    async def say(self, pcm: bytes) -> None:
        """Speak, and return when it has been said."""
        self.caller.say(pcm)
        await self.caller.said()

    def audible(self) -> list[ReceivedFrame]:
        """What was heard that is not silence."""
        return [heard for heard in self.caller.received.frames if heard.audible]

    async def hears_something(self, within_s: float = 8.0) -> None:
        """Wait for the first sound after now."""
        before = len(self.audible())
        await until(lambda: len(self.audible()) > before, within_s)

    async def hears_nothing_for(self, seconds: float, within_s: float = 12.0) -> None:
        """Wait until it has been quiet for so long."""

        def quiet() -> bool:
            last = self.caller.received.last_audible_at
            return last is not None and asyncio.get_running_loop().time() - last >= seconds

        await until(quiet, within_s)


def _fits(event: ReceivedEvent, type_: str, data: Mapping[str, Any]) -> bool:
    return event.type == type_ and all(event.data.get(key) == value for key, value in data.items())


@asynccontextmanager
async def placed_call(
    server: RunningServer,
    *,
    transport: str = "webrtc",
    browser: httpx2.AsyncClient | None = None,
    conversation: str | None = None,
    within_s: float = 8.0,
) -> AsyncIterator[PlacedCall]:
    """A connected call, its session started; hung up at the end. `browser` brings its cookie; else nobody calls.

    With `conversation` it continues that one.
    """
    async with a_browser(server) if browser is None else nullcontext(browser) as http:
        signalling = Signalling(http)
        caller: WebRTCCaller | WebSocketCaller
        if transport == "ws":
            ticket = await signalling.open_session(conversation)
            caller = WebSocketCaller()
            await caller.connect(signalling.socket_url(ticket), ticket.token, headers=signalling.cookies())
        else:
            caller = WebRTCCaller()
            answer, ticket = await signalling.offer(await caller.offer(), conversation)
            await caller.accept(answer)
            await caller.connected()
        call = PlacedCall(http, ticket, caller)
        listening = asyncio.create_task(_listen(call))
        try:
            await call.told("session_started", within_s)
            yield call
        finally:
            listening.cancel()
            await asyncio.wait([listening])
            await caller.close()


def a_browser(server: RunningServer) -> httpx2.AsyncClient:
    """A client with a cookie jar of its own, to be used and closed with `async with`."""
    return httpx2.AsyncClient(base_url=server.url, trust_env=False)


async def _listen(call: PlacedCall) -> None:
    async with aclosing(page_events(call.http, call.ticket)) as events:
        async for event in events:
            call.events.append(event)
            call.arrivals.append(asyncio.get_running_loop().time())

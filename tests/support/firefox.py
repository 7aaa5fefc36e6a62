"""Firefox, driven directly by WebDriver BiDi over its remote-debugging WebSocket: no driver program, no Node.

The profile sets only what a test machine needs. Users need no such settings: they press "Allow", and the page and the
server are on different hosts or the host's address is not loopback.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

FIREFOX = "/usr/bin/firefox-esr"
PREFERENCES: dict[str, bool | int | str] = {
    "media.navigator.streams.fake": True,  # the microphone is a tone
    "media.navigator.permission.disabled": True,  # no user is there to press "Allow"
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    "app.update.disabledForTesting": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}
START_WITHIN_S = 30.0
ANSWER_WITHIN_S = 20.0

REMEMBER_PEERS = """() => {
  window.testPeers = [];
  const Peer = window.RTCPeerConnection;
  window.RTCPeerConnection = class extends Peer {
    constructor(...args) { super(...args); window.testPeers.push(this); }
  };
}"""


class FirefoxError(Exception):
    """Firefox refused a command, or a script in the page raised an error."""


class FirefoxTab:
    """One tab: its page, its console errors, and its commands."""

    def __init__(self, socket: ClientConnection) -> None:
        self.complaints: list[str] = []
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._context = ""

    async def begin(self) -> None:
        """Take the session and its one tab."""
        await self.command("session.new", capabilities={})
        tree = await self.command("browsingContext.getTree")
        self._context = tree["contexts"][0]["context"]
        await self.command("session.subscribe", events=["log.entryAdded"])
        await self.command("script.addPreloadScript", functionDeclaration=REMEMBER_PEERS)

    async def open(self, url: str) -> None:
        """Load a page completely."""
        await self.command("browsingContext.navigate", context=self._context, url=url, wait="complete")

    async def evaluate(self, script: str) -> Any:
        """The JSON value of a JavaScript expression, awaited; counts as a user's click."""
        answer = await self.command(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({script}) ?? null))()",
            target={"context": self._context},
            awaitPromise=True,
            userActivation=True,
        )
        if answer["type"] == "exception":
            raise FirefoxError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])

    async def press(self, name: str) -> None:
        """Click the part of the page called `name`."""
        await self.evaluate(f"document.querySelector('[data-testid={name}]').click()")

    async def text(self, name: str) -> str:
        """The text of the part called `name`."""
        return str(await self.evaluate(f"document.querySelector('[data-testid={name}]').textContent"))

    async def sees(self, name: str, text: str, within_s: float = 15.0) -> None:
        """Wait until the part called `name` contains `text`."""
        shown = f"document.querySelector('[data-testid={name}]').textContent"
        wait = f"if ({shown}.includes({json.dumps(text)})) seen(true); else setTimeout(look, 50);"
        looking = f"new Promise((seen) => {{ const look = () => {{ {wait} }}; look(); }})"
        try:
            await asyncio.wait_for(self.evaluate(looking), within_s)
        except TimeoutError:
            raise AssertionError(f"{name} reads {await self.text(name)!r}, not {text!r}") from None

    async def command(self, method: str, **params: Any) -> dict[str, Any]:
        """One BiDi command and its result. Raises `FirefoxError`."""
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        answer = await asyncio.wait_for(self._answers[number], ANSWER_WITHIN_S)
        if answer["type"] == "error":
            raise FirefoxError(f"{method}: {answer['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    async def listen(self) -> None:
        """Deliver answers and record console errors, until the socket closes."""
        async for message in self._socket:
            received = json.loads(message)
            if received["type"] == "event":
                self._note(received["params"])
            elif waiting := self._answers.pop(received["id"], None):
                waiting.set_result(received)

    def _note(self, entry: dict[str, Any]) -> None:
        if entry.get("level") == "error":
            self.complaints.append(str(entry.get("text")))


@contextlib.asynccontextmanager
async def firefox() -> AsyncIterator[FirefoxTab]:
    """A tab in a fresh headless Firefox; at the end the test fails if the page logged errors in its console."""
    with tempfile.TemporaryDirectory(prefix="firefox-", ignore_cleanup_errors=True) as folder:
        profile = Path(folder)
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items()]
        (profile / "user.js").write_text("".join(lines))
        process = await start(profile)
        try:
            address = f"ws://127.0.0.1:{await debugging_port(profile)}/session"
            async with connect(address, compression=None, max_size=2**24) as socket:
                tab = FirefoxTab(socket)
                listening = asyncio.create_task(tab.listen())
                await tab.begin()
                yield tab
                assert tab.complaints == []
            await listening
        finally:
            await stop(process)


async def start(profile: Path) -> asyncio.subprocess.Process:
    """Firefox in a process group of its own, with nothing to open."""
    return await asyncio.create_subprocess_exec(
        FIREFOX,
        *("--headless", "--no-remote", "--remote-debugging-port", "0", "--profile", str(profile), "about:blank"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "MOZ_CRASHREPORTER_DISABLE": "1"},
    )


async def debugging_port(profile: Path) -> int:
    """The port that Firefox chose and wrote into its profile."""
    note = profile / "WebDriverBiDiServer.json"
    async with asyncio.timeout(START_WITHIN_S):
        while True:
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
                return int(json.loads(note.read_text())["ws_port"])
            await asyncio.sleep(0.05)


async def stop(process: asyncio.subprocess.Process) -> None:
    """End Firefox and its children, gently for 5 s."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 5)
            return

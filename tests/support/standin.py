"""A stand-in for the server, as the page sees it: the same files, headers and routes, controlled by the test.

Failures and drawing of the page are tested against it; speech and hearing against the real server.
"""

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from backend.http.headers import SecurityHeaders
from backend.sessions.event_log import EventLog, LoggedEvent, PageMessage
from responder_thinker.caller import cut_frames
from tests.support.http_server import serve
from tests.support.realtime_peer import Microphone
from tests.support.tones import tone

FRONTEND = Path(__file__).parents[2] / "frontend"
SESSION = "stand-in-session"
TOKEN = "stand-in-token"
CONVERSATION = "stand-in-conversation"
TICKET = {"session_id": SESSION, "conversation_id": CONVERSATION, "token": TOKEN}
VOICE_MS = 60_000
"""Seconds of sound in a call over WebRTC."""
CONFIG: dict[str, Any] = {
    "responder": {"name": "local Responder", "model": "local Responder", "offline": True},
    "memory": {"label": "embedded Redis 7.0 (append-only file in var/redis; survives a restart)"},
    "ice_servers": [],
    "thinkers": [
        {
            "domain": "weather",
            "label": "Weather",
            "description": "Conditions and forecasts",
            "example": "What's the weather in Seattle?",
        },
        {
            "domain": "knowledge",
            "label": "Knowledge",
            "description": "General questions",
            "example": "Tell me about Paris.",
        },
    ],
    "limits": {"session_max_minutes": 60},
}


class SpokenSocket:
    """One call over a WebSocket: the page's messages, and a voice to send it."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket
        self.pieces: list[bytes] = []
        self.messages: list[dict[str, Any]] = []

    async def listen(self) -> None:
        """Record messages until the page leaves."""
        await self._websocket.send_json({"type": "ready"})
        while (message := await self._websocket.receive())["type"] == "websocket.receive":
            if message.get("bytes"):
                self.pieces.append(message["bytes"])
            elif message.get("text"):
                self.messages.append(json.loads(message["text"]))

    async def speak(self, ms: int) -> None:
        """A 440 Hz tone, in pieces of 20 ms as the server sends them."""
        for frame in cut_frames(tone(440, ms, dbfs=-8.7)):
            pcm = base64.b64encode(frame).decode()
            await self._websocket.send_json({"type": "audio", "item": "a1", "pcm": pcm})

    async def flush(self) -> None:
        """Make the page drop its buffer."""
        await self._websocket.send_json({"type": "flush"})

    async def drop(self) -> None:
        """Break the connection."""
        await self._websocket.close(1011)


class StandIn:
    """The test's settings, and the page's actions."""

    def __init__(self) -> None:
        self.config: dict[str, Any] | Response = CONFIG
        self.offer_refusal: Response | None = None
        """Answers the next offer instead of a peer, once."""
        self.typing_refusal: Response | None = None
        self.preferences: dict[str, Any] = {}
        """The caller's choices in the profile."""
        self.interruptions: list[bool] = []
        """The page's settings of interruptions."""
        self.recorded: list[bool] = []
        """The page's settings of the recording."""
        self.asked: list[tuple[str, str]] = []
        """The actions on Thinkers: (call, cancel or say)."""
        self.cancelled_tasks: list[str] = []
        self.sockets: list[SpokenSocket] = []
        """The calls over WebSockets, oldest first."""
        self.events_status = 200
        """The status that answers the event stream and questions about the session."""
        self.event_log = EventLog()
        """The newest call's events."""
        self.user_events = EventLog()
        """Events outside of calls."""
        self.seen: list[str] = []
        """Notices that the page reports as seen."""
        self.reminders: list[dict[str, Any]] = []
        self.unreadable_tasks = self.unreadable_reminders = 0
        """The numbers of tasks and of reminders that this version of the server cannot read."""
        self.confirmations: list[dict[str, Any]] = []
        self.decisions: list[tuple[str, bool]] = []
        """Answers to confirmations: (id, whether the user agrees)."""
        self.offers: list[dict[str, Any]] = []
        self.typed: list[str] = []
        self.disconnects: list[dict[str, Any]] = []
        self.event_requests: list[tuple[str | None, str]] = []
        """`Last-Event-ID` and query of every request for an event stream."""
        self.record: list[dict[str, Any]] = []
        """The server's transcript."""
        self.said: list[dict[str, Any]] = []
        """The earlier words of the conversation; an empty list answers 404."""
        self.levels: list[dict[str, Any]] = []
        """The detector's scores for watching pages; an empty list answers 204."""
        self.url = ""
        self._peers: set[RTCPeerConnection] = set()
        self._streams: set[asyncio.Event] = set()

    def publish(self, type_: str, **data: Any) -> None:
        """Send one event to the page."""
        self.event_log.append(PageMessage(type_, data))

    def break_streams(self) -> None:
        """Cut every event stream, like a proxy that restarts."""
        for broken in self._streams:
            broken.set()

    async def lose_peers(self) -> None:
        """Close every call from this side."""
        await asyncio.gather(*(peer.close() for peer in self._peers))
        self._peers.clear()

    def app(self) -> SecurityHeaders:
        """The routes, behind the real server's security headers."""
        return SecurityHeaders(
            Starlette(
                routes=[
                    Route("/api/config", self._config),
                    Route("/auth/state", self._sign_in),
                    Route("/api/rtc/offer", self._offer, methods=["POST"]),
                    Route("/api/rtc/disconnect", self._disconnect, methods=["POST"]),
                    Route("/api/tasks", self._tasks),
                    Route("/api/tasks/{id}/cancel", self._cancel_task, methods=["POST"]),
                    Route("/api/me", self._me, methods=["GET", "PATCH"]),
                    Route("/api/me/events", self._me_events),
                    Route("/api/me/notices/{id}/seen", self._seen, methods=["POST"]),
                    Route("/api/confirmations", self._confirmations),
                    Route("/api/confirmations/{id}", self._answer_confirmation, methods=["POST"]),
                    Route("/notification/me", self._reminders),
                    Route("/notification/me/{id}", self._cancel_reminder, methods=["DELETE"]),
                    Route("/api/conversations/{id}", self._conversation),
                    Route("/api/sessions", self._open, methods=["POST"]),
                    WebSocketRoute("/ws/{id}", self._socket),
                    Route("/api/sessions/{id}/interruptions", self._interruptions, methods=["POST"]),
                    Route("/api/sessions/{id}/recording", self._recording, methods=["POST"]),
                    Route("/api/recordings", self._recordings),
                    Route("/api/sessions/{id}/thinkers/{call}/{what}", self._asked, methods=["POST"]),
                    Route("/api/sessions/{id}", self._session),
                    Route("/api/sessions/{id}/messages", self._typed, methods=["POST"]),
                    Route("/api/sessions/{id}/transcript", self._transcript),
                    Route("/api/events/{id}", self._events),
                    Route("/api/events/{id}/levels", self._levels),
                    Mount("/", StaticFiles(directory=FRONTEND, html=True)),
                ]
            )
        )

    async def _config(self, _: Request) -> Response:
        return self.config if isinstance(self.config, Response) else JSONResponse(self.config)

    async def _me(self, request: Request) -> Response:
        if request.method == "PATCH":
            changes = (await request.json())["changes"]
            self.preferences |= {each["name"]: each["value"] for each in changes if each["op"] == "set_preference"}
        nothing = {"facts": [], "summary": "", "signals": {}, "instructions": [], "retention_days": 0}
        return JSONResponse(nothing | {"preferences": self.preferences})

    async def _sign_in(self, _: Request) -> Response:
        return JSONResponse({"offered": False, "signed_in": False})

    async def _offer(self, request: Request) -> Response:
        body = await request.json()
        self.offers.append(body)
        if refusal := self.offer_refusal:
            self.offer_refusal = None
            return refusal
        self.event_log.close()
        self.event_log = EventLog()
        peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self._peers.add(peer)
        await peer.setRemoteDescription(RTCSessionDescription(sdp=body["sdp"], type="offer"))
        voice = Microphone()
        voice.waits += tone(440, VOICE_MS, dbfs=-14.7)
        peer.addTrack(voice)
        await peer.setLocalDescription(await peer.createAnswer())
        return JSONResponse({"sdp": peer.localDescription.sdp, **TICKET})

    async def _open(self, request: Request) -> Response:
        self.offers.append(await request.json())
        self.event_log.close()
        self.event_log = EventLog()
        return JSONResponse(TICKET)

    async def _socket(self, websocket: WebSocket) -> None:
        await websocket.accept()
        self.sockets.append(call := SpokenSocket(websocket))
        await call.listen()

    async def _asked(self, request: Request) -> Response:
        self.asked.append((request.path_params["call"], request.path_params["what"]))
        return JSONResponse({"ok": True}, status_code=202)

    async def _tasks(self, _: Request) -> Response:
        about = {"kind": "research", "instruction": "Compare heat pumps", "progress": "", "result": "", "source": ""}
        more = {"state": "canceled", "citations": [], "error": "", "created_at": 0}
        tasks = [{"id": id_, **about, **more} for id_ in self.cancelled_tasks]
        return JSONResponse({"tasks": tasks} | _unreadable(self.unreadable_tasks))

    async def _cancel_task(self, request: Request) -> Response:
        self.cancelled_tasks.append(request.path_params["id"])
        return JSONResponse({"outcome": "canceled"})

    async def _me_events(self, _: Request) -> Response:
        return StreamingResponse(self._stream(0, self.user_events), media_type="text/event-stream")

    async def _seen(self, request: Request) -> Response:
        self.seen.append(request.path_params["id"])
        return JSONResponse({"still_waited": True})

    async def _confirmations(self, _: Request) -> Response:
        return JSONResponse({"confirmations": self.confirmations})

    async def _answer_confirmation(self, request: Request) -> Response:
        agreed = (await request.json())["agreed"]
        self.decisions.append((request.path_params["id"], agreed))
        return JSONResponse({"agreed": agreed})

    async def _reminders(self, _: Request) -> Response:
        return JSONResponse({"notifications": self.reminders} | _unreadable(self.unreadable_reminders))

    async def _cancel_reminder(self, request: Request) -> Response:
        self.reminders = [each for each in self.reminders if each["id"] != request.path_params["id"]]
        return JSONResponse({"canceled": {}})

    async def _disconnect(self, request: Request) -> Response:
        self.disconnects.append(json.loads(await request.body()))
        self.publish("session_ended", reason="disconnected")
        return JSONResponse({"ok": True})

    async def _conversation(self, request: Request) -> Response:
        if request.path_params["id"] != CONVERSATION or not self.said:
            return refusal(404, "No such conversation.")
        return JSONResponse({"conversation_id": CONVERSATION, "busy": False, "messages": self.said})

    async def _session(self, _: Request) -> Response:
        return JSONResponse({"session_id": SESSION}, status_code=self.events_status)

    async def _typed(self, request: Request) -> Response:
        text = (await request.json())["text"]
        if self.typing_refusal:
            return self.typing_refusal
        self.typed.append(text)
        self.publish("transcript", role="user", item_id=f"typed-{len(self.typed)}", content=text)
        return JSONResponse({"ok": True}, status_code=202)

    async def _interruptions(self, request: Request) -> Response:
        if self.typing_refusal:
            return self.typing_refusal
        allowed = (await request.json())["allowed"]
        self.interruptions.append(allowed)
        self.publish("interruptions", allowed=allowed)
        return JSONResponse({"ok": True}, status_code=202)

    async def _recording(self, request: Request) -> Response:
        on = (await request.json())["on"]
        if self.typing_refusal:
            return self.typing_refusal
        self.recorded.append(on)
        self.publish("recording", recording_id="r" * 16, on=on, reason="" if on else "stopped")
        return JSONResponse({"on": on}, status_code=202)

    async def _recordings(self, _: Request) -> Response:
        return JSONResponse({"offered": False, "recordings": []})

    async def _transcript(self, _: Request) -> Response:
        return JSONResponse({"messages": self.record})

    async def _events(self, request: Request) -> Response:
        last = request.headers.get("last-event-id")
        self.event_requests.append((last, request.url.query))
        if self.events_status != 200:
            return Response(status_code=self.events_status)
        after = int(last or request.query_params.get("after") or 0)
        return StreamingResponse(self._stream(after), media_type="text/event-stream")

    async def _levels(self, _: Request) -> Response:
        if not self.levels:
            return Response(status_code=204)
        levels = "".join(f"event: levels\ndata: {json.dumps(each)}\n\n" for each in self.levels)
        return StreamingResponse(self._until_broken(f"retry: 60000\n\n{levels}"), media_type="text/event-stream")

    async def _until_broken(self, sent: str) -> AsyncIterator[str]:
        broken = asyncio.Event()
        self._streams.add(broken)
        yield sent
        try:
            await broken.wait()
        finally:
            self._streams.discard(broken)

    async def _stream(self, after: int, feed: EventLog | None = None) -> AsyncIterator[str]:
        broken = asyncio.Event()
        self._streams.add(broken)
        events = (feed or self.event_log).read(after)
        cut = asyncio.ensure_future(broken.wait())
        yield "retry: 200\n\n"
        try:
            while True:
                coming = asyncio.ensure_future(next_of(events))
                await asyncio.wait({coming, cut}, return_when=asyncio.FIRST_COMPLETED)
                if cut.done() or (event := coming.result()) is None:
                    coming.cancel()
                    return
                yield f"id: {event.id}\nevent: {event.type}\ndata: {json.dumps(event.data)}\n\n"
        finally:
            cut.cancel()
            self._streams.discard(broken)


async def next_of(events: AsyncIterator[LoggedEvent]) -> LoggedEvent | None:
    """The next event, or None after the last."""
    return await anext(events, None)


def refusal(status: int, message: str, hint: str = "", **headers: str) -> JSONResponse:
    """An error in the server's form; `headers` with underscores for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return JSONResponse({"error": {"message": message, "hint": hint}}, status_code=status, headers=named)


@contextlib.asynccontextmanager
async def standing_in() -> AsyncIterator[StandIn]:
    """A stand-in on a free port."""
    stand_in = StandIn()
    async with serve(stand_in.app(), lifespan="off") as stand_in.url:
        try:
            yield stand_in
        finally:
            stand_in.event_log.close()
            stand_in.user_events.close()
            stand_in.break_streams()
            await stand_in.lose_peers()


def _unreadable(count: int) -> dict[str, int]:
    return {"unreadable": count} if count else {}

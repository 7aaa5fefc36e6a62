"""`/api/recordings`: owners list, read, play, download and delete their recordings.

`POST /api/sessions/{id}/recording` gives the caller's consent to the recording of a live call, or takes it back.
"""

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, StrictBool
from starlette.responses import FileResponse, StreamingResponse

from backend.errors import Forbidden, NotOwner
from backend.extensions.recordings.ogg import wav_pieces
from backend.extensions.recordings.store import RecordingStore, StoredRecording, no_recording
from backend.http.bodies import documented, read_body
from backend.http.context import CERTAIN, Caller, Here, OwnSession, context_of, principal_of
from backend.http.long_answers import json_response
from backend.runtime.json_objects import Json
from backend.sessions.recorder import not_recorded

router = APIRouter(tags=["recordings"])


class RecordingSwitch(BaseModel):
    """The body of `POST /api/sessions/{id}/recording`."""

    on: StrictBool
    """true: the caller agrees that the call is recorded from now on; false: no more of it is recorded."""


@router.post("/api/sessions/{session_id}/recording", status_code=202, openapi_extra=documented(RecordingSwitch))
async def switch_recording(request: Request, here: Here, caller: Caller, session: OwnSession) -> Json:
    """Begin recording the call, with the caller's consent, or stop. 422 unless it is live and may be recorded."""
    await here.messages.take(session.id, here.now())
    body = await read_body(request, RecordingSwitch)
    if body.on and caller.user != session.owner:
        raise Forbidden("Only the caller may have the call recorded.")
    if body.on and not here.services.calls.records:
        raise not_recorded()
    recording_id = await session.record(body.on)
    return {"on": body.on} | ({"recording_id": recording_id} if recording_id else {})


@router.get("/api/recordings", dependencies=CERTAIN)
async def list_recordings(request: Request, here: Here) -> Json:
    """List the caller's recordings, newest first. `offered`: whether calls may be recorded here."""
    principal, offered = principal_of(request), here.services.calls.records
    kept = [each.shown() for each in await here.of(RecordingStore).all_of(principal.user)]
    return {"offered": offered, "recordings": [each for each in kept if principal.opens(each["conversation_id"])]}


async def own_recording(request: Request, recording_id: str) -> StoredRecording:
    """Return the recording in the path, for its owner. Raises the same `NotFound` for all others."""
    principal = principal_of(request)
    found = await context_of(request).of(RecordingStore).find(principal.user, recording_id)
    if not principal.opens(found.journal.begin.conversation_id):
        error = no_recording()
        raise NotOwner(str(error), hint=error.hint)
    return found


OwnRecording = Annotated[StoredRecording, Depends(own_recording)]


@router.get("/api/recordings/{recording_id}", response_model=Json, dependencies=CERTAIN)
async def show_recording(recording: OwnRecording, download: Annotated[bool, Query()] = False) -> Response:
    """Return the words, with the time of each utterance and word in the recording. `download`: as a file."""
    headers = _as_file(recording, "json") if download else {}
    return await json_response(recording.with_words(), headers)


@router.get(
    "/api/recordings/{recording_id}/audio",
    responses={200: {"content": {"audio/ogg": {}, "audio/wav": {}}}},
    dependencies=CERTAIN,
)
async def play_recording(
    recording: OwnRecording,
    format: Annotated[Literal["opus", "wav"], Query()] = "opus",  # noqa: A002 - the parameter's name in the address
    download: Annotated[bool, Query()] = False,
) -> Response:
    """Return the sound (left: the caller, right: the assistant) as Opus in Ogg, also in byte ranges, or as WAV."""
    if format == "wav":
        pieces = wav_pieces(recording.audio)  # Starlette takes them in threads
        return StreamingResponse(pieces, media_type="audio/wav", headers=_as_file(recording, "wav"))
    if not await asyncio.to_thread(recording.audio.is_file):
        raise no_recording()
    headers = _as_file(recording, "ogg") if download else {}
    return FileResponse(recording.audio, media_type="audio/ogg", headers=headers)


@router.delete("/api/recordings/{recording_id}", dependencies=CERTAIN)
async def delete_recording(request: Request, here: Here, recording_id: str) -> Json:
    """Delete a recording; one under way ends first. 503 if it does not end in time: try again."""
    await own_recording(request, recording_id)
    await here.of(RecordingStore).delete(principal_of(request).user, recording_id)
    return {"ok": True}


def _as_file(recording: StoredRecording, kind: str) -> dict[str, str]:
    """Return the header by which a browser saves the answer under a name with the call's day and time."""
    at = datetime.fromtimestamp(recording.journal.begin.at, UTC)
    return {"content-disposition": f'attachment; filename="call-{at:%Y-%m-%d-%H%M%S}.{kind}"'}

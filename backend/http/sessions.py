"""`/api/sessions` opens sessions, shows them, types into them, controls their Thinkers, and deletes them."""

from fastapi import APIRouter, BackgroundTasks, Request, Response

from backend.access.addresses import address_key
from backend.http.bodies import Interruptions, NewSession, ShownPicture, TypedMessage, documented, read_body
from backend.http.calls import admit_call, reserve, ticket
from backend.http.context import Caller, Here, OwnSession, billing_of, require_certainty
from backend.http.long_answers import json_response
from backend.http.services import forget_conversation, forgetting
from backend.media.pictures import checked_picture
from backend.runtime.json_objects import Json

router = APIRouter(tags=["sessions"])


@router.post("/api/sessions", openapi_extra=documented(NewSession))
async def open_session(request: Request, background: BackgroundTasks, here: Here, caller: Caller) -> Json:
    """Reserve a session for a WebSocket call: connect to `/ws/{session_id}` within 15 s."""
    await here.offers.take(address_key(request), here.now())
    body = await read_body(request, NewSession)
    session = await reserve(request, caller, body, background, await admit_call(here, billing_of(request)))
    await here.services.calls.sessions.announce(session)
    return ticket(here, caller, session.id, session.conversation_id)


@router.get("/api/sessions")
async def list_sessions(here: Here, caller: Caller) -> Json:
    """List the caller's sessions, newest first: live ones, and those ended in the last ten minutes."""
    owned = await here.services.calls.sessions.owned_by(caller.user)
    shown = [await session.describe() for session in owned]
    return {"sessions": [each for each in shown if caller.principal.opens(each["conversation_id"])]}


@router.get("/api/sessions/{session_id}")
async def show_session(session: OwnSession) -> Json:
    """Return the session's state and times, its Responder, and counts."""
    return {**await session.describe()}


@router.get("/api/sessions/{session_id}/transcript", response_model=Json)
async def show_transcript(session: OwnSession) -> Response:
    """Return what was said, oldest first; of an interrupted reply, the part that was heard."""
    return await json_response({"messages": await session.transcript()})


@router.post("/api/sessions/{session_id}/messages", status_code=202, openapi_extra=documented(TypedMessage))
async def type_message(request: Request, here: Here, caller: Caller, session: OwnSession) -> Json:
    """Add typed input to the call's conversation. 422 unless the call is live."""
    await here.messages.take(session.id, here.now())
    body = await read_body(request, TypedMessage)
    await session.type_text(body.text, shared=caller.user != session.owner)
    return {"ok": True}


@router.post("/api/sessions/{session_id}/pictures", status_code=202, openapi_extra=documented(ShownPicture))
async def show_picture(request: Request, here: Here, caller: Caller, session: OwnSession) -> Json:
    """Show the model a picture, with or without typed words. The picture is not kept.

    422 unless the call is live and its model sees pictures; 413 for one over 512 KB.
    """
    await here.pictures.take(session.id, here.now())
    body = await read_body(request, ShownPicture)
    await session.type_text(body.text, (checked_picture(body.picture),), shared=caller.user != session.owner)
    return {"ok": True}


@router.post("/api/sessions/{session_id}/interruptions", status_code=202, openapi_extra=documented(Interruptions))
async def switch_interruptions(request: Request, here: Here, session: OwnSession) -> Json:
    """Set whether the caller's voice may interrupt replies from now on. 422 unless the call is live."""
    await here.messages.take(session.id, here.now())
    body = await read_body(request, Interruptions)
    await session.allow_interruptions(body.allowed)
    return {"ok": True}


@router.delete("/api/sessions/{session_id}")
async def delete_session(request: Request, here: Here, caller: Caller, session: OwnSession) -> Json:
    """End the call and forget it; for its owner, the conversation, too. 503 when memory is out of reach: ask again."""
    conversation_id = (await session.describe())["conversation_id"]
    await session.end("deleted")
    async with forgetting("The call has ended, but its conversation could not be erased yet."):
        if session.owner == caller.user:  # A token opens the call, not what was said before it.
            require_certainty(request)
            await forget_conversation(here.services, session.owner, conversation_id)
    await session.forget()
    return {"ok": True}


@router.post("/api/sessions/{session_id}/thinkers/{call_id}/cancel", status_code=202)
async def cancel(here: Here, session: OwnSession, call_id: str) -> Json:
    """Stop a Thinker's work. 404 for an unknown tool call, 422 when it is over."""
    await here.messages.take(session.id, here.now())
    await session.cancel_thinker(call_id)
    return {"ok": True}


@router.post("/api/sessions/{session_id}/thinkers/{call_id}/say", status_code=202)
async def say(here: Here, session: OwnSession, call_id: str) -> Json:
    """Speak a late answer (`stale`) when the floor is free. 404 for an unknown tool call, 422 without an answer."""
    await here.messages.take(session.id, here.now())
    await session.say_answer(call_id)
    return {"ok": True}

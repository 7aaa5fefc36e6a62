"""`/api/sessions/{id}/thinkers/{call_id}`: what the caller wants of one Thinker, beside the conversation.

The turn machine decides: a dismissed Thinker's question is answered with just that, and a late answer asked for is
spoken when the floor is free. What became of it comes as a `thinker` event.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from backend.http.context import Here, OwnSession

router = APIRouter(tags=["thinkers"])


@router.post("/api/sessions/{session_id}/thinkers/{call_id}/cancel", status_code=202)
async def cancel(here: Here, session: OwnSession, call_id: str) -> dict[str, Any]:
    """Stop the work. 404 for a call nobody made, 422 when it is over."""
    here.messages.take(session.id, here.now())
    await session.cancel_thinker(call_id)
    return {"ok": True}


@router.post("/api/sessions/{session_id}/thinkers/{call_id}/say", status_code=202)
async def say(here: Here, session: OwnSession, call_id: str) -> dict[str, Any]:
    """Speak an answer that came too late (`stale`). 404 for a call nobody made, 422 when there is none."""
    here.messages.take(session.id, here.now())
    await session.say_answer(call_id)
    return {"ok": True}

"""`/v1/chat/completions` and `/v1/models`: typed turns for clients of the OpenAI API.

Such a client sends the whole conversation each time, and the server keeps none of it. A known caller may name a
conversation (`metadata.conversation_id`), or have a new one kept (`store`): the turn then continues the kept one.
"""

import re
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from backend.access.addresses import address_key
from backend.chat.turn import ChatTurn
from backend.errors import BadField, VoiceError
from backend.extensions.chat_completions.request import MODEL, Completion, as_request, parse
from backend.extensions.chat_completions.shapes import DONE, Shape, encode
from backend.http.bodies import CONVERSATION_ID, documented, read_raw
from backend.http.chat import begin_turn, own_conversation
from backend.http.context import Context, Here, identity_of
from backend.http.openai_errors import error_object
from backend.http.sse import HEARTBEAT, EventStream
from backend.runtime.json_objects import Json

STARTED = int(time.time())

router = APIRouter(tags=["openai"])


@router.post("/v1/chat/completions", openapi_extra=documented(Completion))
async def complete(request: Request, here: Here) -> Response:
    """Answer the last message as a typed turn; errors have the OpenAI API's shape."""
    identity = identity_of(request)
    await here.turns.take(identity.user if identity.known else address_key(request), here.now())
    completion = parse(await read_raw(request))
    _check_mode(here, completion)
    asked = as_request(completion, identity.user)
    kept = _conversation(request, completion)
    asked = replace(asked, caller_scope=identity.principal.caller_scope, conversation_id=kept)
    turn = await begin_turn(request, here, asked)
    shape = Shape(
        f"chatcmpl-{secrets.token_hex(12)}",
        completion.model,
        one_call=completion.parallel_tool_calls is False,
        with_usage=completion.wants_usage,
    )
    if completion.stream:
        return EventStream(_stream(turn, shape, here.heartbeat_s))
    return JSONResponse(shape.whole(await turn.wait()))


@router.get("/v1/models")
async def list_models(here: Here) -> Json:
    """List the names that a client may use as a model."""
    return {"object": "list", "data": [_model(name) for name in _names(here)]}


@router.get("/v1/models/{model}")
async def show_model(here: Here, model: str) -> Json:
    """Show one model. Another name is answered with 404, although a request may name any model."""
    if model not in _names(here):
        raise BadField("There is no such model.", param="model", code="model_not_found", status=404)
    return _model(model)


def _names(here: Context) -> list[str]:
    modes = here.services.work.chat.modes.names
    return [MODEL, *(f"{MODEL}:{mode}" for mode in modes), here.services.settings.realtime.model]


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": STARTED, "owned_by": MODEL}


def _check_mode(here: Context, completion: Completion) -> None:
    modes = here.services.work.chat.modes.names
    if completion.mode and completion.mode not in modes:
        hint = f"The models are: {', '.join(_names(here))}."
        raise BadField("There is no such mode.", param="model", code="model_not_found", hint=hint, status=404)


def _conversation(request: Request, completion: Completion) -> str | None:
    """Return the ID of the turn's conversation; None if nothing is kept. Raises `BadField`."""
    identity = identity_of(request)
    named = (completion.metadata or {}).get("conversation_id")
    if named is not None and not re.fullmatch(CONVERSATION_ID, named):
        hint = "Use up to 64 letters, digits, hyphens and underscores."
        raise BadField("That is not a conversation ID.", param="metadata.conversation_id", hint=hint)
    if named is not None and not identity.known:
        hint = "Send a token signed with a key from API_KEYS or a visitor's cookie, or leave the conversation out."
        raise BadField("Only known callers have conversations.", param="metadata.conversation_id", hint=hint)
    own = own_conversation(identity.principal, named)
    return own or (secrets.token_urlsafe(16) if completion.store and identity.known else None)


async def _stream(turn: ChatTurn, shape: Shape, heartbeat_s: float) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of a turn while it runs; the turn is cancelled when the reader leaves."""
    yield encode([shape.begin()])
    async with aclosing(turn.follow(heartbeat_s)) as stream:
        async for events in stream:
            chunks = [chunk for event in events for chunk in shape.on_event(event.type, event.data)]
            if chunks or not events:
                yield encode(chunks) or HEARTBEAT
    error = turn.end.exception()
    assert error is None or isinstance(error, VoiceError)
    yield encode(shape.end(turn.end.result()) if error is None else [error_object(error)])
    yield DONE

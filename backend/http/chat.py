"""Typed turns and conversations: `/api/multiturn`, `/api/singleturn`, `/api/conversations`, and `/embedding`.

The cookie identifies the caller. The operator's programs may speak for a platform's users. A session's token stands for
its owner, but only in that session's conversation.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import asdict, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from msgspec import to_builtins
from pydantic import BaseModel, Field, StringConstraints, model_validator

from backend.access.addresses import address_key
from backend.access.concurrency import PermitKind
from backend.access.principal import Grant, Principal
from backend.access.usage import TURN
from backend.chat.client_messages import ClientMessage, as_turn
from backend.chat.turn import ChatRequest, ChatTurn
from backend.errors import BadField, BadRequest, Forbidden, NotFound, NotOwner
from backend.http.bodies import ConversationId, documented, read_body
from backend.http.context import CERTAIN, Caller, Context, Here, identity_of, principal_of, spend, spending, take_permit
from backend.http.long_answers import json_response
from backend.http.on_behalf import USER_LIMIT, speak_for
from backend.http.services import forget_conversation, forgetting
from backend.http.sse import EventStream, encode_events
from backend.runtime.json_objects import Json
from backend.storage.ledger.recall import recall
from backend.storage.memory import HISTORY_LIMIT
from backend.storage.messages import new_message_id, without_retried

TEXT_LIMIT = 8_000
"""The most characters of one message."""
MESSAGES_LIMIT = 40
"""The most messages that a request may carry."""
NO_CONVERSATION_HINT = "It may have expired: a conversation ends after an hour without a message."

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=TEXT_LIMIT)]
Unstripped = Annotated[str, StringConstraints(min_length=1, max_length=TEXT_LIMIT)]
MessageId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,64}$")]
PlatformUser = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=USER_LIMIT)]
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{0,32}$")]


class SingleTurn(BaseModel):
    """`POST /api/singleturn`."""

    message: Text | None = None
    messages: list[ClientMessage] = Field(default_factory=list, max_length=MESSAGES_LIMIT)
    platform: Label = ""
    user_id: PlatformUser | None = None
    """A user of `platform` (empty: `api`). Only the operator's programs may name one."""
    mode: Label = ""
    stream: bool = False

    @model_validator(mode="after")
    def _one_question(self) -> SingleTurn:
        if (self.message is None) == (not self.messages):
            raise ValueError("send either `message` or `messages`")
        return self

    def turn(self, principal: Principal) -> ChatRequest:
        """Return the request, which belongs to no conversation. Raises `BadRequest`, which names a wrong field."""
        messages = self.messages or [ClientMessage(role="user", content=self.message)]
        try:
            asked = as_turn(messages, principal.user)
        except BadField as error:
            raise BadRequest(f"{error.param}: {error}", hint=error.hint) from None
        return replace(asked, platform=self.platform, mode=self.mode, caller_scope=principal.caller_scope)


class MultiTurn(SingleTurn):
    """`POST /api/multiturn`."""

    conversation_id: ConversationId | None = None
    message_id: MessageId | None = None

    def turn(self, principal: Principal) -> ChatRequest:
        """Return the request, in `conversation_id` or a new one. Raises `NotFound` for another user's."""
        named = own_conversation(principal, self.conversation_id)
        return replace(
            super().turn(principal),
            conversation_id=named or secrets.token_urlsafe(16),
            named_conversation=named is not None,
            message_id=self.message_id or new_message_id(),
        )


class Texts(BaseModel):
    """`POST /embedding`: one text, or up to 64."""

    input: Unstripped | Annotated[list[Unstripped], Field(min_length=1, max_length=64)]


router = APIRouter(tags=["chat"])


@router.post("/api/multiturn", openapi_extra=documented(MultiTurn))
async def multiturn(request: Request, here: Here) -> Response:
    """Answer a message in a conversation; `stream` returns the events as they occur.

    409 while the conversation is busy with another message. A repeated `message_id` joins its turn or gets its answer.
    """
    return await _answer(request, here, MultiTurn)


@router.post("/api/singleturn", openapi_extra=documented(SingleTurn))
async def singleturn(request: Request, here: Here) -> Response:
    """Answer one message by itself: nothing earlier is known, and nothing is stored."""
    return await _answer(request, here, SingleTurn)


@router.get("/api/conversations", dependencies=CERTAIN)
async def list_conversations(
    here: Here,
    request: Request,
    q: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[float | None, Query(ge=0, allow_inf_nan=False)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Json:
    """List the caller's conversations, the latest first. Only the cookie counts. 503 when they are out of reach.

    `q` selects conversations that contain this text. `before` is a Unix time: the `updated_at` of the last one shown.
    """
    principal, ledger = principal_of(request), here.services.data.ledger
    if ledger is None:
        notes: Sequence[Any] = await here.services.data.memory.conversations(principal.user)
    else:
        notes = await ledger.conversations(principal.user, containing=q.strip(), before=before, limit=limit)
    return {"conversations": [asdict(note) for note in notes if principal.opens(note.id)]}


@router.get("/api/conversations/{conversation_id}", dependencies=CERTAIN)
async def show_conversation(request: Request, here: Here, conversation_id: str) -> Json:
    """Return what was said by voice and text, oldest first. 404 when it does not exist or is another user's."""
    user = _owner(request, conversation_id)
    memory, ledger = here.services.data.memory, here.services.data.ledger
    messages = without_retried(await recall(memory, ledger, user, conversation_id, HISTORY_LIMIT, live=False))
    busy = await here.services.work.chat.busy(user, conversation_id)
    if not messages and not busy:
        raise _no_conversation()
    return {"conversation_id": conversation_id, "busy": busy, "messages": to_builtins(messages)}


@router.get("/api/conversations/{conversation_id}/export", dependencies=CERTAIN)
async def export_conversation(request: Request, here: Here, conversation_id: str) -> Response:
    """Return all data of a conversation as a file, with tool calls and costs. 404 when there is none."""
    user, ledger = _owner(request, conversation_id), here.services.data.ledger
    entries = await ledger.entries(user, conversation_id) if ledger else []
    if not entries:
        raise _no_conversation()
    headers = {"content-disposition": 'attachment; filename="conversation.json"'}
    return await json_response({"conversation_id": conversation_id, "entries": entries}, headers)


@router.post("/api/conversations/{conversation_id}/cancel")
async def cancel_turn(request: Request, here: Here, conversation_id: str) -> Json:
    """Stop the running answer. The part that was already sent stays in the conversation."""
    user = _owner(request, conversation_id)
    return {"cancelled": await here.services.work.chat.cancel(user, conversation_id)}


@router.delete("/api/conversations/{conversation_id}", dependencies=CERTAIN)
async def delete_conversation(request: Request, here: Here, conversation_id: str) -> Json:
    """Stop the conversation's answer, end its calls, and forget it. 503 when memory is out of reach: ask again."""
    user = _owner(request, conversation_id)
    services = here.services
    await services.work.chat.settle(user, conversation_id)
    for session in await services.calls.sessions.owned_by(user):
        shown = await session.describe()
        if shown["conversation_id"] == conversation_id and shown["state"] != "ended":
            await session.end("deleted")
    async with forgetting("The conversation could not be erased yet."):
        await forget_conversation(services, user, conversation_id)
    return {"ok": True}


def own_conversation(principal: Principal, named: str | None) -> str | None:
    """Return the conversation of a turn: the named one, or the only one that the caller may name.

    Raises `NotFound` for one that the caller may not name.
    """
    if named is not None and not principal.opens(named):
        raise NotOwner("No such conversation.", hint=NO_CONVERSATION_HINT)
    return named or principal.conversation


def _owner(request: Request, conversation_id: str) -> str:
    principal = principal_of(request)
    own_conversation(principal, conversation_id)
    return principal.user


async def _answer(request: Request, here: Context, model: type[SingleTurn]) -> Response:
    """Count the turn for its user, or for the address of a new caller, and answer it."""
    identity = identity_of(request)
    is_program = Grant.ON_BEHALF in identity.principal.grants
    if not is_program:
        await here.turns.take(identity.user if identity.known else address_key(request), here.now())
    body = await read_body(request, model)
    if body.user_id is not None:
        await speak_for(request, body.platform or "api", body.user_id)
    elif is_program and not (identity.user and Grant.CHAT in identity.principal.grants):
        raise Forbidden("The request names no user.", hint="Send user_id and platform.")
    if is_program:
        await here.turns.take(identity.user, here.now())
    turn = await begin_turn(request, here, body.turn(identity.principal))
    if body.stream:
        return EventStream(_stream(turn, here.heartbeat_s))
    return JSONResponse(asdict(await turn.wait()))


async def begin_turn(request: Request, here: Context, asked: ChatRequest) -> ChatTurn:
    """Begin the turn at its caller's expense. Raises `TooMany` over a limit or a budget, or as `Chat.begin`."""
    async with spending(request, TURN):
        permit = await take_permit(request, PermitKind.TURNS)
        try:
            turn = await here.services.work.chat.begin(asked)
        except BaseException:
            await permit.release()
            raise
    permit.release_after(turn.end)
    return turn


def _no_conversation() -> NotFound:
    return NotFound("No such conversation.", hint=NO_CONVERSATION_HINT)


async def _stream(turn: ChatTurn, heartbeat_s: float) -> AsyncGenerator[bytes, None]:
    async with aclosing(turn.follow(heartbeat_s)) as stream:
        async for events in stream:
            yield encode_events(events)


@router.post("/embedding", openapi_extra=documented(Texts))
async def embedding(request: Request, here: Here, caller: Caller) -> Json:
    """Return one vector for each text. 503, naming the setting, where there is no embedding model."""
    await here.turns.take(f"embedding {caller.user if caller.known else address_key(request)}", here.now())
    body = await read_body(request, Texts)
    await spend(request, TURN)
    texts = [body.input] if isinstance(body.input, str) else body.input
    vectors = await here.services.work.embedder.embed(texts)
    return {"model": here.services.work.embedder.model, "dimensions": len(vectors[0]), "embeddings": vectors}

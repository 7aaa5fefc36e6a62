"""Chat completions passed on to the model that `LOCAL_MODEL_URL` names, so that the Thinkers ask it, too."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import msgspec
import openai
from starlette.responses import JSONResponse, Response, StreamingResponse

from local_responder.dialogue.chat_model import ChatModelDialogue, ModelFailed


async def forward(body: bytes, model: ChatModelDialogue) -> Response:
    """Answer one request with what the model's server answers, piece by piece; HTTP 502 where it is not there."""
    try:
        request = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return _failure(400, "The body is not a JSON object.")
    try:
        upstream = await model.send(request)
    except (ModelFailed, openai.APIError, httpx2.HTTPError):
        return _failure(502, "The local model does not answer.")

    async def pieces() -> AsyncIterator[bytes]:
        try:
            async for piece in upstream.aiter_raw():
                yield piece
        finally:  # also when our client has gone: then the server ends its work
            await upstream.aclose()

    return StreamingResponse(pieces(), upstream.status_code, media_type=upstream.headers.get("content-type"))


def _failure(status: int, message: str) -> Response:
    error = {"message": message, "type": "server_error", "param": None, "code": None}
    return JSONResponse({"error": error}, status_code=status)

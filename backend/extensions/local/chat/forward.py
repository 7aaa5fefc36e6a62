"""Chat completions passed on to the model that `LOCAL_MODEL_URL` names, so that the Thinkers ask it, too."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import httpx2
import msgspec
import openai
from starlette.responses import JSONResponse, Response, StreamingResponse

from backend.extensions.local.dialogue.chat_model import ChatModelDialogue, ModelFailed

log = logging.getLogger(__name__)


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

    return StreamingResponse(_lines(upstream), upstream.status_code, media_type=upstream.headers.get("content-type"))


async def _lines(upstream: httpx2.Response) -> AsyncIterator[bytes]:
    """Yield whole lines as they come; where the model's server breaks off its events, an error is the last of them.

    Half a line is no JSON: it is held until its end comes, and dropped where it never does.
    """
    held = b""
    try:
        async for piece in upstream.aiter_raw():
            whole, end, held = (held + piece).rpartition(b"\n")
            if end:
                yield whole + end
        if held:
            yield held
    except httpx2.HTTPError as broken:
        if not upstream.headers.get("content-type", "").startswith("text/event-stream"):
            raise  # a body that ends too soon says it by itself
        log.warning("The local model broke off: %s", broken or type(broken).__name__)
        yield b"\ndata: " + msgspec.json.encode(_error("The local model broke off.")) + b"\n\n"
    finally:  # also when our client has gone: then the server ends its work
        await upstream.aclose()


def _failure(status: int, message: str) -> Response:
    return JSONResponse(_error(message), status_code=status)


def _error(message: str) -> dict[str, object]:
    return {"error": {"message": message, "type": "server_error", "param": None, "code": None}}

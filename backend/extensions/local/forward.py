"""Chat completions passed on to the model that `LOCAL_MODEL_URL` names, so that the Thinkers ask it, too."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import httpx2
import msgspec
from starlette.responses import Response, StreamingResponse

from backend.errors import ModelUnavailable
from backend.extensions.local.dialogue.chat_model import ChatModelDialogue
from backend.responders.serving.service import failure

log = logging.getLogger(__name__)


async def forward(body: bytes, model: ChatModelDialogue) -> Response:
    """Answer one request with what the model's server answers, piece by piece; HTTP 502 where it is not there."""
    try:
        request = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return failure(400, "The body is not a JSON object.", "server_error")
    try:
        upstream = await model.send(request)
    except (ModelUnavailable, httpx2.HTTPError):
        return failure(502, "The local model does not answer.", "server_error")
    return StreamingResponse(_pieces(upstream), upstream.status_code, media_type=upstream.headers.get("content-type"))


async def _pieces(upstream: httpx2.Response) -> AsyncIterator[bytes]:
    """Yield what comes; where the model's server breaks off, the answer ends too soon, which clients see."""
    try:
        async for piece in upstream.aiter_raw():
            yield piece
    except httpx2.HTTPError as broken:
        log.warning("The local model broke off: %s", broken or type(broken).__name__)
    finally:  # also when our client has gone: then the server ends its work
        await upstream.aclose()

"""`POST /embedding`: texts to vectors, through the configured model."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, StringConstraints

from backend.http.bodies import documented, read_body
from backend.http.context import Caller, Here
from backend.http.limits import address_key

Text = Annotated[str, StringConstraints(min_length=1, max_length=8_000)]

router = APIRouter(tags=["embedding"])


class Texts(BaseModel):
    """`POST /embedding`: one text, or up to 64."""

    input: Text | Annotated[list[Text], Field(min_length=1, max_length=64)]


@router.post("/embedding", openapi_extra=documented(Texts))
async def embedding(request: Request, here: Here, caller: Caller) -> dict[str, Any]:
    """One vector for each text. 503, saying what to set, where there is no model."""
    here.turns.take(f"embedding {caller.user if caller.known else address_key(request)}", here.now())
    body = await read_body(request, Texts)
    texts = [body.input] if isinstance(body.input, str) else body.input
    vectors = await here.services.embedder.embed(texts)
    return {"model": here.services.embedder.model, "dimensions": len(vectors[0]), "embeddings": vectors}

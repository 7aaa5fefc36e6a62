"""The number of calls of the local Responder, over real HTTP and WebSockets: one more is refused before it begins."""

import json

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.extensions.local.local_process import local_responder
from tests.support.waiting import until


async def test_a_call_over_the_limit_is_refused_with_503_and_accepted_once_another_has_ended() -> None:
    with local_responder("--calls", "1") as url:
        address = url.replace("http", "ws", 1) + "/realtime?model=local"
        async with connect(address) as first:
            assert json.loads(await first.recv())["type"] == "session.created"
            with pytest.raises(InvalidStatus) as refused:
                await connect(address)
            response = refused.value.response
            assert response.status_code == 503 and response.headers["Retry-After"] == "15"
            error = json.loads(response.body or b"")["error"]
            assert error["code"] == "too_many_calls" and "LOCAL_CALLS" in error["message"]

        async def let_in() -> bool:
            try:
                async with connect(address) as again:
                    return bool(json.loads(await again.recv())["type"] == "session.created")
            except InvalidStatus:
                return False

        await until(let_in)

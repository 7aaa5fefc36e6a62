"""The first sound of a reply in a call: not that of the clip which a slow machine lets the server play before it."""

from backend.testing.waiting import TIMEOUT_S
from tests.support.running_server import PlacedCall
from tests.support.waiting import until


async def reply_sounds(call: PlacedCall, within_s: float = TIMEOUT_S) -> None:
    """Wait until the Responder's first reply has words, and then for a sound."""

    def worded() -> bool:
        deltas = [data for data in call.events_of("transcript_delta") if data["role"] == "assistant"]
        return any(not data["item_id"].startswith("clip-") for data in deltas)

    await until(worded, within_s)
    await call.hears_something(within_s)

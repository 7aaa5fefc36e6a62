"""Tells the webhooks that were sent something of a user that the user's data was erased, so that they erase theirs.

The event is `user.deleted` with the user id that they know. It goes beside the answer to the user, is tried as often as
every delivery, and one that nobody accepted is logged: the receiver must then be told by the operator.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection

from backend.notifications.webhooks import WebhookClient, WebhookFailed
from backend.runtime.supervisor import cancel_all

log = logging.getLogger(__name__)

EVENT = "user.deleted"
AT_ONCE = 200
"""Deletions that are on their way at most; users ask for few."""
CLOSE_WITHIN_S = 5.0
"""Seconds that those under way have at the end."""


class DeletionNotifier:
    """Sends `user.deleted` to every one of `webhooks`, which it closes at the end."""

    def __init__(self, webhooks: Collection[WebhookClient]) -> None:
        self._webhooks = webhooks
        self._sending: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"DeletionNotifier({len(self._webhooks)} webhooks, {len(self._sending)} under way)"

    def notify(self, user_id: str) -> None:
        """Send it, without waiting."""
        for webhook in self._webhooks:
            if len(self._sending) >= AT_ONCE:
                log.error("a %s was not sent: too many are under way", EVENT)
                return
            task = asyncio.create_task(self._send(webhook, user_id), name=EVENT)
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def close(self) -> None:
        """Finish what is under way within a few seconds, and close the connections."""
        if self._sending:
            await asyncio.wait(self._sending, timeout=CLOSE_WITHIN_S)
        await cancel_all(list(self._sending), within_s=1.0)
        for webhook in self._webhooks:
            await webhook.close()

    async def _send(self, webhook: WebhookClient, user_id: str) -> None:
        try:
            await webhook.send(EVENT, {"user": user_id, "at": time.time()})
        except WebhookFailed as error:
            log.error("%r did not accept a %s: %s", webhook, EVENT, error)

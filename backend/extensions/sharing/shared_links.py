"""Shared links: public addresses of the words of a conversation, until they expire or are revoked.

    user:{id}:shared_links     the user's links, as a list
    shared-link:{link's id}    its owner, until it expires

A link holds no words: its page shows what the conversation had when it was shared, for as long as the
conversation is kept. Every method may raise `MemoryUnavailable`.
"""

import math
import secrets
from dataclasses import dataclass
from typing import cast

from backend.errors import BadRequest
from backend.storage.client import Pipe
from backend.storage.record_format import FORMAT, Format
from backend.users.lists import UserLists

LINKS_LIMIT = 50
"""The most working links of one user."""
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class SharedLink:
    """One link. Times are Unix times in seconds."""

    id: str
    conversation_id: str
    shared_at: float
    """The moment of sharing; later words are not shown."""
    expires_at: float
    format: Format = FORMAT


class SharedLinks(UserLists[SharedLink]):
    """The links of all users. A user sees only their own."""

    name = "shared_links"
    kind = SharedLink

    async def share(self, user_id: str, conversation_id: str, *, days: float) -> SharedLink:
        """Create a link to the present state of a conversation. Raises `BadRequest` when the user has too many."""
        now = self._clock()
        link = SharedLink(secrets.token_urlsafe(16), conversation_id, now, now + days * DAY_S)

        def added(kept: list[SharedLink]) -> list[SharedLink]:
            left = [one for one in kept if one.expires_at > now]
            if len(left) >= LINKS_LIMIT:
                raise BadRequest(f"You already share {LINKS_LIMIT} conversations.", hint="Revoke a link first.")
            return [*left, link]

        await self.change(user_id, added)
        return link

    async def of(self, user_id: str) -> list[SharedLink]:
        """Return the user's links that have not expired, the newest first."""
        now = self._clock()
        return [one for one in reversed(await self.read(user_id)) if one.expires_at > now]

    async def find(self, link_id: str) -> tuple[str, SharedLink] | None:
        """Return the owner and the link; None if it has expired, was revoked, or never existed."""
        owner = cast(bytes | None, await self._client.call(lambda redis: redis.get(_key(link_id))))
        if owner is None:
            return None
        user_id = owner.decode()
        found = next((one for one in await self.of(user_id) if one.id == link_id), None)
        return (user_id, found) if found else None

    async def revoke(self, user_id: str, link_id: str) -> bool:
        """Revoke a link; return whether there was one."""
        known = any(one.id == link_id for one in await self.of(user_id))
        await self.change(user_id, lambda kept: [one for one in kept if one.id != link_id])
        return known

    async def forget_conversation(self, user_id: str, conversation_id: str) -> None:
        """Revoke every link to a conversation."""
        await self.change(user_id, lambda kept: [one for one in kept if one.conversation_id != conversation_id])

    async def erase(self, user_id: str) -> None:
        await self.change(user_id, lambda _: [])
        await super().erase(user_id)  # and what could not be read

    def on_changed(self, pipe: Pipe, user_id: str, old: list[SharedLink], new: list[SharedLink]) -> None:
        """Store the owner of each new link, and delete those of links that are gone."""
        for link in new:
            if link not in old:
                pipe.set(_key(link.id), user_id, exat=math.ceil(link.expires_at))
        for link in old:
            if link not in new:
                pipe.delete(_key(link.id))


def _key(link_id: str) -> str:
    return f"shared-link:{link_id}"

"""The parts that the routes of shared transcripts need: the links, their signatures, and limits on reading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from itsdangerous import BadSignature, Signer

from backend.access.rates import Buckets
from backend.extensions.sharing.shared_links import SharedLink, SharedLinks

TOKEN_LIMIT = 128
"""Characters of a token that are looked at."""
ID = re.compile(r"[A-Za-z0-9_-]{22}")
READS_PER_MINUTE = 60
"""Requests for shared transcripts that one address may make; the page makes two."""


class LinkTokens:
    """Signs the ids of links. Reading never raises: a foreign token is None."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        """`keys`: the first signs, all are read."""
        self._signer = Signer(list(reversed(keys)), "shared-link", key_derivation="hmac", digest_method=sha256)

    def sign(self, link: SharedLink) -> str:
        """Return the token that opens `link`."""
        return self._signer.sign(link.id).decode()

    def read(self, token: str) -> str | None:
        """Return the id of the link that `token` was made for."""
        if len(token) > TOKEN_LIMIT or not token.isascii():
            return None
        try:
            link_id = self._signer.unsign(token).decode()
        except BadSignature:
            return None
        return link_id if ID.fullmatch(link_id) else None


@dataclass(frozen=True, slots=True)
class Sharing:
    """Shared transcripts of this server."""

    links: SharedLinks
    tokens: LinkTokens
    readers: Buckets
    """The limits on readers of shared transcripts."""
    days: float
    """The longest that a link works; 0: sharing is off."""

"""An API key is a tenant: the users that its tokens and programs name belong to it, and no other key reaches them.

The id of such a user begins with the key's id and a dot, so that no two keys can mean the same user, and no key means a
visitor, a user who has signed in or a caller by telephone.
"""

import hashlib
from dataclasses import dataclass

from backend.errors import BadRequest

ID_LIMIT = 128
"""The most characters of a user's id, which the ledger has room for."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """The users that a program may name."""

    key: str
    """The id of the API key that signed the program's token."""
    heir: bool = False
    """Whether it has the users of platforms with former ids, which name no key: `@platform-hash`."""
    operator: bool = False
    """Whether the token grants `admin`, too, and so may name every user of this server."""

    def reaches(self, user: str) -> bool:
        """Return whether the program may act for the user with this id."""
        return self.operator or user.startswith(f"{self.key}.") or (self.heir and user.startswith("@"))

    def user(self, name: str) -> str:
        """Return the id of the user that the program names, by the whole id or without the key's.

        Raises `BadRequest` for a name that is too long.
        """
        user = name if self.reaches(name) else f"{self.key}.{name}"
        if len(user) > ID_LIMIT:
            raise BadRequest("The user's ID is too long.", hint=f"With the key's, it may have {ID_LIMIT} characters.")
        return user

    def platform_user(self, platform: str, user_id: str) -> str:
        """Return the id of a platform's user, which is always the same."""
        digest = hashlib.sha256(f"{platform}\0{user_id}".encode()).hexdigest()
        return f"{'' if self.heir else f'{self.key}.'}@{platform}-{digest[:32]}"

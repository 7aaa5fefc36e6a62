"""How the settings say who is admitted."""

from __future__ import annotations

from typing import Literal

AccessMode = Literal["open", "key", "oidc"]
"""`open`: everyone; `key`: programs with a token that one of API_KEYS signed; `oidc`: users who have signed in."""

"""Proof of work: finding a number takes long, checking it does not (Hashcash; Back, 2002). Pure.

The caller is given a challenge and looks for an answer for which SHA-256 of `challenge:answer` begins with so many zero
bits: 2^bits hashes on average.
"""

from __future__ import annotations

import hashlib
from itertools import count

from backend.errors import CallerError

HASH_BITS = 256


class WorkRequired(CallerError):
    """The caller is to prove some work first: answer `challenge` with a hash that begins with `bits` zero bits."""

    status = 428

    def __init__(self, message: str, *, challenge: str, bits: int, expires_in_s: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.challenge = challenge
        self.bits = bits
        self.expires_in_s = expires_in_s


def proof(challenge: str, bits: int) -> str:
    """Return `challenge:answer`. Takes about a second for 20 bits, twice as long for each further one."""
    begun = hashlib.sha256(f"{challenge}:".encode())
    for number in count():
        tried = begun.copy()
        tried.update(b"%d" % number)
        if _zero_bits(tried.digest()) >= bits:
            return f"{challenge}:{number}"
    raise AssertionError("numbers do not end")


def proves(shown: str, bits: int) -> bool:
    """Return whether the hash of `shown`, a challenge with its answer, begins with `bits` zero bits."""
    return _zero_bits(hashlib.sha256(shown.encode("utf-8", "surrogateescape")).digest()) >= bits


def _zero_bits(digest: bytes) -> int:
    return HASH_BITS - int.from_bytes(digest).bit_length()

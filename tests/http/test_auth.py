"""A signature is valid if we made it, for this purpose, and not too long ago."""

import pytest

from backend.access.credentials import (
    COOKIE_AGE_S,
    RENEW_AFTER_S,
    Signatures,
    token_age_s,
)
from tests.http.world import settings_with

KEY = b"a key of tests, and of nothing else"


def signatures(at: float = 1_000_000.0, key: bytes = KEY) -> Signatures:
    return Signatures(key, token_age_s=60, clock=lambda: at)


@pytest.mark.parametrize(
    "forge",
    [
        lambda cookie: cookie[:-1] + ("A" if cookie[-1] != "A" else "B"),
        lambda cookie: "eve" + cookie[3:],
        lambda cookie: cookie.split(".")[0],
        lambda cookie: "",
        lambda cookie: cookie + "ü",
        lambda cookie: cookie * 10,
        lambda cookie: "..",
        lambda cookie: None,
    ],
)
def test_a_forged_cookie_names_no_user(forge: object) -> None:
    assert callable(forge)
    assert signatures().user(forge(signatures().cookie("ada"))) is None


def test_a_cookie_is_renewed_after_a_month_and_expires_after_400_days() -> None:
    cookie = signatures(at=0).cookie("ada")
    month_old = signatures(at=RENEW_AFTER_S + 1).user(cookie)
    assert month_old is not None and month_old.ageing
    assert signatures(at=COOKIE_AGE_S).user(cookie) is not None
    assert signatures(at=COOKIE_AGE_S + 1).user(cookie) is None


def opens(ours: Signatures, token: str | None, session_id: str) -> bool:
    opened = ours.opened(token)
    return opened is not None and opened.session_id == session_id


def test_a_token_expires() -> None:
    token = signatures(at=0).token("first")
    assert opens(signatures(at=60), token, "first")
    assert not opens(signatures(at=61), token, "first")


def test_a_cookie_is_not_a_token_and_a_token_is_not_a_cookie() -> None:
    both = signatures()
    assert not opens(both, both.cookie("same"), "same")
    assert both.user(both.token("same")) is None


def test_a_token_is_valid_for_ten_minutes_beyond_the_longest_call() -> None:
    assert token_age_s(settings_with(session_max_minutes=60)) == 70 * 60
    assert token_age_s(settings_with(session_max_minutes=0)) == 24 * 3600

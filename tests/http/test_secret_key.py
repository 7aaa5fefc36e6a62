"""The signing key is given, or made once in a private file."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from pydantic import SecretStr

from backend.access.credentials import Signatures
from backend.access.secret_key import secret_keys
from backend.errors import SettingsError
from backend.settings.settings import Settings
from tests.http.world import settings_with


def kept_in(data_dir: Path, key: str | None = None) -> Settings:
    return settings_with(data_dir=data_dir, secret_key=SecretStr(key) if key else None)


def only_key(settings: Settings) -> bytes:
    (key,) = secret_keys(settings)
    return key


def test_the_first_of_several_keys_signs_and_all_verify(tmp_path: Path) -> None:
    old, new = "o" * 16, "n" * 16
    before = Signatures(secret_keys(kept_in(tmp_path, old)), token_age_s=60)
    during = Signatures(secret_keys(kept_in(tmp_path, f"{new},{old}")), token_age_s=60)
    after = Signatures(secret_keys(kept_in(tmp_path, new)), token_age_s=60)
    assert during.user(before.cookie("ada")) is not None
    assert after.user(before.cookie("ada")) is None
    assert after.user(during.cookie("ada")) is not None, "the cookie was not signed with the first key"


def test_a_given_key_is_used_without_a_file(tmp_path: Path) -> None:
    assert only_key(kept_in(tmp_path, "sixteen letters!")) == b"sixteen letters!"
    assert list(tmp_path.iterdir()) == []


def test_a_generated_key_is_used_again_at_the_next_start(tmp_path: Path) -> None:
    data_dir = tmp_path / "not" / "there" / "yet"
    first = only_key(kept_in(data_dir))
    assert len(first) == 64
    (file,) = data_dir.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert only_key(kept_in(data_dir)) == first


def test_parallel_starts_get_the_same_key(tmp_path: Path) -> None:
    together = Barrier(8)

    def start(_: int) -> bytes:
        together.wait(10)
        return only_key(kept_in(tmp_path))

    with ThreadPoolExecutor(8) as starts:
        assert len(set(starts.map(start, range(8)))) == 1


def test_a_short_key_is_refused_in_settings_and_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="SECRET_KEY"):
        only_key(kept_in(tmp_path, "short"))
    (tmp_path / "secret_key").write_text("short")
    with pytest.raises(SettingsError):
        only_key(kept_in(tmp_path))


def test_a_data_directory_that_cannot_be_made_is_named_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError) as caught:
        only_key(kept_in(tmp_path / "file"))
    assert "SECRET_KEY" in caught.value.hint

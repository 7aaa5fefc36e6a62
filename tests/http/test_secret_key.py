"""The signing key: given, or made once, whole, and for us alone."""

from __future__ import annotations

import asyncio
import stat
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from backend.access.secret_key import secret_keys
from backend.access.signatures import Signatures
from backend.errors import SettingsError
from backend.settings.settings import Settings
from tests.http.world import settings_with

RACER = """
import sys; from pathlib import Path
from backend.access.signatures import Signatures
from backend.access.secret_key import secret_keys
from backend.settings.settings import load_settings
settings = load_settings(_env_file=None, secret_key=None, data_dir=Path(sys.argv[1]))
print("ready", flush=True); sys.stdin.readline()
print(secret_keys(settings)[0].decode())
"""


def kept_in(data_dir: Path, key: str | None = None) -> Settings:
    return settings_with(data_dir=data_dir, secret_key=SecretStr(key) if key else None)


def only_key(settings: Settings) -> bytes:
    (key,) = secret_keys(settings)
    return key


def test_of_several_keys_the_first_signs_and_all_are_read(tmp_path: Path) -> None:
    old, new = "o" * 16, "n" * 16
    before = Signatures(secret_keys(kept_in(tmp_path, old)), token_age_s=60)
    during = Signatures(secret_keys(kept_in(tmp_path, f"{new},{old}")), token_age_s=60)
    after = Signatures(secret_keys(kept_in(tmp_path, new)), token_age_s=60)
    assert during.user(before.cookie("ada")) is not None
    assert after.user(before.cookie("ada")) is None
    assert after.user(during.cookie("ada")) is not None, "it is signed with the first"


def test_a_given_key_is_used_and_nothing_is_written(tmp_path: Path) -> None:
    assert only_key(kept_in(tmp_path, "sixteen letters!")) == b"sixteen letters!"
    assert list(tmp_path.iterdir()) == []


def test_a_made_key_is_kept_for_the_next_start(tmp_path: Path) -> None:
    data_dir = tmp_path / "not" / "there" / "yet"
    first = only_key(kept_in(data_dir))
    assert len(first) == 64
    assert only_key(kept_in(data_dir)) == first


def test_the_made_key_is_readable_by_us_alone_and_leaves_no_draft(tmp_path: Path) -> None:
    only_key(kept_in(tmp_path))
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_processes_that_race_get_the_same_key(tmp_path: Path) -> None:
    racers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", RACER, str(tmp_path), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        for _ in range(3)
    ]
    for racer in racers:
        assert racer.stdout is not None
        await asyncio.wait_for(racer.stdout.readline(), 30)
    answers = await asyncio.gather(*(asyncio.wait_for(racer.communicate(b"go\n"), 30) for racer in racers))
    keys = {out.strip() for out, _ in answers}
    assert len(keys) == 1
    assert len(keys.pop()) == 64


def test_a_short_key_is_refused_wherever_it_stands(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="SECRET_KEY is too short"):
        only_key(kept_in(tmp_path, "short"))
    (tmp_path / "secret_key").write_text("short")
    with pytest.raises(SettingsError, match="too short"):
        only_key(kept_in(tmp_path))


def test_a_directory_that_cannot_be_made_is_told_with_its_mend(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError) as caught:
        only_key(kept_in(tmp_path / "file"))
    assert "SECRET_KEY" in caught.value.hint

"""The key that signs cookies and tokens comes from SECRET_KEY, or is created once and stored in DATA_DIR."""

import os
import secrets
import tempfile
from pathlib import Path

from backend.errors import SettingsError
from backend.settings.settings import Settings

MIN_LENGTH = 16
"""The fewest characters of a key; a created one has 64."""


def secret_keys(settings: Settings) -> list[bytes]:
    """Return the keys. The first signs and all verify, so that a key can be replaced without signing users out.

    Raises `SettingsError` when one is too short, or cannot be read or stored.
    """
    if settings.access.secret_key is not None:
        keys = [part.strip() for part in settings.access.secret_key.get_secret_value().split(",")]
        return [_checked(key, "SECRET_KEY") for key in keys]
    path = settings.memory.data_dir / "secret_key"
    try:
        if not path.exists():
            _create(path)
        return [_checked(path.read_text("ascii").strip(), str(path))]
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"The signing key in {path} cannot be read or created ({type(error).__name__}).",
            hint="Make DATA_DIR writable, or set SECRET_KEY.",
        ) from error


def _create(path: Path) -> None:
    """Write a new key to a file beside `path`, then link it into place.

    A link fails when the name is taken. So when two processes race, both read the winner's key, and no process ever
    reads a half-written one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".secret_key-")  # The mode is 0600.
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        try:
            Path(path).hardlink_to(draft)
        except FileExistsError:
            return
    finally:
        Path(draft).unlink()


def _checked(key: str, where: str) -> bytes:
    if len(key) < MIN_LENGTH:
        raise SettingsError(
            f"{where} is too short: {len(key)} characters.",
            hint=f"Use at least {MIN_LENGTH} random characters, or leave it unset to have one created.",
        )
    return key.encode()

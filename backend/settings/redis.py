"""The address of Redis with its password and its certificate authority, which are set apart from it. Pure."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, urlsplit


def complete_redis_url(url: str, *, password: str = "", ca_file: Path | None = None) -> str:
    """Return `url` as clients take it, with what it lacks: the password, and the file that holds the CA.

    A password inside `url` stays. Raises `ValueError` for a CA without TLS.
    """
    parts = urlsplit(url)
    if password and parts.password is None:
        _, _, place = parts.netloc.rpartition("@")
        parts = parts._replace(netloc=f"{quote(parts.username or '', safe='')}:{quote(password, safe='')}@{place}")
    if ca_file is not None and "ssl_ca_certs=" not in parts.query:
        if parts.scheme != "rediss":
            raise ValueError("REDIS_CA_FILE needs TLS: a REDIS_URL that begins with rediss://")
        named = f"ssl_ca_certs={quote(str(ca_file), safe='/')}"
        parts = parts._replace(query="&".join(part for part in (parts.query, named) if part))
    # Unchanged it stays as it is written: `geturl` makes `unix:/path` of `unix:///path`, which is refused.
    return url if parts == urlsplit(url) else parts.geturl()


def read_password(file: Path) -> str:
    """Return the password that `file` holds. Raises `ValueError` when there is none."""
    try:
        password = file.read_text().strip()
    except OSError as error:
        raise ValueError(f"REDIS_PASSWORD_FILE: {file} cannot be read ({error.strerror})") from error
    if not password:
        raise ValueError(f"REDIS_PASSWORD_FILE: {file} is empty")
    return password

"""Small pictures, made here."""

from __future__ import annotations

import base64
import struct
import zlib


def png(width: int = 3, height: int = 2, *, noise: bytes = b"\x80", comment: bytes = b"") -> bytes:
    """A PNG; `noise` is repeated as its grey values, so that a long random one makes a large file."""
    rows = b"".join(b"\x00" + (noise * width)[y % len(noise) :][:width] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunk = _chunk(b"tEXt", b"Comment\x00" + comment) if comment else b""
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + chunk
        + _chunk(b"IDAT", zlib.compress(rows))
        + _chunk(b"IEND", b"")
    )


def data_url(picture: bytes, kind: str = "image/png") -> str:
    """Its data URL."""
    return f"data:{kind};base64,{base64.b64encode(picture).decode()}"


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

"""JSON objects, where they enter from a client, a model, a service or Redis, and where they leave to one.

Inside the server data has types of its own; a file that names `Json` is one where JSON comes in or goes out.
`scripts/structure.py` counts those files.
"""

from __future__ import annotations

from typing import Any

import msgspec

Json = dict[str, Any]
"""A JSON object, decoded and unchecked."""

_decoder = msgspec.json.Decoder(Json)


def decode_object(raw: bytes | str) -> Json:
    """Return the JSON object in `raw`.

    Raises `msgspec.DecodeError` when it is not JSON and `msgspec.ValidationError`, which is one, when it is JSON of
    another kind. `runtime.faults.decode_or_skip` turns either into a counted record that is skipped.
    """
    return _decoder.decode(raw)

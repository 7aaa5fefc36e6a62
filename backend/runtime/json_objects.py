"""JSON objects, for the places where they come from a client, a model, a service or Redis, or go to one.

Inside the server data has types of its own: only files in which JSON comes in or goes out use `Json`.
`scripts/structure.py` counts those files.
"""

from typing import Any

import msgspec

Json = dict[str, Any]
"""A JSON object, decoded and unchecked."""

_decoder = msgspec.json.Decoder(Json)


def decode_object(raw: bytes | str) -> Json:
    """Return the JSON object in `raw`.

    Raises `msgspec.DecodeError` if it is not JSON, and its subclass `msgspec.ValidationError` if it is JSON of another
    kind. `runtime.faults.decode_or_skip` skips and counts records with either error.
    """
    return _decoder.decode(raw)

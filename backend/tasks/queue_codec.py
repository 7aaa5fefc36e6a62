"""The queue's messages are written and read as JSON. The library would pickle it, and run what a pickle says.

A writer to that Redis could then run code in a worker. pydocket has no setting for it, so this file replaces
the name `cloudpickle` in its modules; `tests/tasks/test_queue_codec.py` verifies that nothing there reads a pickle.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec


def write(value: object) -> bytes:
    """Return `value` as JSON; of what JSON does not know, such as the error of a run that failed, the type's name."""
    return msgspec.json.encode(value, enc_hook=lambda unknown: type(unknown).__name__)


def read(data: bytes | str) -> Any:
    """Return what the JSON in `data` says. Raises `msgspec.DecodeError`, for a pickle too."""
    return msgspec.json.decode(data)


def replace_pickle() -> None:
    """Have the library write and read its messages here, and read no instructions to leave tasks out.

    Such instructions ("strikes") are nothing this server gives; without them a connection is spared as well. May be
    called again.
    """
    import docket.docket
    import docket.execution
    import docket.strikelist
    import docket.worker

    codec = SimpleNamespace(dumps=write, loads=read)
    for module in (docket.execution, docket.strikelist, docket.worker):
        vars(module)["cloudpickle"] = codec
    vars(docket.docket)["StrikeList"] = lambda **_: docket.strikelist.StrikeList()

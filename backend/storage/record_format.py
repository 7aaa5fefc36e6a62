"""The version that every stored record carries, so that no server reads what a newer one means otherwise.

A new field has a default, and an unknown one is ignored: neither changes the version, and servers of both versions may
run side by side. Only what an older server would misunderstand raises `FORMAT`: it then skips such records, counts them
(`runtime.faults`) and leaves them where they are.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

FORMAT = 1
Format = Annotated[int, msgspec.Meta(ge=1, le=FORMAT)]
"""The type of a record's field `format`; the default is `FORMAT`, and a higher one is not decoded."""

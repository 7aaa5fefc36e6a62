"""Every stored record carries a version, so that an older server does not misread it.

New fields have defaults, and unknown ones are ignored: neither changes the version, so servers of both versions may run
at the same time. Only a change that older servers would misunderstand raises `FORMAT`: they skip such records, count
them (`runtime.faults`) and leave them in place.
"""

from typing import Annotated

import msgspec

FORMAT = 1
Format = Annotated[int, msgspec.Meta(ge=1, le=FORMAT)]
"""The type of a record's field `format`; the default is `FORMAT`, and a higher one is not decoded."""

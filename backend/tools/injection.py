"""Services by type: what a tool or a step asks for in its signature, and what it is given.

A parameter annotated with a service's exact type is given that service; one annotated `Service | None` is given None
where nobody provides it.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin


def service_type(hint: Any) -> tuple[Any, bool]:
    """The service an annotation asks for, and whether it can do without: `Memory | None` → (Memory, True)."""
    if get_origin(hint) in (Union, types.UnionType):
        wanted = [part for part in get_args(hint) if part is not types.NoneType]
        if len(wanted) == 1:
            return wanted[0], True
    return hint, False


def provided(hint: Any, services: Mapping[Any, Any]) -> bool:
    """Whether `injected` has something to give."""
    kind, optional = service_type(hint)
    return optional or kind in services


def injected(hint: Any, services: Mapping[Any, Any]) -> Any:
    """The service, or None for an optional one that nobody provides. Raises `KeyError` for a missing one."""
    kind, optional = service_type(hint)
    return services.get(kind) if optional else services[kind]

"""A scripted peer that can die and come back at the same address, started as the tests start one."""

from __future__ import annotations

from functools import partial

from backend.testing.peer import MortalPeer as MortalPeer
from backend.testing.peer import mortal_peer as any_mortal_peer
from tests.support.offline_peer import start

mortal_peer = partial(any_mortal_peer, start=start)

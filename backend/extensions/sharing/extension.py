"""Links by which a user shares the transcript of a conversation."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.access.principal import Grant
from backend.access.rates import Buckets
from backend.access.store import AccessStore
from backend.extension import Extension, Ground, Opened
from backend.extensions.sharing.routes import READS_PER_MINUTE, Sharing, router
from backend.extensions.sharing.settings import SharingSettings
from backend.extensions.sharing.shared_links import SharedLinks


@asynccontextmanager
async def open_sharing(ground: Ground) -> AsyncIterator[Opened]:
    """Open the links. With sharing off, old links still work, and are exported and erased."""
    if not ground.serves:
        yield Opened()
        return
    settings, days = ground.settings, ground.settings.of(SharingSettings).days
    links = SharedLinks(ground.redis, ttl_s=ground.retention_s)
    shared = AccessStore(ground.redis) if settings.server.several_processes else None
    readers = Buckets(READS_PER_MINUTE, what="requests for shared transcripts", name="readers", shared=shared)
    sharing = Sharing(links, readers, days)
    page = {"days": days} if days else None
    yield Opened(services={Sharing: sharing}, user_data={"shared links": links}, page=page)


EXTENSION = Extension(
    name="sharing",
    title="Sharing",
    settings=(SharingSettings,),
    open=open_sharing,
    routes=(router,),
    grants={
        "/api/links": Grant.CHAT,
        "/api/shared": None,  # the link that was shared is the credential
        "/shared": None,
    },
    former={"SHARED_LINK_DAYS": "SHARING__DAYS"},
)

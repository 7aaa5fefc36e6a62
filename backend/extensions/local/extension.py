"""The Responder without a provider: recognition, dialogue and voice on this machine."""

from backend.extension import Extension
from backend.extensions.local.dialogue.vectors import local_embeddings
from backend.extensions.local.provider import is_installed, open_local, share_local
from backend.extensions.local.settings import LocalSettings, OfflineSettings

EXTENSION = Extension(
    name="local",
    title="Local Responder",
    settings=(LocalSettings, OfflineSettings),
    responders={"local": open_local},
    fallback="local" if is_installed() else "",
    share=share_local,
    embedder=local_embeddings,
    thinkers=("backend.extensions.local.phrases",),
    former=dict.fromkeys(("LOCAL_VOICE", "LOCAL_VOICES_FOLDER", "OFFLINE_SCRIPT"), "Remove it."),
)

"""A tour shows every Thinker at work, without a key or a network."""

from backend.extension import Extension, ModuleCommand

EXTENSION = Extension(
    name="tour",
    commands={
        "tour": ModuleCommand("backend.extensions.tour", "Show every Thinker at work, without a key or a network.")
    },
)

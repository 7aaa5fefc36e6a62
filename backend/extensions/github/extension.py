"""Issues on GitHub, by voice and by text."""

from backend.extension import Extension
from backend.extensions.github.settings import GitHubSettings

EXTENSION = Extension(
    name="github",
    title="GitHub issues",
    settings=(GitHubSettings,),
    tools=("backend.extensions.github.issue",),
    thinkers=("backend.extensions.github.engineering",),
    secrets=("GITHUB__TOKEN",),
    former={"GITHUB__REPOS": "GITHUB__REPO"},
)

"""The registry finds all Thinkers in this package, in extensions and in the plugin folders.

Everything that names domains derives from the manifests: the routing tool's enum, the guide in the Responder's prompt,
the page's labels.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import msgspec

from backend.agent.context import SourceMode
from backend.errors import BadPlugin, BadRequest
from backend.runtime.json_objects import Json
from backend.thinkers.base import Addition, Answer, Manifest
from backend.thinkers.run import ThinkerDependencies, ThinkerRun
from backend.tools.discovery import file_of, package_modules
from backend.tools.registry import Registry

ROUTE_TOOL = "route_to_thinker"
CATCH_ALL = "knowledge"
"""The domain to which questions of unknown domains go."""
QUERY_LIMIT = 2_000
"""The most characters of a question."""
FORM = 'Send {"domain": "…", "query": "…"}.'


@dataclass(frozen=True, slots=True)
class Thinker:
    """A manifest and the code that answers."""

    manifest: Manifest
    think: Callable[[ThinkerRun], Awaitable[Answer]]
    file: str = ""
    """The file in which it was found."""


@dataclass(frozen=True, slots=True)
class Route:
    """The arguments of a `route_to_thinker` call."""

    manifest: Manifest
    query: str
    background: bool
    """Whether the user asked for the work to be done in the background."""


class _Arguments(msgspec.Struct):
    domain: str
    query: str
    background: Any = False


_decoder = msgspec.json.Decoder(_Arguments)


class ThinkerRegistry:
    """All Thinkers of a process, with the dependencies they share."""

    def __init__(
        self,
        thinkers: Iterable[Thinker],
        dependencies: ThinkerDependencies,
        without_model: frozenset[SourceMode] = frozenset(),
    ) -> None:
        self.dependencies = dependencies
        self._without_model = without_model
        self._by_domain: dict[str, Thinker] = {}
        for thinker in thinkers:
            domain = thinker.manifest.domain
            if other := self._by_domain.get(domain):
                raise BadPlugin(f"Two Thinkers claim {domain}: {other.file} and {thinker.file}.")
            dependencies.toolbox.only(thinker.manifest.tools)  # It raises when a tool does not exist.
            self._by_domain[domain] = thinker

    @classmethod
    def discover(
        cls,
        dependencies: ThinkerDependencies,
        package: str = "backend.thinkers",
        further: Iterable[ModuleType] = (),
        *,
        without_model: frozenset[SourceMode] = frozenset(),
    ) -> ThinkerRegistry:
        """Register every module of `package`, and those of `further`, that hold a `MANIFEST`.

        `without_model` are the source modes in which no language model reads the guide. A plugin replaces the package's
        Thinker of the same domain; each of its `ADDITIONS` joins the Thinker that it names. A Thinker is left out if
        none of its tools is set up.

        Raises `BadPlugin` for a broken file, a repeated domain, or an unknown tool.
        """
        further = tuple(further)
        own = [thinker_of(module) for module in package_modules(package) if hasattr(module, "MANIFEST")]
        plugins = [thinker_of(module) for module in further if hasattr(module, "MANIFEST")]
        replaced = {one.manifest.domain for one in plugins}
        kept = (one for one in own if one.manifest.domain not in replaced)
        found = _with_additions([*kept, *plugins], _additions(further, dependencies.toolbox))
        return cls(
            [one for one in found if _can_serve(one.manifest, dependencies.toolbox)], dependencies, without_model
        )

    def take_over(self, newer: ThinkerRegistry) -> None:
        """Serve the Thinkers of `newer`. Running questions go on with the Thinkers and tools that they have."""
        self.dependencies.toolbox.take_over(newer.dependencies.toolbox)
        self._by_domain = newer._by_domain

    @property
    def manifests(self) -> tuple[Manifest, ...]:
        """The manifests in the alphabetical order of their domains."""
        return tuple(self._by_domain[domain].manifest for domain in sorted(self._by_domain))

    def route_tool(self, turns: SourceMode) -> Json:
        """Return the function tool for the Responder in such turns, in the Realtime API's JSON form.

        If no language model reads the guide, the schema itself explains each domain by examples.
        """
        domain: Json = {
            "type": "string",
            "enum": [one.domain for one in self.manifests],
            "description": "The specialist.",
        }
        if turns in self._without_model:
            domain["oneOf"] = [described(one) for one in self.manifests]
            domain |= {"default": CATCH_ALL} if CATCH_ALL in self._by_domain else {}
        query = (
            "The whole question in one sentence that can be understood by itself: names, places and dates from the "
            "conversation put in."
        )
        properties: Json = {
            "domain": domain,
            "query": {"type": "string", "description": query},
        }
        if patient := ", ".join(manifest.domain for manifest in self.manifests if manifest.background):
            background = (
                f"Only for {patient}: true when the user does not want to wait for the answer, as in “take your time”, "
                "“in the background” or “let me know”. It is then worked on without them, and told later."
            )
            properties["background"] = {"type": "boolean", "description": background}
        parameters = {"type": "object", "properties": properties, "required": ["domain", "query"]}
        return {
            "type": "function",
            "name": ROUTE_TOOL,
            "description": "Ask a specialist. Use it for everything that needs facts, current data or thought.",
            "parameters": parameters | {"additionalProperties": False},
        }

    def guide(self) -> str:
        """Return the routing guide for a language model's prompt, one line for each domain."""
        return guide(self.manifests)

    def parse(self, name: str, arguments: str) -> Route:
        """Read the Responder's tool call. Raises `BadRequest` with a message that the model can act on."""
        if name != ROUTE_TOOL:
            raise BadRequest(f"There is no tool {name[:64]!r}. Call {ROUTE_TOOL} with a domain and a query.")
        try:
            asked = _decoder.decode(arguments)
        except (msgspec.DecodeError, RecursionError):
            raise BadRequest(f"The arguments do not fit. {FORM} A domain is one of: {self._names()}.") from None
        if not asked.query.strip():
            raise BadRequest("The query is missing. Send the whole question as a sentence.")
        if len(asked.query) > QUERY_LIMIT:
            raise BadRequest(f"The query is over {QUERY_LIMIT:,} characters. Send only the question.")
        manifest = self.manifest_of(asked.domain.strip().lower())
        return Route(manifest, asked.query.strip(), background=asked.background is True)

    def serving(self, domain: str) -> Thinker:
        """Return the Thinker of `domain`, or the one for unknown domains. Raises `BadRequest`."""
        thinker = self._by_domain.get(domain) or self._by_domain.get(CATCH_ALL)
        if thinker is None:
            raise BadRequest(f"There is no such domain. It is one of: {self._names()}.")
        return thinker

    def manifest_of(self, domain: str) -> Manifest:
        """Return the manifest of the Thinker that serves `domain`. Raises `BadRequest`."""
        return self.serving(domain).manifest

    def _names(self) -> str:
        return ", ".join(sorted(self._by_domain))


def _additions(modules: Iterable[ModuleType], toolbox: Registry) -> list[Addition]:
    """Return the additions of modules, without those that have no tool set up."""
    found: Iterator[Addition] = (one for module in modules for one in getattr(module, "ADDITIONS", ()))
    return [one for one in found if not one.tools or not toolbox.left_out.issuperset(one.tools)]


def _with_additions(thinkers: list[Thinker], additions: Iterable[Addition]) -> list[Thinker]:
    """Return the Thinkers with their additions. Raises `BadPlugin` for an addition to an unknown Thinker."""
    by_domain = {one.manifest.domain: place for place, one in enumerate(thinkers)}
    for addition in additions:
        if addition.domain not in by_domain:
            raise BadPlugin(f"An addition would join {addition.domain}, which is no Thinker.")
        thinker = thinkers[by_domain[addition.domain]]
        thinkers[by_domain[addition.domain]] = replace(thinker, manifest=addition.to(thinker.manifest))
    return thinkers


def _can_serve(manifest: Manifest, toolbox: Registry) -> bool:
    """Return whether any of a Thinker's tools is set up, or it needs none."""
    return not manifest.tools or not toolbox.left_out.issuperset(manifest.tools)


def guide(manifests: Iterable[Manifest]) -> str:
    """Return the routing guide, one line for each domain; a language model needs no `phrases`."""
    return "\n".join(
        f"- {one.domain}: for {one.description}. Example: "
        + " ".join(f"“{said}”" for said in (one.example, *one.examples))
        for one in manifests
    )


def described(manifest: Manifest) -> Json:
    """Return one domain of the routing tool's schema, with all examples for its Thinker."""
    said = [manifest.example, *manifest.examples, *manifest.phrases]
    return {"const": manifest.domain, "description": manifest.description, "examples": said}


def thinker_of(module: ModuleType) -> Thinker:
    """Return the Thinker that `module` declares. Raises `BadPlugin` for a module without a `MANIFEST`."""
    manifest = getattr(module, "MANIFEST", None)
    if not isinstance(manifest, Manifest):
        raise BadPlugin(f"{file_of(module)} has no MANIFEST, or one that is not a Manifest.")
    return Thinker(manifest, getattr(module, "think", ThinkerRun.answer), file_of(module))

"""The tool that takes a domain and a question, found among those on offer by its form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local_responder.dialogue.intents import Question, without_patience


@dataclass(frozen=True, slots=True)
class Routing:
    """A tool that takes a domain and a question, with the names its schema gives them."""

    name: str
    domain_field: str
    query_field: str
    domains: tuple[str, ...]
    background_field: str = ""
    """The flag of a question whose answer is not waited for; empty: there is none."""

    def arguments(self, question: Question) -> str:
        """The call's JSON."""
        query, patient = without_patience(question.query)
        values: dict[str, Any] = {self.domain_field: question.domain, self.query_field: query}
        if patient and self.background_field:
            values[self.background_field] = True
        return json.dumps(values, ensure_ascii=False)


def routing_of(tools: Sequence[Mapping[str, Any]]) -> Routing | None:
    """The first tool with an enumeration to choose from and a text to fill: who may be asked, and how."""
    for tool in tools:
        fields: dict[str, Any] = (tool.get("parameters") or {}).get("properties") or {}
        domain = next((name for name, schema in fields.items() if schema.get("enum")), None)
        texts = [name for name, schema in fields.items() if schema.get("type") == "string" and not schema.get("enum")]
        if domain and texts:
            query = "query" if "query" in texts else texts[0]
            flag = "background" if fields.get("background", {}).get("type") == "boolean" else ""
            return Routing(tool["name"], domain, query, tuple(fields[domain]["enum"]), flag)
    return None

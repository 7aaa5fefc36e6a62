"""The table of docs/howto/providers.md agrees with the providers' records."""

import re
from math import isfinite
from pathlib import Path

from backend.responders.base import Capabilities
from backend.responders.openai_models import capabilities_of
from scripts.settings_table import variables
from tests.support.responder_rigs import providers

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "howto" / "providers.md"


def column(can: Capabilities) -> list[str]:
    """The rows of one provider."""
    flags = (
        can.truncates,
        can.delegates,
        can.parallel_calls,
        can.images,
        can.reasons,
    )
    rate = f"{can.input_rate_hz // 1000} kHz"
    lasts = f"{can.session_s / 60:.0f} min" if isfinite(can.session_s) else "no end"
    voices = str(len(can.voices) or "not known")
    speeds = "{} to {}".format(*can.speeds) if can.speeds else "none"
    endpointers = ", ".join(sorted(can.endpointers))
    return [endpointers, *("yes" if flag else "no" for flag in flags), rate, lasts, voices, speeds]


def test_the_table_of_providers_is_that_of_their_records() -> None:
    lines = [line.strip("|").split("|") for line in GUIDE.read_text().splitlines() if line.startswith("|")]
    others = {provider.name: provider.can for provider in providers()}
    header, _, *rest = ([cell.strip() for cell in line] for line in lines)
    models = [name.strip("`") for name in header[1:]]
    assert models
    for number, model in enumerate(models, 1):
        if not (model in others or model.startswith("gpt-")):
            continue  # of an extension that is not installed
        rows = column(others.get(model) or capabilities_of(model))
        assert [row[number] for row in rest[: len(rows)]] == rows


def test_the_guides_name_existing_settings() -> None:
    known = {each.name for each in variables()}
    named = {
        name
        for guide in ("providers", "failover", "gauntlet")
        for name in re.findall(r"\b[A-Z_]+?__[A-Z_]*[A-Z]\b", (GUIDE.parent / f"{guide}.md").read_text())
    }
    sections = {name.partition("__")[0] for name in known}
    assert len(named) > 20
    assert {name for name in named - known if name.partition("__")[0] in sections} == set()


def test_neither_the_call_nor_the_turn_machine_names_a_provider() -> None:
    names = {provider.name for provider in providers()} | {"gpt", "grok"}
    files = [file for room in ("call", "turns") for file in (ROOT / "backend" / room).rglob("*.py")]
    assert len(files) > 40
    found = [(file.name, name) for file in files for name in names if name in file.read_text().lower()]
    assert found == []

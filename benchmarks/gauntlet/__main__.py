"""Drive every provider through every kind of failure: `make gauntlet`, or `python -m benchmarks.gauntlet`.

    --only qwen,gemini      these providers
    --happening rate        the happenings with these words in their name
    --short                 with the short times of the tests
    --events                the page's events in failed calls
    --markdown              the table as documents have it

Each cell of the table is the longest silence that a caller heard while an answer was owed, in seconds, with all other
faults. The exit status is 1 if a cell has a fault.
"""

from __future__ import annotations

import argparse
import sys
import time

import uvloop
from rich.console import Console
from rich.table import Table

from benchmarks.gauntlet.cells import Cell
from benchmarks.gauntlet.happenings import HAPPENINGS
from benchmarks.gauntlet.providers import PROVIDERS
from benchmarks.gauntlet.run import run_gauntlet


def main() -> int:
    """Run it, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description="Drive every provider through everything that can go wrong.")
    parser.add_argument("--only", default="", help="providers by name, with commas between")
    parser.add_argument("--happening", default="", help="words of the happenings' names")
    parser.add_argument("--short", action="store_true", help="with the short times of the tests")
    parser.add_argument("--markdown", action="store_true", help="print the table as documents have it")
    parser.add_argument("--events", action="store_true", help="print the page's events in failed calls")
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    providers = [each for each in PROVIDERS if not only or each.name in only]
    happenings = [each for each in HAPPENINGS if options.happening in each.name]
    started = time.monotonic()
    cells = uvloop.run(run_gauntlet(providers, happenings, short=options.short))
    show(cells, markdown=options.markdown)
    wrong = [cell for cell in cells if not cell.is_right]
    for cell in wrong:
        print(f"wrong: {cell.provider}, {cell.happening}: {shown(cell)} {cell.trouble}")
        if options.events:
            print("\n".join(cell.events))
    print(f"answers lost {sum(c.lost for c in cells)}, doubled {sum(c.doubled for c in cells)}", end="; ")
    print(f"longest silence {max((c.silence_s for c in cells), default=0):.2f} s", end="; ")
    print(f"{len(cells)} cells in {time.monotonic() - started:.0f} s, ended at {time.strftime('%H:%M')}")
    return 1 if wrong else 0


def show(cells: list[Cell], *, markdown: bool) -> None:
    """Print the table: a row for each happening, a column for each provider."""
    providers = list(dict.fromkeys(cell.provider for cell in cells))
    named = {(cell.provider, cell.happening): cell for cell in cells}
    names = [each.name for each in HAPPENINGS if any(cell.happening == each.name for cell in cells)]
    rows = [[name, *(shown(named.get((each, name))) for each in providers)] for name in names]
    if markdown:
        for row in (["", *providers], ["---", *("---:" for _ in providers)], *rows):
            print("| " + " | ".join(row) + " |")
        return
    table = Table("", *providers, title="Longest silence while something is owed, s")
    for row in rows:
        table.add_row(*row)
    Console(width=160).print(table)
    for name, why in {cell.happening: (cell.provider, cell.cannot) for cell in cells if cell.cannot}.items():
        print(f"n/a: {why[0]}, {name}: {why[1]}")


def shown(cell: Cell | None) -> str:
    """Return what a cell of the table says."""
    if cell is None:
        return ""
    if cell.cannot:
        return "n/a"
    more = [f"lost {cell.lost}"] * bool(cell.lost) + [f"doubled {cell.doubled}"] * bool(cell.doubled)
    if cell.back_s is not None and not cell.is_right:
        more.append(f"back {cell.back_s:.1f} s")
    if cell.trouble:
        more.append("!")
    return " ".join([f"{cell.silence_s:.1f}", *more])


if __name__ == "__main__":
    sys.exit(main())

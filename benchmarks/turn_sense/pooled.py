"""Several runs in one table: `python -m benchmarks.turn_sense.pooled FILE…`, of files that `--keep` wrote.

A cell of one run has 15 to 60 plays, so that one play more or less is 2 to 7 %. Here every figure is of all plays of
all runs together; beside it stands that of each seed.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
from rich.console import Console

from benchmarks.turn_sense.judge import Outcome, Spent
from benchmarks.turn_sense.table import Row, rows, table


class Kept(msgspec.Struct, frozen=True):
    """The judgements of one run."""

    seed: int
    providers_ms: list[int]
    spent: list[Spent]
    outcomes: list[Outcome]

    def encoded(self) -> bytes:
        """The stored form."""
        return msgspec.msgpack.encode(self)


def pooled(runs: Sequence[Kept]) -> list[Row]:
    """The rows of all runs together; beside each figure those of the seeds, in the order of `runs`."""
    providers_ms = sorted({each for run in runs for each in run.providers_ms})
    apart = [_named(rows(run.spent, run.outcomes, providers_ms)) for run in runs]
    together = rows(
        [each for run in runs for each in run.spent], [each for run in runs for each in run.outcomes], providers_ms
    )
    return [replace(row, beside=_beside([each.get(name) for each in apart])) for name, row in _named(together).items()]


def _named(found: Sequence[Row]) -> dict[tuple[str, str, str], Row]:
    """Each row by its group, its name, and its provider: "… with holes" stands below several others."""
    named: dict[tuple[str, str, str], Row] = {}
    above = ""
    for row in found:
        above = above if row.what.startswith("…") else row.what
        named[above, row.what, row.provider] = row
    return named


def _beside(found: Sequence[Row | None]) -> str:
    return "; ".join("–" if each is None else f"{each.shown} of {each.count}" for each in found)


def main() -> int:
    """Run the command. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_sense.pooled", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", help="kept by python -m benchmarks.turn_sense --keep FILE")
    runs = [msgspec.msgpack.decode(file.read_bytes(), type=Kept) for file in parser.parse_args().files]
    found = pooled(runs)
    seeds = ", ".join(str(run.seed) for run in runs)
    Console(width=170).print(table(found, f"Turn sense, seeds {seeds} together; last: each of them"))
    return 0 if all(row.met is not False for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())

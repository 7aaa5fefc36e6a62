"""How well the server senses turns, in real calls, judged from outside: `python -m benchmarks.turn_sense --seed N`.

turn_sense              this: the command line
  texts, pausing        the callers' words, and their pauses
  draw, plan            the scenes of a run, drawn from the seed
  voices, sounds        synthesized speech; coughs, babble, music
  render                clips, mixed and encoded as a browser or a telephone would
  run                   a fresh server and provider, all calls, their results
    provider            a process of its own: the Realtime protocol, and a model that knows all spoken words and times
    calls               a process of its own: real callers, by WebRTC or telephone, that play the scenes
  hearing, judge        the heard replies and their times; the judgement of each scene
  table                 the rows with their goals
  pooled                a program of its own: several stored runs as one, since a cell of one has few plays
  waits                 a program of its own: the end-of-turn wait by the words alone, in seconds

A call is 8 to 10 scenes of one caller, one after another, as in life: the server may learn their level and pauses.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from benchmarks import processes
from benchmarks.turn_sense import draw, render
from benchmarks.turn_sense.judge import Outcome, judged, spent
from benchmarks.turn_sense.plan import Call, Kind
from benchmarks.turn_sense.pooled import Kept
from benchmarks.turn_sense.run import Run, run
from benchmarks.turn_sense.table import Row, rows, table

SCENES, QUICK_SCENES = 400, 44
PROVIDERS_MS = (0, 250, 500)
AT_ONCE = 26
BUSY_MS = 60.0
EXAMPLES = 4
"""Failed scenes of a row that are printed at most, without `--verbose`."""


def main() -> int:
    """Draw, render, run, judge, print. Returns the exit status."""
    options = _options()
    processes.leave_on_sigterm()
    console = Console(width=150)
    kinds = [kind for part in options.only for kind in draw.PARTS[part]] if options.only else list(Kind)
    scenes = options.scenes or (QUICK_SCENES if options.quick else SCENES)
    providers = options.provider or ([0] if options.quick else list(PROVIDERS_MS))
    began = time.monotonic()
    calls = draw.calls(options.seed, scenes, providers, kinds, draw.SHORT_CALLS if options.quick else draw.LONG_CALLS)
    with tempfile.TemporaryDirectory() as folder:
        render.rendered(calls, Path(folder), 2, telephone=options.telephone)
        console.print(_about(options.seed, calls, time.monotonic() - began), highlight=False)
        found: list[Row] = []
        for style in options.styles or [""]:
            settings = {"ENDPOINTING": style} if style else {}
            tell = console.log if options.verbose else _silent
            made = run(calls, Path(folder), options.at_once, settings, tell, telephone=options.telephone)
            outcomes = [each for call in made.calls for each in judged(call, render.read(Path(folder), call.call))]
            costs = [spent(call) for call in made.calls]
            found = rows(costs, outcomes, providers)
            title = f"ENDPOINTING={style}" if style else f"Turn sense, seed {options.seed}"
            title += ", by telephone (G.711 at 8 kHz both ways)" if options.telephone else ""
            console.print(table(found, title))
            console.print(_cost(made), highlight=False)
            _examples(console, found, EXAMPLES if not options.verbose else len(outcomes), options.verbose)
            if options.json:
                options.json.write_text(_as_json(found, outcomes))
            if options.keep:
                options.keep.write_bytes(Kept(options.seed, providers, costs, outcomes).encoded())
    console.print(f"It took {time.monotonic() - began:.0f} s.", highlight=False)
    return 0 if all(row.met is not False for row in found) else 1


def _about(seed: int, calls: list[Call], seconds: float) -> str:
    own = [call for call in calls if call.same_sound_as < 0]
    scenes = sum(len(call.scenes) for call in own)
    voices = sorted({f"{call.family} {call.voice}" for call in own})
    return (
        f"Seed {seed}: {scenes} scenes, played {sum(len(call.scenes) for call in calls)} times in {len(calls)} calls "
        f"of several scenes each, by {len(voices)} voices ({', '.join(voices)}); made in {seconds:.0f} s."
    )


def _cost(made: Run) -> str:
    errors = [error for call in made.calls for error in call.log.errors]
    troubles = [call.trouble for call in made.calls if call.trouble]
    parts = [
        f"Server: {made.server_ms:.1f} ms of CPU a call-second. Callers and provider: {made.rig_percent:.0f} % of all "
        f"cores. 99 of 100 times their loop woke less than {made.lateness_ms:.0f} ms late, and the server said within "
        f"{made.answered_ms:.0f} ms that it is alive.",
        *made.notes,
    ]
    if made.lateness_ms > BUSY_MS or made.answered_ms > BUSY_MS:
        parts.append("The machine was too busy for figures in milliseconds: run it again, or with fewer --at-once.")
    if errors:
        parts.append(f"The provider refused {len(errors)} events, such as: {errors[0]}")
    if troubles:
        parts.append(f"{len(troubles)} calls went wrong: {troubles[0]}")
    return "\n".join(parts)


def _examples(console: Console, found: list[Row], most: int, verbose: bool) -> None:
    for row in found:
        if row.failed and (verbose or row.met is False):
            console.print(f"\n{row.what}, {row.provider}: {len(row.failed)} failed", style="bold", highlight=False)
            for each in row.failed[:most]:
                console.print(f"  {each.log}{f' ({each.void})' if each.void else ''}", highlight=False, markup=False)


def _as_json(found: list[Row], outcomes: list[Outcome]) -> str:
    rows_shown = [
        {
            "what": row.what,
            "provider": row.provider,
            "n": row.count,
            "value": row.value,
            "goal": row.goal,
            "met": row.met,
        }
        for row in found
    ]
    return json.dumps({"rows": rows_shown, "scenes": [each.log for each in outcomes]}, indent=1)


def _silent(_: str) -> None:
    return None


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_sense", description="How turns are sensed.")
    parser.add_argument("--seed", type=int, default=1, help="every scene is drawn from it")
    parser.add_argument("--scenes", type=int, default=0, help=f"how many (default {SCENES})")
    parser.add_argument("--provider", type=int, nargs="+", help="delays in milliseconds (default 0 250 500)")
    parser.add_argument("--only", nargs="+", choices=sorted(draw.PARTS), help="some parts only")
    parser.add_argument("--quick", action="store_true", help="few scenes, one provider: about a minute")
    parser.add_argument("--telephone", action="store_true", help="callers telephone: G.711 at 8 kHz both ways")
    parser.add_argument("--styles", nargs="+", help="one run for each ENDPOINTING")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="calls at once")
    parser.add_argument("--verbose", action="store_true", help="tell every scene that failed")
    parser.add_argument("--json", type=Path, help="write the figures and all scenes to a file")
    parser.add_argument("--keep", type=Path, help="keep what was judged in a file, for benchmarks.turn_sense.pooled")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""`recover verify`: run a random sample of the stored trials again, or prove their verdicts."""

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options

if TYPE_CHECKING:
    from recovery.config import Trial
    from recovery.store import Grid

Say = Callable[[str], None]


@click.command()
@options.results
@click.option("--sample", type=click.IntRange(1), default=20, show_default=True, metavar="K", help="Rows to look at.")
@click.option("--seed", type=int, help="Seed of the sample.  [default: a fresh one]")
@click.option("--jobs", "-j", type=click.IntRange(1), default=1, show_default=True, help="Trials replayed at a time.")
@click.option("--rigorous", is_flag=True, help="Prove the rows' verdicts in ball arithmetic instead of replaying them.")
@click.option("--out", type=options.FolderPath(), help="CSV file for what --rigorous found, a line a row.")
@options.trust
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    results: Path,
    sample: int,
    seed: int | None,
    jobs: int,
    rigorous: bool,
    out: Path | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Check the files of RESULTS against their checksums, and replay K random rows, or prove their verdicts.

    A row that differs is computed once more as the processor did that stored it: with its code of OpenBLAS and NumPy.
    It is open where this machine cannot run that code.

    Exit status: 0 if all agree up to rounding (are proved); 1 if some are different or open, sweep.json is damaged,
    rows belong to no trial of the sweep, or nothing is stored that could be verified.
    """
    from recovery.runner.rerun import planned_trials
    from recovery.store import read
    from recovery.store.folder import Folder

    if out is not None and not rigorous:
        raise click.UsageError("--out is for --rigorous")
    grid = read(results)
    stored = set(grid.table["trial_id"].to_pylist())
    trials = [trial for trial in planned_trials(grid, trust=trust) if trial.id in stored]
    faults = [str(grid.left_out)] if grid.left_out else []
    if damage := Folder(results).damage():
        faults.append(f"sweep.json: {damage}; what it was is taken from the parts, and `recover sweep` writes it again")
    if len(trials) < len(stored):
        faults.append(f"{len(stored) - len(trials)} stored rows belong to no trial of the sweep: its config was edited")
    if not stored:
        faults.append("no rows are stored: there is nothing to verify")
    say: Say = (lambda text: None) if as_json else click.echo
    for fault in faults:
        say(f"{results}: {fault}")
    chosen = random.Random(seed).sample(trials, min(sample, len(trials)))
    counts = {"failures": _prove(grid, chosen, out, say)} if rigorous else _replay(grid, chosen, jobs, say)
    if as_json:
        looked_at = {"stored": len(stored), "looked_at": len(chosen)}
        click.echo(json.dumps({"folder": str(results), **looked_at, **counts, "faults": faults}))
    sys.exit(1 if counts["failures"] or faults else 0)


def _replay(grid: "Grid", chosen: "list[Trial]", jobs: int, say: Say) -> dict[str, int]:
    """Print what differs; returns how many rows came out how."""
    from recovery.runner.rerun import replay

    counts = dict.fromkeys(("same", "rounding", "other", "different", "open"), 0)
    named = {"other": set[str](), "open": set[str]()}
    for result in replay(grid, chosen, jobs):
        counts[result.outcome] += 1
        if result.arithmetics:
            named[result.outcome].update(str(arithmetic) for arithmetic in result.arithmetics)
        for difference in [] if result.agrees else result.differences:
            if not difference.rounding:
                say(f"{result.trial.id} differs in {difference}")
    other, lacking = (" or ".join(sorted(names)) for names in named.values())
    words = {
        "same": "the same",
        "rounding": "up to rounding",
        "other": f"the same with {other}, as they were computed",
        "different": "different",
        "open": f"open: they differ, and {lacking}, which computed rows of this grid, does not run on this machine",
    }
    shown = [f"{counts[name]} {words[name]}" for name in words if counts[name] or name in ("same", "different")]
    say(f"{grid.path}: {len(chosen)} of {len(grid.table)} rows replayed, {', '.join(shown)}")
    return {**counts, "failures": counts["different"] + counts["open"]}


def _prove(grid: "Grid", chosen: "list[Trial]", out: Path | None, say: Say) -> int:
    """Print which verdicts are proved; returns how many are not."""
    from recovery.extras.rigorous import check, summary, write
    from recovery.runner.rerun import stored_rows

    stored = stored_rows(grid, chosen)
    checked = []
    for trial in chosen:
        result = check(trial, stored[trial.id])
        checked.append(result)
        if result.outcome not in ("proved", "no verdict"):
            say(f"{trial.id} {result.verdict}: not proved: {result.result.reason}")
    first, *rest = summary(checked)
    say("\n".join([f"{grid.path}: {len(chosen)} of {len(grid.table)} rows, {first}", *rest]))
    if out is not None:
        write(out, checked)
    return sum(result.outcome not in ("proved", "no verdict") for result in checked)

"""`recover verify`: run a random sample of the stored trials again."""

import random
import sys
from pathlib import Path

import click

from .options import trust


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--sample", type=click.IntRange(1), default=20, show_default=True, metavar="K", help="Rows to replay.")
@click.option("--seed", type=int, help="Seed of the sample.  [default: a fresh one]")
@click.option("--jobs", "-j", type=click.IntRange(1), default=1, show_default=True, help="Trials at a time.")
@trust
def command(results: Path, sample: int, seed: int | None, jobs: int, trust: bool) -> None:
    """Check the files of RESULTS against their checksums, and replay K random rows.

    Exit status: 0 if all agree up to rounding; 1 if some differ, sweep.json is damaged, rows belong to no trial of the
    sweep, or nothing is stored that could be verified.
    """
    from recovery.runner.replay import differences, planned_trials, stored_rows
    from recovery.runner.workers import Engine
    from recovery.store import read
    from recovery.store.folder import Folder

    grid = read(results)
    stored = stored_rows(grid)
    trials = [trial for trial in planned_trials(grid, trust=trust) if trial.id in stored]
    faults = []
    if damage := Folder(results).damage():
        faults.append(f"sweep.json: {damage}; what it was is taken from the parts, and `recover sweep` writes it again")
    if len(trials) < len(stored):
        faults.append(f"{len(stored) - len(trials)} stored rows belong to no trial of the sweep: its config was edited")
    if not stored:
        faults.append("no rows are stored: there is nothing to verify")
    for fault in faults:
        click.echo(f"{results}: {fault}")
    chosen = random.Random(seed).sample(trials, min(sample, len(trials)))
    same = rounding = 0
    for rows in Engine(jobs).run(chosen):
        for row in rows:
            found = differences(stored[row["trial_id"]], row, grid.columns)
            same += not found
            rounding += bool(found) and all(difference.rounding for difference in found)
            for difference in found:
                if not difference.rounding:
                    click.echo(f"{row['trial_id']} differs in {difference}")
    different = len(chosen) - same - rounding
    close = f", {rounding} up to rounding" if rounding else ""
    click.echo(
        f"{results}: {len(chosen)} of {len(stored)} rows replayed, {same} the same{close}, {different} different"
    )
    sys.exit(1 if different or faults else 0)

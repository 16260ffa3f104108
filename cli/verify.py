"""`recover verify`: run a random sample of stored trials again, and optionally prove their verdicts."""

import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options

if TYPE_CHECKING:
    from recovery.config import Trial, Trials
    from recovery.store import Grid

Say = Callable[[str], None]


@click.command()
@options.results
@click.option("--sample", type=click.IntRange(1), default=20, show_default=True, metavar="K", help="Size of sample.")
@click.option("--seed", type=int, help="Seed of the sample.  [default: random]")
@click.option("--jobs", "-j", type=click.IntRange(1), default=1, show_default=True, help="Trials replayed at a time.")
@click.option("--rigorous", is_flag=True, help="Also prove the verdicts in ball arithmetic.")
@click.option("--out", type=options.FolderPath(), help="CSV file for the results of --rigorous, with one line per row.")
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
    """Check the files of RESULTS against their checksums, and replay K random rows.

    Coordinates, status and measured columns are compared, but no times or iterations. Rows made by another
    processor may differ where a last bit decides, as in a training; they are counted apart.

    Exit status: 0 if all rows agree up to rounding (and are proved); 1 if a row differs or is not comparable, a trial
    has several rows that differ, sweep.json is damaged, rows belong to no trial of the sweep, no rows are stored, or
    --rigorous finds no verdict to prove. With --rigorous, a row that is not comparable does no harm if it is proved.
    """
    from recovery.runner.rerun import trials_of_grid
    from recovery.store import read

    if out is not None and not rigorous:
        raise click.UsageError("--out needs --rigorous")
    grid = read(results)
    stored = set(grid.table["trial_id"].to_pylist())
    planned = trials_of_grid(grid, trust=trust)
    faults = list(_faults(grid, planned, stored))
    say: Say = (lambda text: None) if as_json else click.echo
    for fault in faults:
        say(f"{results}: {fault}")
    trials = [trial for trial in planned if trial.id in stored]
    chosen = random.Random(seed).sample(trials, min(sample, len(trials)))
    counts = _replay(grid, chosen, jobs, say)
    failures = counts["different"] + counts["open"]
    if rigorous:
        proofs = _prove(grid, chosen, out, say)
        failures, counts = counts["different"] + proofs["unproved"], {**counts, **proofs}
        if chosen and not proofs["provable"]:
            faults.append("none of these rows has a verdict that --rigorous can prove")
            say(f"{results}: {faults[-1]}")
    if as_json:
        sizes = {"stored": len(stored), "looked_at": len(chosen)}
        click.echo(json.dumps({"folder": str(results), **sizes, **counts, "failures": failures, "faults": faults}))
    sys.exit(1 if failures or faults else 0)


def _faults(grid: "Grid", planned: "Trials", stored: set[str]) -> Iterator[str]:
    """Yield what is wrong with the folder, apart from the rows that are replayed, in words. stored: ids of its rows."""
    from recovery.runner.rerun import repeated_rows
    from recovery.store.folder import Folder
    from recovery.text import many

    if not stored:
        yield "no rows are stored, so there is nothing to verify"
        return
    if grid.left_out:
        yield str(grid.left_out)
    if damage := Folder(grid.path).damage():
        yield f"sweep.json: {damage}; its content is read from the parts, and `recover sweep` writes it again"
    if unplanned := len(stored.difference(planned.ids)):
        yield f"{unplanned} stored rows belong to no trial of the sweep, because its config was edited"
    if repeated := repeated_rows(grid):
        trial, difference = next(iter(repeated.items()))
        yield f"second rows differ, of {many(len(repeated), 'trial')}, such as {trial} in {difference}"


def _replay(grid: "Grid", chosen: "list[Trial]", jobs: int, say: Say) -> dict[str, int]:
    """Replay the trials and print the differences with `say`; return outcome -> number of rows."""
    from recovery.runner.rerun import replay

    counts = dict.fromkeys(("same", "rounding", "different", "open"), 0)
    makers, skipped = dict[str, None](), dict[str, None]()
    for result in replay(grid, chosen, jobs):
        counts[result.outcome] += 1
        skipped.update(dict.fromkeys(result.not_compared))
        if result.outcome == "open":
            makers[result.made_on] = None
        for difference in [] if result.agrees else result.differences:
            if not difference.rounding:
                say(f"{result.trial.id} differs in {difference}")
    words = {
        "same": "the same",
        "rounding": "up to rounding",
        "different": "different",
        "open": f"not comparable: made by another processor ({' or '.join(makers)}), where a last bit may decide",
    }
    shown = [f"{counts[name]} {words[name]}" for name in words if counts[name] or name in ("same", "different")]
    say(f"{grid.path}: {len(chosen)} of {len(grid.table)} rows replayed, {', '.join(shown)}")
    if words_of_versions := grid.version_words():
        say(words_of_versions)
    if skipped:
        say(f"not compared, because the version that made the rows did not measure them: {', '.join(skipped)}")
    return counts


def _prove(grid: "Grid", chosen: "list[Trial]", out: Path | None, say: Say) -> dict[str, int]:
    """Prove the verdicts and print the unproved ones; return how many there are, and how many are unproved."""
    from recovery.extras.rigorous import OPTIMUM, check, summary, write
    from recovery.runner.rerun import stored_rows

    stored = stored_rows(grid, chosen)
    checked = []
    for trial in chosen:
        result = check(trial, stored[trial.id])
        checked.append(result)
        if result.outcome not in ("proved", "no verdict"):
            say(f"{trial.id} {result.verdict}: not proved: {result.result.reason}")
        elif result.verdict == OPTIMUM:
            say(f"{trial.id} {result.result.reason}")
    first, *rest = summary(checked)
    say("\n".join([f"{grid.path}: {len(chosen)} of {len(grid.table)} rows, {first}", *rest]))
    if out is not None:
        write(out, checked)
    provable = [result for result in checked if result.outcome != "no verdict"]
    return {"provable": len(provable), "unproved": sum(result.outcome != "proved" for result in provable)}

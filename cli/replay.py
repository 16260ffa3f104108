"""`recover replay`: run one trial again."""

import json
import sys
from pathlib import Path
from pdb import post_mortem

import click

from . import options


@click.command()
@options.results
@click.argument("trial_id")
@click.option("--save", type=options.instance_file, metavar="FILE", help="Save the instance as .npz.")
@click.option("--traceback", "show_traceback", is_flag=True, help="Print the traceback of a failed trial.")
@click.option("--debug", is_flag=True, help="Run it in this process, and open Python's debugger where it fails.")
@options.trust
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    results: Path, trial_id: str, save: Path | None, show_traceback: bool, debug: bool, trust: bool, as_json: bool
) -> None:
    """Run the trial TRIAL_ID of RESULTS again and compare it with its row. A unique prefix of the id is enough.

    With --save, also write the instance: X, y, noise, patterns, planted neurons and X_test. Exit status: 0 if the rows
    agree up to rounding; 1 if they differ.
    """
    from recovery.runner.rerun import Replayed, find_trial, replay, run, save_instance, stored_rows
    from recovery.runner.trial import TRACEBACK, TRAJECTORY, run_method
    from recovery.store import read

    grid = read(results)
    options.warn_rows(grid)
    trial = find_trial(grid, trial_id, trust=trust)
    if debug:
        try:
            run_method(trial, {})
            click.echo("it does not fail here")
        except Exception as error:  # user code may raise anything
            click.echo(f"{type(error).__name__}: {error}", err=True)
            post_mortem(error.__traceback__)
        return
    stored = stored_rows(grid, [trial]).get(trial.id)
    result = next(replay(grid, [trial])) if stored else Replayed(trial, next(run([trial]))[1], [], "same")
    again = result.again
    where = again.pop(TRACEBACK, "")
    if as_json:
        rows = {"trial_id": trial.id, "stored": stored, "again": {**again, TRAJECTORY: None, TRACEBACK: where}}
        click.echo(
            json.dumps({**rows, "differences": [str(difference) for difference in result.differences]}, default=str)
        )
    else:
        places = ", ".join(f"{name} = {value}" for name, value in trial.cell.coordinates.items())
        click.echo(f"{trial.id}: replicate {trial.replicate} of {places}")
        for name, value in again.items():
            if value is not None and name not in ("trial_id", "unmeasured", TRAJECTORY):
                click.echo(f"  {name:<18} {value}")
        reasons: dict[str, list[str]] = {}
        for name, reason in json.loads(again.get("unmeasured") or "{}").items():
            reasons.setdefault(reason, []).append(name)
        for reason, names in reasons.items():
            click.echo(f"  {'unmeasured':<18} {', '.join(names)}: {reason}")
        if show_traceback and where:
            click.echo(where)
        for difference in result.differences:
            click.echo(f"differs in {difference}")
        if not result.differences:
            click.echo("it has no stored row yet" if stored is None else "equal to its stored row")
        if result.outcome == "open":
            click.echo(f"the row was made by another processor ({result.made_on}), where a last bit may decide")
    if save is not None:
        save_instance(trial, save)
        click.echo(f"instance saved: {save}", err=as_json)
    sys.exit(0 if result.agrees else 1)

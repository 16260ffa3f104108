"""`recover check`: validate a config and print what it would run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options

if TYPE_CHECKING:
    from recovery.config import Sweep


@click.command()
@options.config
@options.out
@options.overrides
@options.until
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(config: str, out: Path | None, overrides: tuple[str, ...], until: str | None, as_json: bool) -> None:
    """Validate CONFIG and print what it would run: axes, grid cells, trials, and its results folder.

    CONFIG is a YAML file or the name of a shipped config (`recover configs`). Nothing is run or written. Exit status:
    0 if the config is valid; 2 if it is not, with its errors and their positions. `recover sweep --dry-run` says how
    long it will take. A sweep with a rule (--until, `until`) is simulated to say how many trials it will take.
    """
    from recovery.config import Until, find
    from recovery.runner.loading import load

    sweep, expected = load(config, overrides, until), ""
    if as_json:
        facts = {"name": sweep.name, "title": sweep.title, "source": sweep.source, "axes": sweep.axes}
        counts = {"cells": len(sweep.cells), "trials": sweep.size, "claims": len(sweep.claims)}
        click.echo(json.dumps({"file": str(find(config)), **facts, **counts}))
        return
    out = out or Path("results") / sweep.name
    if isinstance(sweep.sampling, Until):
        from recovery.report.expected import expected as expected_trials

        expected = expected_trials(sweep, out)
    lines = [("file", str(find(config))), ("name", sweep.name), ("title", sweep.title), ("source", sweep.source)]
    lines += [("axis", line) for line in _axes(sweep)]
    lines += [("noise", _noise(sweep)), ("cells", f"{len(sweep.cells)}"), ("trials", _trials(sweep))]
    lines += [("expected", expected), ("claims", f"{len(sweep.claims)}"), ("measures", _measures(sweep))]
    for label, text in (*lines, ("results", str(out))):
        if text:
            click.echo(f"{label:8} {text}")


def _noise(sweep: "Sweep") -> str:
    """Return the law of the label noise in words, as N(0, noise^2) and N(0, noise^2 / n) are both common; or ''."""
    noisy = [cell.setting for cell in sweep.cells if cell.is_drawn and cell.coordinates["noise"]]
    if any(setting.noise_scale == "sample" for setting in noisy):
        return "each label gets N(0, noise^2 / n), and with noise_scale: unit N(0, noise^2)"
    return "each label gets N(0, noise^2)" if noisy else ""


def _measures(sweep: "Sweep") -> str:
    """Return in words which columns every trial measures because the report, a claim or the rule needs them."""
    from recovery.methods.method import on_demand

    needed = sorted({name for cell in sweep.cells for name in on_demand(cell.method, cell.measures)})
    return f"{', '.join(needed)}: in every trial, also where its verdict needs no solve" if needed else ""


def _trials(sweep: "Sweep") -> str:
    from recovery.config import Until
    from recovery.text import many

    each = f"{many(sweep.replicates, 'replicate')} of each cell"
    if isinstance(sweep.sampling, Until):
        each += f", then more until {sweep.sampling.rule}, at most {sweep.sampling.ceiling} times as many"
        each += f"; values of {sweep.slicing.x} are added at the threshold" if sweep.sampling.refine else ""
    return f"{sweep.size} ({each})"


def _axes(sweep: "Sweep") -> Iterator[str]:
    """Yield a line such as `n: 10 .. 400 (40 values)` for each axis."""
    for axis in sweep.axes:
        known = [value for value in dict.fromkeys(cell.coordinates[axis] for cell in sweep.cells) if value is not None]
        text = ", ".join(map(str, known))
        if len(known) > 6:  # the values of a computed axis are in the order of its cells
            first, *_, last = sorted(known) if all(isinstance(value, int | float) for value in known) else known
            text = f"{first} .. {last} ({len(known)} values)"
        yield f"{axis}: {text}"

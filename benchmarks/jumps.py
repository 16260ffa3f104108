"""Where a number jumps along n: bias and coverage on simulated noisy panels, analysed as a report does.

    python -m benchmarks.jumps [--panels 200] [--out FILE.md]

The sizes are d = 10, 20, ..., 100. One row a truth, grid and replicates: how often a jump is found, the bias of n/d
where one ratio is given, how often that interval covers or the ratio is withdrawn, how often the interval at a size
covers (sizes with cells near the jump), and n/d at a quarter and three quarters of the way.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.special import expit, ndtr

from benchmarks import written
from benchmarks.truths import GRIDS, SIZES
from recovery.report.diagram import Diagram
from recovery.report.statistics import Estimates
from recovery.store import Grid
from recovery.theory import CURVES
from recovery.types import Array

AT = 2.03
"""n/d of the sharp steps: on no cell."""


def _step(n: Array, d: Array, rng: np.random.Generator) -> Array:
    """Two levels, and noise that lets one trial in nine lie on the wrong side of the middle."""
    values: Array = np.where(n < AT * d, 1.0, 0.3) * rng.lognormal(0.0, 0.4, len(n))
    return values


def _trends(n: Array, d: Array, rng: np.random.Generator) -> Array:
    """A step between a falling and a rising line, as distances under much noise have it."""
    ratio = n / d
    values: Array = np.where(ratio < AT, 1.2 - 0.1 * ratio, 0.4 + 0.03 * ratio) + rng.normal(0, 0.1, len(n))
    return values


def _states(n: Array, d: Array, rng: np.random.Generator) -> Array:
    """Each trial near 1 or near 0.1, with the probability of Wendel's law: noiseless recovery."""
    values: Array = np.where(rng.random(len(n)) < CURVES["wendel"].function(n, d), 1.0, 0.1)
    return values + rng.normal(0, 0.03, len(n))


def _slope(n: Array, d: Array, rng: np.random.Generator) -> Array:
    """A mean that falls smoothly, within a few sqrt n."""
    values: Array = 0.2 + 0.8 * ndtr((2 * d - n) / np.sqrt(n)) + rng.normal(0, 0.1, len(n))
    return values


def _logistic(n: Array, d: Array, rng: np.random.Generator) -> Array:
    """A logistic curve that is level a factor of 1.4 away."""
    values: Array = rng.lognormal(0.0, 0.3, len(n)) * expit((2 - n / d) / 0.25)
    return values


def _wide(n: Array, d: Array, rng: np.random.Generator) -> Array:
    """A logistic curve that is level nowhere nearby."""
    values: Array = rng.lognormal(0.0, 0.3, len(n)) * expit((2 - n / d) / 0.5)
    return values


def _inverse(n: Array, d: Array, rng: np.random.Generator) -> Array:
    """A fall without any jump."""
    values: Array = rng.lognormal(0.0, 0.3, len(n)) * d / n
    return values


def _exponential(n: Array, d: Array, rng: np.random.Generator) -> Array:
    """Another fall without a jump."""
    values: Array = rng.lognormal(0.0, 0.3, len(n)) * np.exp(-n / d)
    return values


def _flat(n: Array, d: Array, rng: np.random.Generator) -> Array:
    """Nothing but noise."""
    values: Array = rng.lognormal(0.0, 0.4, len(n))
    return values


TRUTHS: dict[str, tuple[Callable[[Array, Array, np.random.Generator], Array], float]] = {
    "step": (_step, AT),
    "trends": (_trends, AT),
    "states": (_states, 2.0),
    "slope": (_slope, 2.0),
    "logistic": (_logistic, 2.0),
    "wide logistic": (_wide, 2.0),
    "1/n": (_inverse, np.nan),
    "exponential": (_exponential, np.nan),
    "flat": (_flat, np.nan),
}
"""A draw of values, and the n/d at which a trial is beyond the middle with probability 1/2."""


def diagram(truth: str, grid: str, replicates: int, seed: int) -> Diagram:
    """A grid of drawn distances."""
    n, d, replicate = (a.ravel() for a in np.meshgrid(GRIDS[grid], SIZES, np.arange(replicates)))
    rng = np.random.default_rng([list(TRUTHS).index(truth), list(GRIDS).index(grid), replicates, seed])
    rows = pd.DataFrame({"n": n.astype(int), "d": d.astype(int), "replicate": replicate.astype(int)})
    same: dict[str, Any] = {
        "noise": 0.0,
        "ensemble": "gaussian",
        "planted": "linear",
        "architecture": "relu",
        "method": "min_norm",
    }
    rows = rows.assign(**same, sweep=truth, status="ok", trial_id=[f"{i:032x}" for i in range(len(rows))])
    rows["absolute_distance"] = TRUTHS[truth][0](n, d, rng)
    config = {"name": "jumps", "replicates": replicates, "axes": {}, "report": {"value": "absolute_distance"}}
    document = {"name": truth, "digest": "0", "config": config, "trials": len(rows), "provenance": {}}
    return Diagram.of(Grid(Path(truth), document, pa.Table.from_pandas(rows, preserve_index=False)))


def analysed(truth: str, grid: str, replicates: int, seed: int) -> dict[str, float]:
    """Return the estimate that the report prints for one panel."""
    found = Estimates(diagram(truth, grid, replicates, seed)).pooled[0]
    true = TRUTHS[truth][1]
    if found.jump is None or np.isnan(found.jump.before):
        return {"found": 0.0}
    inside = [size.interval.low <= true * size.y <= size.interval.high for size in found.slices]
    quarters = [part.interval.estimate for part in found.jump.quarters]
    given = bool(np.isfinite(found.interval.estimate))
    return {
        "found": 1.0,
        "given": given,
        "estimate": found.interval.estimate if given else np.nan,
        "covers": found.interval.low <= true <= found.interval.high if given else np.nan,
        "or_withdrawn": not given or found.interval.low <= true <= found.interval.high,
        "length": found.interval.high - found.interval.low if given else np.nan,
        "sizes": float(np.mean(inside)),
        "quarter": quarters[0],
        "three": quarters[1],
    }


STEPS = """A step that lies between two n is known only up to the bracket of the grid's n/d: the estimate is its
middle, and the interval the whole of it. `wide logistic`, `1/n` and `exponential` have no levels next to a jump: the
fewer are found, the better."""


def line(truth: str, grid: str, replicates: int, panels: int) -> str:
    """One row of the table."""
    table = pd.DataFrame([analysed(truth, grid, replicates, seed) for seed in range(panels)]).astype(float)
    mean = table.mean()
    if "given" not in table:
        return f"| {truth} | {grid} | {replicates} | {mean['found']:.3f} |" + " |" * 7
    bias = 100 * (mean["estimate"] / TRUTHS[truth][1] - 1)
    return (
        f"| {truth} | {grid} | {replicates} | {mean['found']:.3f} | {mean['given']:.3f} | {bias:+.2f} "
        f"| {mean['covers']:.3f} | {mean['length']:.3f} | {mean['or_withdrawn']:.3f} | {mean['sizes']:.3f} "
        f"| {mean['quarter']:.3f}, {mean['three']:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--panels", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".md"))
    arguments = parser.parse_args()
    lines = [
        "| truth | grid | replicates | found | one ratio given | bias % | it covers | length | covers or withdrawn "
        "| sizes cover | quarter, three quarters |",
        "|" + "---|" * 11,
    ]
    print("\n".join(lines), flush=True)
    for truth in TRUTHS:
        for grid, replicates in (("fine", 5), ("fine", 20), ("coarse", 20)):
            lines.append(line(truth, grid, replicates, arguments.panels))
            print(lines[-1], flush=True)
    written(arguments.out, [f"{arguments.panels} panels a row.", "", *lines, "", STEPS])


if __name__ == "__main__":
    main()
